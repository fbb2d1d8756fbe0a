import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Running } from "../end-to-end/workplace.ts";
import type { Stage } from "./stage.ts";

/** Does what each line says, and says when it is done. */
const OBEY = `while read -r line; do eval "$line"; echo done; done`;

/** A command of a plan that does what it is told, line by line. */
export class Obedient {
  readonly #command: Running;

  constructor(stage: Stage, plan: string, env: { readonly [name: string]: string } = {}) {
    this.#command = stage.start(["plan", "exec", plan, "--", "sh", "-c", OBEY], env);
  }

  /** Returns what it says. */
  async tell(line: string): Promise<string> {
    const before = this.#command.stdout.length;
    this.#command.input(`${line}\n`);
    await this.#command.until(() => /(?:^|\n)done\n$/.test(this.#command.stdout.slice(before)));
    return this.#command.stdout.slice(before, -"done\n".length);
  }

  async end(): Promise<void> {
    this.#command.input("exit\n");
    await this.#command.ended();
  }
}

/** The failpoints that a command of Drydock passes, each once. */
export function failpointsOf(stage: Stage, args: readonly string[]): readonly string[] {
  const trace = join(stage.home, "trace");
  const { status, stderr } = stage.drydock(args, { env: { DRYDOCK_FAILPOINT_TRACE: trace } });
  assert.equal(status, 0, stderr);
  return [...new Set(readFileSync(trace, "utf8").match(/(?<=^failpoint ).+$/gm))];
}

/** Waits until the command says something new. */
export async function goesOn(command: Running): Promise<void> {
  const before = command.stdout.length;
  await command.until(() => command.stdout.length > before + 20);
}

/** Waits until it says nothing new: what it said before it was stopped may still be on its way to us. */
export async function standsStill(command: Running): Promise<void> {
  for (let round = 0; round < 100; round += 1) {
    const before = command.stdout;
    await delay(200);
    if (command.stdout === before) return;
  }
  assert.fail("it goes on");
}

/** Ends a command that does not end by itself. */
export async function end(command: Running): Promise<void> {
  command.signal("SIGTERM");
  await command.ended();
}
