import { setTimeout as sleep } from "node:timers/promises";
import { DrydockError, InterruptedError, StateError } from "../../../core/errors/errors.ts";
import { reviveError } from "../../../core/errors/revive-error.ts";
import type { StrategyContext } from "../../../core/strategy.ts";
import type { TransactionPolicy } from "../../../core/strategy-policies.ts";
import { type Failpoint, failpoint } from "../../../system/failpoints.ts";
import { startBackground } from "../../../system/process/background-process.ts";
import { askPrivately } from "../../../system/process/private-socket.ts";
import { isProcessAlive } from "../../../system/process/process-identity.ts";
import { newId } from "../../../system/state/new-id.ts";
import type { HolderFolder } from "../holder-folder.ts";
import {
  decodeMessage,
  encodeMessage,
  type HolderAnswer,
  type HolderOperation,
  type HolderOperations,
  type HolderStart,
} from "../holder-protocol.ts";
import { holderProgram } from "./holder-program.ts";

const MOST_TRIES = 4;
const WHILE_ENDING_MS = 100;
const START = failpoint("holder.start");
const POINTS: { readonly [operation in HolderOperation]: Failpoint } = {
  connect: failpoint("held.connect"),
  begin: failpoint("held.begin"),
  replay: failpoint("held.replay"),
  run: failpoint("held.run"),
  cancel: failpoint("held.cancel"),
  table: failpoint("held.table"),
  // A look at a table too.
  rows: failpoint("held.table"),
  log: failpoint("held.log"),
  checkpoint: failpoint("held.checkpoint"),
  restore: failpoint("held.restore"),
  makeMarker: failpoint("held.make-marker"),
  check: failpoint("held.check"),
  prepare: failpoint("held.prepare"),
  commit: failpoint("held.commit"),
  disconnect: failpoint("held.disconnect"),
  holds: failpoint("held.holds"),
  status: failpoint("held.status"),
  land: failpoint("held.land"),
  takeBack: failpoint("held.take-back"),
  forget: failpoint("held.forget"),
  end: failpoint("held.end"),
};

/** Operations that an interruption may give up: they prepare and land nothing. */
const INTERRUPTIBLE: readonly HolderOperation[] = [
  "connect",
  "begin",
  "run",
  "table",
  "rows",
  "log",
  "check",
  "status",
];
/**
 * Operations that ask a holder to end. They do not wait for a holder that can't answer: it ends when it finds
 * its folder gone.
 */
const FAREWELL: readonly HolderOperation[] = ["disconnect", "end"];
const FAREWELL_MS = 3000;
const FAREWELL_OF_INTERRUPTED_MS = 200;

/** Longer than the holder waits for any server: a holder that takes more time hangs, and counts as dead. */
const HOLDER_MS = 15 * 60_000;
const CANCELLING_MS = 30_000;

/**
 * The signal that ends the wait for an answer. Statements are cancelled first, so that the holder can report
 * how they ended; the wait ends only if the holder does not answer that either.
 */
function waitEnds(operation: HolderOperation, signal: AbortSignal | undefined): AbortSignal | undefined {
  if (operation === "run") return signal === undefined ? undefined : later(signal, 2 * CANCELLING_MS);
  if (operation === "cancel") return AbortSignal.timeout(CANCELLING_MS);
  if (FAREWELL.includes(operation))
    return AbortSignal.timeout(signal?.aborted === true ? FAREWELL_OF_INTERRUPTED_MS : FAREWELL_MS);
  const limit = AbortSignal.timeout(HOLDER_MS);
  return signal !== undefined && INTERRUPTIBLE.includes(operation) ? AbortSignal.any([signal, limit]) : limit;
}

/** A signal that follows another one after some time. */
function later(signal: AbortSignal, ms: number): AbortSignal {
  const controller = new AbortController();
  signal.addEventListener("abort", () => setTimeout(() => controller.abort(), ms).unref(), { once: true });
  return controller.signal;
}

const DEFAULT_LIMITS: TransactionPolicy = { idleMilliseconds: 30 * 60_000, ageMilliseconds: 8 * 3_600_000 };

/**
 * The client's side of a plan's holder. A caller that may have to start the holder must have the plan's
 * claim.
 */
export class HolderClient {
  readonly #context: StrategyContext;
  readonly #folder: HolderFolder;
  readonly #planId: string;

  constructor(context: StrategyContext, folder: HolderFolder, planId: string) {
    this.#context = context;
    this.#folder = folder;
    this.#planId = planId;
  }

  /** Whether the holder is running. */
  get isAlive(): boolean {
    const holder = this.#folder.holder();
    return holder !== undefined && isProcessAlive(holder.owner);
  }

  /** Starts a holder if there is none. A new holder may begin to connect at once. */
  async #start(connects: HolderStart["connects"]): Promise<void> {
    if (this.isAlive) return;
    this.#folder.make();
    const start: HolderStart = {
      folder: this.#folder.path,
      holderId: newId(),
      secrets: this.#context.secretsOf?.(this.#planId) ?? {},
      limits: this.#context.transaction ?? DEFAULT_LIMITS,
      ...(connects !== undefined && { connects }),
    };
    const said = await startBackground(START, holderProgram(), JSON.stringify(start));
    if (said !== undefined)
      throw new StateError(`The process that is to hold the transaction could not be started: ${said}`, {
        hint: "Check that the state directory can be written, and that there is memory left.",
      });
  }

  /** Asks the holder; undefined if there is none, or if it dies meanwhile. */
  async ask<Operation extends HolderOperation>(
    operation: Operation,
    resourceId: string,
    given: HolderOperations[Operation]["asks"],
  ): Promise<{ readonly answer: HolderOperations[Operation]["answers"] } | undefined> {
    const { signal } = this.#context;
    const isInterruptible = INTERRUPTIBLE.includes(operation);
    if (isInterruptible && signal?.aborted === true) throw new InterruptedError();
    const holder = this.#folder.holder();
    if (holder === undefined) return undefined;
    const request = encodeMessage({ planId: this.#planId, resourceId, operation, given });
    const ends = waitEnds(operation, signal);
    const asking = askPrivately(
      POINTS[operation],
      { folder: this.#folder.path, name: `${holder.holderId}.sock` },
      `${holder.key ?? ""}${request}`,
      ends,
    );
    const text = operation === "run" ? await this.#cancelling(resourceId, asking) : await asking;
    if (text === undefined && isInterruptible && signal?.aborted === true) throw new InterruptedError();
    if (text === undefined) return undefined;
    const answer = decodeMessage<HolderAnswer>(text);
    if ("failed" in answer) throw reviveError(answer.failed) ?? new Error(answer.failed.message);
    return { answer: answer.done as HolderOperations[Operation]["answers"] };
  }

  /** On an interruption, cancels the statements that were asked for; the answer reports that. */
  async #cancelling<T>(resourceId: string, asking: Promise<T>): Promise<T> {
    const { signal } = this.#context;
    let cancelled: Promise<unknown> = Promise.resolve();
    const cancel = () => {
      // If the cancel fails, the statements end by themselves.
      cancelled = this.ask("cancel", resourceId, {}).catch(() => undefined);
    };
    signal?.addEventListener("abort", cancel);
    try {
      return await asking;
    } finally {
      signal?.removeEventListener("abort", cancel);
      await cancelled;
    }
  }

  /** Asks the holder, and starts one if there is none. */
  async demand<Operation extends HolderOperation>(
    operation: Operation,
    resourceId: string,
    given: HolderOperations[Operation]["asks"],
  ): Promise<HolderOperations[Operation]["answers"]> {
    const { location } = given as { readonly location?: string };
    const isConnecting = operation === "connect" && location !== undefined;
    const connects = isConnecting ? { planId: this.#planId, resourceId, location } : undefined;
    for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
      await this.#start(connects);
      const answered = await this.ask(operation, resourceId, given);
      if (answered !== undefined) return answered.answer;
      // The holder may be ending, and still look alive.
      await sleep(WHILE_ENDING_MS);
    }
    throw new StateError("The process that holds the transaction died while it was asked.", {
      hint: "Try again.",
      code: HOLDER_DIED,
    });
  }
}

export const HOLDER_DIED = "HOLDER_DIED";

/** Whether an error has this code. */
export function hasCode(thrown: unknown, code: string): boolean {
  return thrown instanceof DrydockError && thrown.code === code;
}
