import type { ClientUnit } from "../../server/client-unit.ts";
import { GUARD } from "../../server/guarded-database.ts";
import type { Turns } from "../../server/turns.ts";
import { checkConstraints } from "./constraint-check.ts";
import { type AnswerTaker, ControlError, type ServerSession } from "./server-session.ts";
import { type PlanSettings, type Setting, settingStatement } from "./settings.ts";
import type { ClientError } from "./wire.ts";
import { Work } from "./work.ts";

const BACK = `ROLLBACK TO SAVEPOINT ${GUARD}`;
const MOVE = `RELEASE SAVEPOINT ${GUARD}; SAVEPOINT ${GUARD}`;
/** The server refuses this, and the transaction has failed then. */
const FAIL = "ROLLBACK TO SAVEPOINT drydock_refused";
/** Each transaction and savepoint in which something was written has a lock on its own number. */
const NUMBERS = `SELECT count(*) FROM pg_catalog.pg_lock_status()
  WHERE locktype = 'transactionid' AND pid = pg_catalog.pg_backend_pid()`;
/** Whether a commit would check anything. */
const DEFERRABLE = "SELECT EXISTS (SELECT FROM pg_catalog.pg_trigger WHERE tgdeferrable)";

/** What all clients of a plan share. */
export interface PlanParts {
  readonly session: ServerSession;
  readonly turns: Turns;
  readonly settings: PlanSettings;
  readonly facts: PlanFacts;
  readonly patienceMs: number;
  readonly whyClosed: () => string | undefined;
  readonly did: (unit: ClientUnit) => void;
}

/** What is known of the transaction at its guard. */
export interface PlanFacts {
  /** How many numbers it has; undefined if that has to be asked. */
  numbers: string | undefined;
  /** Whether that stays so: all that encloses the guard has a number. */
  isSettled: boolean;
  hasDeferrable: boolean;
  /** The count of other runs on the connection when this was learnt. */
  at: number;
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

  constructor(parts: PlanParts, name: string) {
    this.#parts = parts;
    this.#name = name;
  }

  get isOpen(): boolean {
    return this.#release !== undefined;
  }

  /** Waits for a turn, within bounds. `mayRead`: the first statement may be one that only reads. */
  async open(taker: AnswerTaker | undefined, mayRead: boolean, signal: AbortSignal): Promise<void> {
    const { turns, session, patienceMs, whyClosed, settings } = this.#parts;
    const limit = AbortSignal.timeout(this.#patience ?? patienceMs);
    const holder = () => turns.holder;
    const release = await turns.take(this.#name, AbortSignal.any([signal, limit]));
    if (release === undefined) throw new ClientFailure(signal.aborted ? CANCELLED : notNow(holder()));
    const why = whyClosed();
    if (why !== undefined) {
      release();
      throw new ClientFailure({ state: "57P01", message: why });
    }
    this.#release = release;
    session.begin(taker);
    try {
      await settings.learn();
      await this.#learnFacts(mayRead);
      await this.#beginWork();
    } catch (thrown) {
      // A setting of the client's can't be made any more. That fails for it alone.
      if (responseOf(thrown) !== undefined) await session.control(BACK);
      this.close();
      throw thrown;
    }
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
    const { session, facts } = this.#parts;
    const { onlyReads, changesDefinitions } = this.work;
    if ((facts.hasDeferrable && !onlyReads) || changesDefinitions) await checkConstraints(session);
  }

  /** The work stays, and is recorded. */
  async keep(): Promise<void> {
    const { session, settings, facts, did } = this.#parts;
    const { work } = this;
    if (work.isEmpty) return await this.undo();
    const { onlyReads } = work;
    const hasWritten = onlyReads && (await this.#numbers()) !== facts.numbers;
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
    if (!onlyReads || hasWritten) {
      script.push(MOVE);
      if (hasWritten || !facts.isSettled) facts.numbers = undefined;
      if (work.executed.some(({ rows }) => rows > 0)) facts.isSettled = true;
    } else if (work.isReadOnly) script.push(MOVE);
    if (work.changesDefinitions) facts.at = -1;
    // Before the guard moves: what can't be recorded must not stay.
    const unit = work.done(hasWritten);
    if (script.length > 0) await session.control(script.join("; "));
    did(unit);
    this.work = new Work(this.#settings);
  }

  /** Goes on with another unit of work in the same turn. */
  async goOn(): Promise<void> {
    await this.#beginWork();
  }

  /** Nothing of the work stays. */
  async undo(): Promise<void> {
    const { session, facts } = this.#parts;
    await session.control(BACK);
    if (!facts.isSettled) facts.numbers = undefined;
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

  async #learnFacts(mayRead: boolean): Promise<void> {
    const { facts, session } = this.#parts;
    if (facts.at !== session.otherRuns) {
      const [[hasDeferrable] = []] = await session.control(DEFERRABLE);
      const at = session.otherRuns;
      Object.assign(facts, {
        hasDeferrable: hasDeferrable === "t",
        numbers: undefined,
        isSettled: false,
        at,
      });
    }
    if (mayRead) facts.numbers ??= await this.#numbers();
  }

  async #numbers(): Promise<string | undefined> {
    const [[numbers] = []] = await this.#parts.session.control(NUMBERS);
    return numbers ?? undefined;
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
