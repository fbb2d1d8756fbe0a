import type { ClientUnit } from "../../server/client-unit.ts";
import { GUARD } from "../../server/guarded-database.ts";
import type { Turns } from "../../server/turns.ts";
import type { ClientError } from "./protocol/wire.ts";
import { ControlError, type ServerSession } from "./server-session.ts";
import { valuesOf } from "./session-values.ts";
import { ClientSettings, type SessionSettings } from "./settings.ts";
import { CLIENT_CHARACTER_SET, whyNotWritten } from "./statements/character-sets.ts";
import { runsProcedure } from "./unsaid-settings.ts";
import { type Executed, Work } from "./work.ts";

/** What all clients of a plan share. */
export interface PlanParts {
  readonly session: ServerSession;
  readonly turns: Turns;
  readonly settings: SessionSettings;
  readonly guard: PlanGuard;
  readonly patienceMs: number;
  readonly whyClosed: () => string | undefined;
  readonly did: (unit: ClientUnit) => void;
  /** The server has ended the transaction: does the work of the plan again, or gives it up. */
  readonly revive: () => Promise<void>;
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
 * Where the guard is. It moves only before work that may have to be undone: a statement of ours right after
 * one of a client's would take away what the client may ask about it (SHOW WARNINGS, ROW_COUNT()).
 */
export class PlanGuard {
  /** Whether there is work after the guard that stays. */
  isBehind = false;
  /** Whether clients have made savepoints after the guard. They must not reach them again. */
  hasSavepoints = false;

  async move(session: ServerSession): Promise<void> {
    if (this.hasSavepoints) await session.control(`RELEASE SAVEPOINT ${GUARD}`);
    if (this.isBehind || this.hasSavepoints) await session.control(`SAVEPOINT ${GUARD}`);
    this.reset();
  }

  /** The guard was made anew. */
  reset(): void {
    this.isBehind = false;
    this.hasSavepoints = false;
  }
}

/**
 * The units of work of one client: each is a turn at the session of the plan. Within it the client does what
 * it likes; it stays as a whole, or goes.
 */
export class ClientUnits {
  readonly #parts: PlanParts;
  readonly #name: string;
  #release: (() => void) | undefined;
  #isGuarded = false;
  #work = new Work();
  settings = new ClientSettings();

  constructor(parts: PlanParts, name: string) {
    this.#parts = parts;
    this.#name = name;
  }

  get isOpen(): boolean {
    return this.#release !== undefined;
  }

  /** Waits for a turn, within bounds. */
  async open(signal: AbortSignal): Promise<void> {
    const { turns, session, settings, whyClosed } = this.#parts;
    const limit = AbortSignal.timeout(this.#patienceMs);
    const release = await turns.take(this.#name, AbortSignal.any([signal, limit]));
    if (release === undefined) throw new ClientFailure(signal.aborted ? CANCELLED : notNow(turns.holder));
    const why = whyClosed();
    if (why !== undefined) {
      release();
      throw new ClientFailure({ code: 1927, state: "70100", message: why });
    }
    this.#release = release;
    session.begin();
    this.#work = new Work();
    this.#isGuarded = false;
    try {
      await settings.switchTo(session, this.settings);
    } catch (thrown) {
      this.close();
      throw thrown instanceof ControlError ? new ClientFailure(thrown.error) : thrown;
    }
  }

  /** Called before a statement of the client runs. */
  async prepareFor(executed: Executed): Promise<void> {
    const { session, guard, settings } = this.#parts;
    const { statement } = executed;
    for (const name of statement.variables) this.settings.named.add(name);
    this.#work.beginWith(settings.now(this.settings));
    const unknown = statement.variables.filter((name) => !this.#work.values.has(name));
    for (const [name, value] of await valuesOf(session, unknown)) this.#work.values.set(name, value);
    // What a procedure has set must not go unnoticed by what writes after it.
    if (!statement.reads) await settings.noteUnsaid(session, this.settings);
    if (runsProcedure(statement.words)) await settings.watch(session);
    if (statement.reads || this.#isGuarded) return;
    await guard.move(session);
    this.#isGuarded = true;
  }

  /** Runs a SET of the client's; what it makes is the client's own from then on. */
  async set(names: readonly string[], run: () => Promise<void>): Promise<void> {
    const { session, settings } = this.#parts;
    await settings.learn(session, names);
    const before = new Map(this.settings.variables);
    await run();
    await settings.note(session, this.settings, names);
    this.#work.sets(settings.ownOf(names.filter((name) => this.settings.variables.has(name))));
    const refused = whyNotWritten(settings.valueOf(this.settings, CLIENT_CHARACTER_SET));
    if (refused === undefined) return;
    await settings.goBack(session, this.settings, before);
    throw new ClientFailure(refused);
  }

  /** A statement of the client has run. */
  ran(executed: Executed): void {
    this.#work.add(executed);
    if (executed.insertId > 0n) this.settings.insertId = executed.insertId;
    if (executed.isOfSavepoints) this.#parts.guard.hasSavepoints = true;
  }

  /** The work stays, and is recorded. */
  keep(): void {
    const { did, guard } = this.#parts;
    const unit = this.#work.done();
    if (unit !== undefined) did(unit);
    if (this.#isGuarded) guard.isBehind = true;
    this.#renew();
  }

  /** Nothing of the work stays. */
  async undo(): Promise<void> {
    const { session, guard } = this.#parts;
    if (this.#isGuarded) await session.control(`ROLLBACK TO SAVEPOINT ${GUARD}`);
    if (this.#isGuarded) guard.reset();
    this.#renew();
  }

  close(): void {
    this.#parts.session.end();
    this.#release?.();
    this.#release = undefined;
  }

  /** The server has ended the transaction. What the plan did before is done again, in the same turn. */
  async revive(): Promise<void> {
    this.#parts.session.end();
    try {
      await this.#parts.revive();
    } finally {
      this.#renew();
      this.#release?.();
      this.#release = undefined;
    }
  }

  get #patienceMs(): number {
    const seconds = Number(this.settings.variables.get("innodb_lock_wait_timeout") ?? Number.NaN);
    return Number.isNaN(seconds) ? this.#parts.patienceMs : Math.max(1, seconds * 1000);
  }

  #renew(): void {
    this.#work = new Work();
    this.#isGuarded = false;
  }
}

const CANCELLED: ClientError = {
  code: 1317,
  state: "70100",
  message: "Query execution was interrupted",
};

function notNow(holder: string | undefined): ClientError {
  return {
    code: 1205,
    state: "HY000",
    message: `another client of this plan is at work: ${holder ?? "it has just ended"}; clients work one after the other, try again when its transaction has ended`,
  };
}
