import { UsageError } from "../core/errors/errors.ts";
import type { CaptureResult } from "../run/capture.ts";
import { newId } from "../system/state/new-id.ts";

/** A command that outlives the call that started it. */
export interface RunningCommand {
  readonly handle: string;
  readonly startedAt: number;
  /** Ends it. */
  stop(): void;
  /** How it ended, or undefined if it still runs after this time. */
  endedWithin(milliseconds: number, signal: AbortSignal): Promise<CaptureResult | undefined>;
}

/**
 * The commands of one client that still run. A call waits for a command only so long; then the client has a
 * handle, and asks again. When the client goes away, its commands end.
 */
export class RunningCommands implements AsyncDisposable {
  readonly #running = new Map<string, RunningCommand & { readonly ended: Promise<unknown> }>();

  start(run: (signal: AbortSignal) => Promise<CaptureResult>): RunningCommand {
    const abort = new AbortController();
    const handle = newId();
    const ended = run(abort.signal);
    // A command may fail while no call waits for it; the next call with its handle reports that.
    ended.catch(() => undefined);
    const command = {
      ...{ handle, ended },
      startedAt: performance.now(),
      stop: () => abort.abort(),
      endedWithin: async (milliseconds: number, signal: AbortSignal) => {
        const result = await firstOf(ended, milliseconds, signal).catch((thrown: unknown) => {
          this.#running.delete(handle);
          throw thrown;
        });
        if (result !== undefined) this.#running.delete(handle);
        return result;
      },
    };
    this.#running.set(handle, command);
    return command;
  }

  find(handle: string): RunningCommand {
    const found = this.#running.get(handle);
    if (found !== undefined) return found;
    throw new UsageError(`There is no running command with the handle ${handle}.`, {
      hint: "Its result was given already, or the server was started anew.",
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#running.values()];
    for (const { stop } of all) stop();
    await Promise.allSettled(all.map(({ ended }) => ended));
  }
}

/** The result, or undefined when the time is over or the caller no longer waits. */
async function firstOf(
  ended: Promise<CaptureResult>,
  milliseconds: number,
  signal: AbortSignal,
): Promise<CaptureResult | undefined> {
  const { promise: over, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), milliseconds);
  const stop = () => resolve(undefined);
  signal.addEventListener("abort", stop);
  try {
    return await Promise.race([ended, over]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}
