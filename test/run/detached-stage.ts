import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { DetachedView } from "../../src/index.ts";
import { program, type Running } from "../end-to-end/workplace.ts";
import { Stage } from "./stage.ts";

/** If the test itself is killed, its commands end all the same. */
export const BOUNDED = ["--timeout", "300s"];

export interface Detached {
  readonly planId: string;
  readonly pid: number;
}

/** A place with commands that go on. Those that a test leaves running end with it. */
export class DetachedStage extends Stage {
  /** Starts one from a terminal, which is gone when this returns. */
  async detach(script: string, ...options: readonly string[]): Promise<Detached> {
    this.write("project/script", script);
    this.give();
    const words = [
      program,
      "run",
      "--detach",
      "--name",
      "work",
      "--json",
      ...BOUNDED,
      ...options,
      "sh",
      "script",
    ];
    const { status, stdout } = await this.terminal(words.join(" ")).ended();
    assert.equal(status, 0, stdout);
    return JSON.parse(stdout) as Detached;
  }

  attach(): Running {
    return this.terminal(`${program} attach work`);
  }

  /** What `plan show` says of the command. */
  shown(plan = "work"): DetachedView {
    return this.answer("plan", "show", plan).detached;
  }

  inPlan(...command: readonly string[]): string {
    return this.done("plan", "exec", "work", "-q", "--", ...command);
  }

  /** Where the process listens that keeps the command of a plan. */
  socket(planId: string): string {
    return join(this.state, "runs", planId, "terminal.sock");
  }

  /** What running commands and their sockets have in the state directory. */
  get left(): readonly string[] {
    const uses = join(this.state, "uses");
    const runs = readdirSync(join(this.state, "runs"), { recursive: true, encoding: "utf8" });
    return [...(existsSync(uses) ? readdirSync(uses) : []), ...runs.filter((name) => name.endsWith(".sock"))];
  }
}

/** Waits until a process has ended. */
export async function gone(pid: number): Promise<void> {
  for (let tries = 0; existsSync(`/proc/${pid}`); tries += 1) {
    assert.ok(tries < 3000, `${pid} never ended`);
    await setTimeout(20);
  }
}
