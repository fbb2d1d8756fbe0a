import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { type OverlayRun, overlayCommand } from "../support/overlay-runs.ts";
import type { OverlayTrial, TrialAnswer, TrialOutcome } from "./overlay-run.ts";
import { builtDriver } from "./run-driver.ts";

/** A process that can mount `overlay` in this way, and tries one thing with it after the other. */
export class OverlayTrials implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #answers: AsyncIterator<string>;

  private constructor(process: ChildProcess, answers: AsyncIterator<string>) {
    this.#process = process;
    this.#answers = answers;
  }

  static async start(run: OverlayRun): Promise<OverlayTrials> {
    const { command, args, options } = overlayCommand(run, "test/crash/overlay-run.ts", {
      DRYDOCK_TEST_DRIVER: await builtDriver(),
    });
    const started = spawn(command, args, { ...options, stdio: ["pipe", "pipe", "inherit"] });
    return new OverlayTrials(started, createInterface({ input: started.stdout })[Symbol.asyncIterator]());
  }

  async try(trial: OverlayTrial): Promise<TrialOutcome> {
    this.#process.stdin?.write(`${JSON.stringify(trial)}\n`);
    const { value, done } = await this.#answers.next();
    assert.ok(done !== true, `the process with the mounts has ended: ${this.#process.signalCode}`);
    const answer = JSON.parse(value) as TrialAnswer;
    return "outcome" in answer ? answer.outcome : assert.fail(answer.failure);
  }

  /** Ends the process, and waits for that. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.stdin?.end();
    assert.ok((await this.#answers.next()).done === true, "it has more to say");
  }
}
