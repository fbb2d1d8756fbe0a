import type { ClientUnit } from "../../server/client-unit.ts";
import type { Turns } from "../../server/turns.ts";
import { checkConstraints } from "./constraint-check.ts";
import type { PlanGuard } from "./plan-guard.ts";
import { type AnswerTaker, ControlError, type ServerSession } from "./server-session.ts";
import { type PlanSettings, type Setting, settingStatement } from "./settings.ts";
import type { ClientError } from "./wire.ts";
import { Work } from "./work.ts";

/** The server refuses this, and the transaction has failed then. */
const FAIL = "ROLLBACK TO SAVEPOINT drydock_refused";
/** What all clients of a plan share. */
export interface PlanParts {
  readonly session: ServerSession;
  readonly turns: Turns;
  readonly settings: PlanSettings;
  readonly guard: PlanGuard;
  readonly patienceMs: number;
  readonly whyClosed: () => string | undefined;
  readonly did: (unit: ClientUnit) => void;
}

/** A request of a client failed before it reached the server. */
export class ClientFailure extends Error {
  readonly error: ClientError;

  constructor(error: ClientError) {
    super(error.message);
    this.error = error;
  }
}

/**
 * The units of work of one client: each is a turn at the session of the plan, from the guard to the next
 * guard. Within it the client does what it likes; it stays as a whole, or goes.
 */
export class ClientUnits {
  readonly #parts: PlanParts;
  readonly #name: string;
  #release: (() => void) | undefined;
  #settings: readonly Setting[] = [];
  work: Work = new Work([]);
  /** Work of the client is in the transaction, and not in the log of the plan. */
  #isUnrecorded = false;

  constructor(parts: PlanParts, name: string) {
    this.#parts = parts;
    this.#name = name;
  }

  get isOpen(): boolean {
    return this.#release !== undefined;
  }

  /** Waits for a turn, within bounds. `signal` is asked for if it is another's. */
  async open(taker: AnswerTaker | undefined, signal: () => AbortSignal): Promise<void> {
    const { turns, session, whyClosed, settings, guard } = this.#parts;
    const release = turns.takeNow(this.#name) ?? (await this.#turn(signal()));
    const why = whyClosed();
    if (why !== undefined) {
      release();
      throw new ClientFailure({ state: "57P01", message: why });
    }
    this.#release = release;
    session.begin(taker);
    try {
      await settings.learn();
      await guard.learn();
      await this.#beginWork();
    } catch (thrown) {
      // A setting of the client's can't be made any more. That fails for it alone.
      if (responseOf(thrown) !== undefined) await guard.back();
      this.close();
      throw thrown;
    }
  }

  async #turn(signal: AbortSignal): Promise<() => void> {
    const { turns, patienceMs } = this.#parts;
    const limit = AbortSignal.timeout(this.#patience ?? patienceMs);
    const holder = () => turns.holder;
    const release = await turns.take(this.#name, AbortSignal.any([signal, limit]));
    if (release === undefined) throw new ClientFailure(signal.aborted ? CANCELLED : notNow(holder()));
    return release;
  }

  /** Makes settings for the whole session, as they are when a client connects. */
  async startWith(wanted: ReadonlyMap<string, string>): Promise<void> {
    const { session, settings } = this.#parts;
    if (wanted.size === 0) return;
    const made = [...wanted].map(([name, value]) => ({ name, value, own: "" }));
    await session.control(settingStatement(made, "client") ?? "");
    const names = [...wanted.keys()].map((name) => name.toLowerCase());
    const asked = new Map(names.map((name) => [name, { name, isLocal: false }]));
    this.#settings = (await settings.now([], asked)).kept;
  }

  /** The session's settings are those of its beginning again. */
  forgetSettings(): void {
    this.#settings = [];
  }

  /** Checks what a commit checks now: a failure is one of the whole work. */
  async check(): Promise<void> {
    if (this.#mustCheck) await checkConstraints(this.#parts.session);
  }

  /** The work stays, and is recorded. */
  async keep(): Promise<void> {
    const { settings, guard, did } = this.#parts;
    const { work } = this;
    if (work.isEmpty) return await this.undo();
    const { onlyReads } = work;
    const hasWritten = onlyReads && (await guard.hasWritten());
    const script: string[] = [];
    let made: readonly Setting[] = this.#settings;
    if (work.sets.size > 0) {
      const { kept, changed } = await settings.now(this.#settings, work.sets);
      this.#settings = kept;
      made = changed;
    }
    const restore = settingStatement(made, "plan");
    if (restore !== undefined) script.push(restore);
    if (work.hasCursors) script.push("CLOSE ALL");
    // Before the guard moves: what can't be recorded must not stay.
    const unit = work.done(hasWritten);
    if (!onlyReads || hasWritten || work.isReadOnly || !guard.mayMoveAlong)
      await guard.move(script, work.changesDefinitions);
    else if (script.length > 0) await this.#parts.session.control(script.join("; "));
    did(unit);
    this.work = new Work(this.#settings);
  }

  /**
   * Whether the guard may move along with the end of the client's request: nothing has to be done before it.
   * A statement that takes data would take the guard for a part of them.
   */
  get mayMoveAlong(): boolean {
    const { work } = this;
    const { guard } = this.#parts;
    const needsMore = work.sets.size > 0 || this.#settings.length > 0 || work.hasCursors || work.isReadOnly;
    const takesData = work.executed.some(({ statement }) => statement.words[0] === "COPY");
    return guard.mayMoveAlong && work.executed.length > 0 && !needsMore && !takesData && !this.#mustCheck;
  }

  /** Records the work, which stays since the guard has moved along. */
  async keptAlong(hasWritten: boolean): Promise<void> {
    const { session, guard, did } = this.#parts;
    const { work } = this;
    this.#isUnrecorded = true;
    did(work.done(work.onlyReads && hasWritten));
    this.#isUnrecorded = false;
    this.work = new Work(this.#settings);
    // A cancel that came late.
    if (session.state !== "T") await guard.back();
  }

  /** Goes on with another unit of work in the same turn. */
  async goOn(): Promise<void> {
    await this.#beginWork();
  }

  /** Nothing of the work stays. */
  async undo(): Promise<void> {
    if (this.#isUnrecorded) throw new Error("what a client did could not be recorded");
    await this.#parts.guard.back();
    this.work = new Work(this.#settings);
  }

  /** What the client does now fails, until it rolls back. */
  async fail(): Promise<void> {
    await this.#parts.session.control(FAIL).catch((thrown: unknown) => {
      if (responseOf(thrown) === undefined) throw thrown;
    });
  }

  close(): void {
    this.#parts.session.end();
    this.#release?.();
    this.#release = undefined;
  }

  get #mustCheck(): boolean {
    const { onlyReads, changesDefinitions } = this.work;
    return (this.#parts.guard.hasDeferrable && !onlyReads) || changesDefinitions;
  }

  get #patience(): number | undefined {
    const set = this.#settings.find(({ name }) => name === "lock_timeout");
    const ms = Number(set?.value ?? 0);
    return ms > 0 ? ms : undefined;
  }

  async #beginWork(): Promise<void> {
    this.work = new Work(this.#settings);
    const make = settingStatement(this.#settings, "client");
    if (make !== undefined) await this.#parts.session.control(make);
  }
}

const CANCELLED: ClientError = {
  state: "57014",
  message: "canceling statement due to user request",
};

function notNow(holder: string | undefined): ClientError {
  return {
    state: "55P03",
    message: `another client of this plan is at work: ${holder ?? "it has just ended"}`,
    hint: "In a plan, clients work one after the other. Try again when its transaction has ended.",
  };
}

/** The error of the server, as a client gets it; undefined for any other failure. */
export function responseOf(thrown: unknown): Buffer | undefined {
  return thrown instanceof ControlError ? thrown.response : undefined;
}
