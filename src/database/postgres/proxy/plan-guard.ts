import { GUARD } from "../../server/guarded-database.ts";
import type { ServerSession } from "./server-session.ts";
import { message, readyForQuery, rowValues, SYNC, type TransactionState } from "./wire.ts";

/** A guard inside of the guard. There may be several, of which the last one counts. */
const INNER = "drydock_inner";
const MOVE = `RELEASE SAVEPOINT ${GUARD}; SAVEPOINT ${GUARD}`;
/** The server looks through all that enclose a row's change, so there must not be many. */
const MOST_INNER = 16;
/**
 * Each transaction and savepoint in which something was written has a lock on its own number. One gets a
 * number only after all that enclose it.
 */
const NUMBERS = `SELECT pg_catalog.count(*) FROM pg_catalog.pg_lock_status()
  WHERE locktype = 'transactionid' AND pid = pg_catalog.pg_backend_pid()`;
/** The same where there was none before, which costs the server less. */
const FIRST_NUMBER = "SELECT CASE WHEN pg_catalog.pg_current_xact_id_if_assigned() IS NULL THEN 0 END";
/** Whether a commit would check anything. */
const DEFERRABLE = "SELECT EXISTS (SELECT FROM pg_catalog.pg_trigger WHERE tgdeferrable)";

const INNER_GUARD = Buffer.concat([
  message("P", "", `SAVEPOINT ${INNER}`, Buffer.alloc(2)),
  message("B", "", "", Buffer.alloc(6)),
  message("E", "", Buffer.alloc(4)),
]);
const DONE = readyForQuery("I");
const COUNT = message("Q", NUMBERS);
const FIRST_COUNT = message("Q", FIRST_NUMBER);

/** What the server says when the guard moves along with a request. */
interface Along {
  /** The state of the transaction after the request. */
  state: TransactionState | undefined;
  /** Whether the request has written something, as far as that was asked and could be told. */
  hasWritten: boolean;
}

/**
 * The guard of the transaction, as clients move it.
 *
 * By itself a guard moves by its release and a new one. A cancel or a timeout in between would leave the
 * transaction without one, so nothing else may be under way meanwhile. Along with a request it moves by a
 * guard inside of it, which is one step: if that fails, the request has failed. The next move by itself
 * releases those inside too. It is due before anybody else uses the connection, who knows only of the outer
 * one.
 */
export class PlanGuard {
  readonly #session: ServerSession;
  readonly #savepoints: () => number;
  #inner = 0;
  #hasNumber = true;
  /** The count of other runs on the connection when the rest was learnt. */
  #at = -1;
  hasDeferrable = true;

  /** `savepoints`: how many of the plan's own enclose the guard. */
  constructor(session: ServerSession, savepoints: () => number) {
    this.#session = session;
    this.#savepoints = savepoints;
  }

  /** Learns what others may have changed. */
  async learn(): Promise<void> {
    const session = this.#session;
    if (this.#at === session.otherRuns) return;
    this.#inner = 0;
    this.#hasNumber = true;
    const [[hasDeferrable] = []] = await session.control(DEFERRABLE);
    this.hasDeferrable = hasDeferrable === "t";
    this.#at = session.otherRuns;
  }

  /** Whether anything was written since the guard moved last. */
  async hasWritten(): Promise<boolean> {
    const [[numbers] = []] = await this.#session.control(NUMBERS);
    return Number(numbers) >= this.#levels;
  }

  /** The transaction, and each savepoint up to the last guard. */
  get #levels(): number {
    return 1 + this.#savepoints() + 1 + this.#inner;
  }

  /** Moves the guard by itself, after another script. `isNew`: definitions may have changed. */
  async move(before: readonly string[], isNew: boolean): Promise<void> {
    await this.#session.control([...before, MOVE].join("; "));
    this.#inner = 0;
    this.#hasNumber = true;
    this.#session.leave(undefined);
    if (isNew) this.#at = -1;
  }

  /** Whether it may move along once more. */
  get mayMoveAlong(): boolean {
    return this.#inner < MOST_INNER;
  }

  /**
   * Ends a request of a client, and moves the guard along with it; the client is told at once. `seemsToRead`:
   * the server is asked whether its statements have written something.
   */
  async moveAlong(seemsToRead: boolean): Promise<Along> {
    const session = this.#session;
    // If that can't be told, rather too much is shown than too little.
    const along: Along = { state: undefined, hasWritten: true };
    const [levels, hadNumber] = [this.#levels, this.#hasNumber];
    session.controls += 1;
    await session.send(INNER_GUARD, {
      ends: "C",
      hides: "12C",
      on: (type) => {
        if (type !== "C") return;
        this.#inner += 1;
        this.#hasNumber ||= !seemsToRead;
        session.leave(MOVE);
      },
    });
    await session.send(SYNC, {
      ends: "Z",
      on: (type) => {
        if (type !== "Z") return;
        along.state = session.state;
        if (along.state === "T") session.show(DONE);
      },
    });
    if (!seemsToRead) return along;
    await session.send(hadNumber ? COUNT : FIRST_COUNT, {
      ends: "Z",
      hidden: true,
      on: (type, bytes) => {
        if (type !== "D") return;
        const [numbers] = rowValues(bytes);
        along.hasWritten = numbers === null || Number(numbers) >= levels;
        this.#hasNumber = numbers !== "0";
      },
    });
    return along;
  }

  /** Takes back what was done since it moved last. */
  async back(): Promise<void> {
    await this.#session.control(`ROLLBACK TO SAVEPOINT ${this.#inner > 0 ? INNER : GUARD}`);
    this.#hasNumber = true;
  }
}
