import type { Socket } from "node:net";
import { messageOf } from "../../../core/errors/errors.ts";
import { Interruption } from "../../server/interruption.ts";
import { writeGathered } from "../../server/streams/gathered-writes.ts";
import { Inbox } from "../../server/streams/inbox.ts";
import { sayLastWord } from "../../server/streams/last-word.ts";
import { takenInTime } from "../../server/streams/taken-in-time.ts";
import { type ClientMessage, clientMessages } from "./client-messages.ts";
import { type ClientStatement, READ_ONLY, StatementReader } from "./client-statement.ts";
import { ClientFailure, ClientUnits, type PlanParts, responseOf } from "./client-units.ts";
import { ExtendedQueries, type QueryingClient } from "./extended-queries.ts";
import { ABORTED, refusalOutside } from "./refusals.ts";
import type { AnswerTaker, Awaited } from "./server-session.ts";
import {
  type ClientError,
  ContentReader,
  commandComplete,
  EMPTY_QUERY,
  errorResponse,
  FLUSH,
  message,
  NotUtf8,
  ProtocolViolation,
  readyForQuery,
  SYNC,
  type TransactionState,
} from "./wire.ts";
import { Executed, FUNCTION_CALL, type RunnableStatement } from "./work.ts";

export interface ClientParts extends PlanParts {
  /** Makes the server end the running statement. */
  readonly stop: () => Promise<void>;
}

/**
 * The session of one client. It reads the client's messages one after the other, and the next request only
 * when the last one is answered; so the state of the transaction is always known. Requests go to the server
 * as they are, but for those that are about transactions.
 */
export class ClientSession implements AnswerTaker, QueryingClient {
  readonly inbox: Inbox<ClientMessage>;
  readonly units: ClientUnits;
  readonly parts: ClientParts;
  readonly #socket: Socket;
  readonly reader: StatementReader;
  readonly #extended: ExtendedQueries;
  /** Ends the wait for a turn. */
  #waiting: AbortController | undefined;
  readonly #interruption: Interruption;
  /** The client's transaction, as the client sees it: none, or one, which may have failed. */
  #isInTransaction = false;
  hasFailed = false;
  #usesAdvisoryLocks = false;

  constructor(
    socket: Socket,
    first: Buffer,
    { prefix, ...parts }: ClientParts & { readonly prefix: string },
    name: string,
  ) {
    this.#socket = socket;
    this.reader = new StatementReader(prefix);
    this.parts = parts;
    this.inbox = new Inbox(socket, clientMessages());
    if (first.length > 0) this.inbox.take(first);
    this.units = new ClientUnits(parts, name);
    this.#extended = new ExtendedQueries(this, prefix);
    const isBusy = () => this.units.isOpen && parts.session.isBusy;
    this.#interruption = new Interruption(isBusy, parts.stop);
    // The client is gone: what runs for it ends.
    this.inbox.ended.addEventListener("abort", () => void this.#interruption.insist());
  }

  /** Serves the client until it is gone. */
  async serve(): Promise<void> {
    try {
      for (;;) {
        const next = await this.inbox.next();
        if (next === undefined || next.type === "X" || this.inbox.ended.aborted) break;
        await this.#take(next);
      }
    } catch (thrown) {
      this.endWith({ state: "08P01", message: messageOf(thrown) });
    } finally {
      await this.#leave();
      this.#socket.end();
    }
  }

  answer(bytes: Buffer): boolean {
    return this.#socket.destroyed || !this.#socket.writable || writeGathered(this.#socket, bytes);
  }

  async drained(): Promise<void> {
    await takenInTime(this.#socket, this.parts);
  }

  /** Ends the session from our side. */
  endWith(error: ClientError): void {
    sayLastWord(this.#socket, errorResponse(error, "FATAL"));
  }

  /** Ends the running statement, or the wait for a turn. */
  async cancel(): Promise<void> {
    this.#waiting?.abort();
    await this.#interruption.tell();
  }

  async #take({ type, bytes }: ClientMessage): Promise<void> {
    if (type === "S") return await this.#sync();
    const isCopying = this.units.isOpen && this.parts.session.isCopying;
    if (isCopying || "dcf".includes(type)) return await this.#copy({ type, bytes });
    if (!"QFPBDECH".includes(type))
      throw new ProtocolViolation(`a message of type '${type}' is not known here`);
    if ("QF".includes(type)) await this.allAnswered();
    // After an error in extended queries, a server skips everything until the next Sync.
    if (this.hasFailed) return;
    if (type === "Q") await this.#simple(bytes);
    else if (type === "F") await this.#functionCall(bytes);
    else await this.attempt(() => this.#extended.take({ type, bytes }));
  }

  /** Does something for the client; a failure is one of its request. */
  async attempt(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (thrown) {
      if (thrown instanceof ClientFailure) await this.#fail(errorResponse(thrown.error));
      else if (thrown instanceof NotUtf8)
        await this.#fail(errorResponse({ state: "22021", message: thrown.message }));
      else {
        const response = responseOf(thrown);
        if (response === undefined) throw thrown;
        await this.#fail(response);
      }
    }
  }

  /** The request has failed, and with it the client's transaction. */
  async #fail(response: Buffer): Promise<void> {
    const { session } = this.parts;
    await this.allAnswered();
    // An earlier message of the same request failed: the rest is not done.
    if (this.hasFailed) return;
    this.hasFailed = true;
    this.answer(response);
    if (!this.units.isOpen || !this.#isInTransaction || session.state === "E") return;
    await this.units.fail();
  }

  async enter(): Promise<void> {
    if (this.units.isOpen) return;
    const { session } = this.parts;
    await this.units.open(this, () => {
      this.#waiting = new AbortController();
      return AbortSignal.any([this.#waiting.signal, this.inbox.ended]);
    });
    session.onError = () => {
      this.hasFailed = true;
    };
    this.#extended.begin();
  }

  async #simple(bytes: Buffer): Promise<void> {
    await this.attempt(async () => {
      const text = new ContentReader(bytes).text();
      const statements = this.reader.read(text);
      await this.enter();
      if (statements.length === 0) this.answer(EMPTY_QUERY);
      for (const each of statements) if (!this.hasFailed) await this.#one(each);
    });
    await this.#ready();
  }

  async #one(statement: ClientStatement): Promise<void> {
    if (statement.does !== "run") return await this.perform(statement);
    this.assertMay(statement);
    await this.#run(statement);
  }

  async #run(statement: RunnableStatement): Promise<void> {
    const { session } = this.parts;
    const executed = this.units.work.add(new Executed(statement));
    this.note(statement.sql);
    await session.query(statement.sql, {
      ends: "Z",
      digest: () => executed.digest,
      on: (type, bytes) => executed.take(type, bytes),
    });
    await this.#answered(async () => {
      // Only the client can go on now, unless the server finds an error.
      const wake = () => this.inbox.wake();
      session.answered().then(wake, wake);
      while (session.isCopying) {
        const next = await this.inbox.next(() => session.isCopying);
        if (next === undefined) break;
        await this.#copy(next);
        if (next.type === "c" || next.type === "f") break;
      }
      return true;
    });
  }

  /** Passes data of COPY on. What comes after an error is ignored, as the server does. */
  async #copy({ type, bytes }: ClientMessage): Promise<void> {
    const { session } = this.parts;
    if (!"dcfHS".includes(type))
      throw new ProtocolViolation(`a message of type '${type}' came in the middle of COPY`);
    const isTooLate = !this.units.isOpen || (session.isIdle && !session.isCopying);
    if (isTooLate || !"dcf".includes(type)) return;
    this.units.work.addCopied(bytes);
    await session.send(bytes);
  }

  /** Waits until the server has answered everything, before something else than data of COPY. */
  async allAnswered(): Promise<void> {
    const { session } = this.parts;
    if (!this.units.isOpen || session.isIdle) return;
    await session.send(FLUSH);
    await this.#answered(() => {
      throw new ProtocolViolation("COPY was followed by something else than its data");
    });
  }

  /**
   * Waits for the answers of the server. If it wants data meanwhile, `copy` brings it, and says whether to go
   * on waiting.
   */
  async #answered(copy: () => Promise<boolean>): Promise<void> {
    const { session } = this.parts;
    try {
      while (!session.isIdle) {
        const copying = new Promise<void>((done) => {
          session.onCopying = done;
        });
        if (session.isCopying && !(await copy())) return;
        if (this.inbox.ended.aborted && session.isCopying) await session.send(GONE);
        await Promise.race([session.answered(), copying]);
      }
    } finally {
      await this.#interruption.over();
    }
  }

  async #sync(): Promise<void> {
    const { session } = this.parts;
    if (!this.units.isOpen) return await this.#ready();
    if (!this.#isInTransaction && !this.hasFailed && this.units.mayMoveAlong) return await this.#syncAlong();
    const saysReady = this.#isInTransaction && !this.hasFailed;
    const awaited: Awaited = { ends: "Z", saysReady };
    await session.send(SYNC, awaited);
    let ignored = false;
    await this.#answered(async () => {
      // The server ignores a Sync before the data of COPY has ended; the client sends another one.
      ignored = true;
      session.giveUp(awaited);
      return false;
    });
    if (saysReady && !ignored && session.state !== "I") this.hasFailed = false;
    else if (!ignored) await this.#ready();
  }

  /** Ends the request together with its unit of work: both are one way to the server and back. */
  async #syncAlong(): Promise<void> {
    const { session, guard } = this.parts;
    const along = await guard.moveAlong(this.units.work.onlyReads);
    await session.answered();
    await this.#interruption.over();
    if (along.state !== "T") return await this.#ready();
    await this.units.keptAlong(along.hasWritten);
    this.units.close();
  }

  async #functionCall(bytes: Buffer): Promise<void> {
    await this.attempt(async () => {
      await this.enter();
      const { work } = this.units;
      const executed = work.add(new Executed(FUNCTION_CALL));
      work.whyNotAgain = "a client called a function by its number";
      await this.parts.session.send(bytes, { ends: "Z", on: (type, answer) => executed.take(type, answer) });
      await this.#answered(async () => true);
    });
    await this.#ready();
  }

  /** Does what a statement about transactions means here, and answers it. */
  async perform(statement: Exclude<ClientStatement, RunnableStatement>): Promise<void> {
    const { session } = this.parts;
    const hasFailed = session.state === "E";
    if (statement.does === "refused") throw new ClientFailure(statement.error);
    if ("chains" in statement) return await this.#end(statement.does === "rollback" || hasFailed, statement);
    if (hasFailed) throw new ClientFailure(ABORTED);
    if (statement.does === "begin") {
      if (statement.readOnly && !this.#isInTransaction) {
        this.units.work.isReadOnly = true;
        await session.control(READ_ONLY);
      }
      this.#isInTransaction = true;
    }
    if (statement.does === "forget") {
      if (statement.statements) await this.#extended.forgetAll();
      if (statement.settings) this.units.forgetSettings();
    }
    this.answer(commandComplete(statement.tag));
  }

  async #end(isRollback: boolean, { chains }: { readonly chains: boolean }): Promise<void> {
    if (isRollback) await this.units.undo();
    else
      try {
        await this.units.check();
        await this.units.keep();
      } catch (thrown) {
        const response = responseOf(thrown);
        if (response === undefined) throw thrown;
        await this.units.undo();
        this.#isInTransaction = false;
        return await this.#fail(response);
      }
    await this.units.goOn();
    this.#extended.begin();
    this.#isInTransaction = this.#isInTransaction && chains;
    this.answer(commandComplete(isRollback ? "ROLLBACK" : "COMMIT"));
  }

  /** The request is answered: what it did outside of a transaction of the client's stays, or goes. */
  async #ready(): Promise<void> {
    const { session } = this.parts;
    const { units } = this;
    const hasFailed = this.hasFailed;
    this.hasFailed = false;
    if (!units.isOpen) return void this.answer(readyForQuery("I"));
    if (session.state === "I") throw new Error("the server ended the transaction of the plan by itself");
    if (this.#isInTransaction) return void this.answer(readyForQuery(session.state as TransactionState));
    let isKept = !hasFailed && session.state === "T";
    try {
      if (isKept) await units.check();
    } catch (thrown) {
      const response = responseOf(thrown);
      if (response === undefined) throw thrown;
      this.answer(response);
      isKept = false;
    }
    if (!isKept) await units.undo();
    this.answer(readyForQuery("I"));
    if (isKept) await units.keep();
    units.close();
  }

  /** Refuses what only a transaction of the client's own can have. */
  assertMay({ words }: RunnableStatement): void {
    const error = this.#isInTransaction ? undefined : refusalOutside(words);
    if (error !== undefined) throw new ClientFailure(error);
  }

  /** Remembers what has to be taken back when the client is gone. */
  note(text: string): void {
    if (/advisory/i.test(text)) this.#usesAdvisoryLocks = true;
    if (/prepare/i.test(text)) this.#extended.hasNames = true;
  }

  async #leave(): Promise<void> {
    const { session } = this.parts;
    const { units } = this;
    try {
      if (units.isOpen) {
        if (session.isCopying) await session.send(GONE);
        await session.send(SYNC, { ends: "Z", hidden: true });
        void this.#interruption.insist();
        await this.#answered(async () => {
          // A COPY that begins only now has ignored the Sync.
          await session.send(Buffer.concat([GONE, SYNC]));
          return true;
        });
        await units.undo();
      } else if (this.#usesAdvisoryLocks || this.#extended.hasNames) {
        units.forgetSettings();
        await units.open(undefined, () => new AbortController().signal);
      }
      if (!units.isOpen) return;
      await this.#extended.forgetAll();
      if (this.#usesAdvisoryLocks) await session.control("SELECT pg_catalog.pg_advisory_unlock_all()");
    } catch (thrown) {
      // The transaction is gone: so is all that the client could leave in it.
      if (!(thrown instanceof ClientFailure) && this.parts.whyClosed() === undefined) throw thrown;
    } finally {
      if (units.isOpen) units.close();
    }
  }
}

const GONE = message("f", "the client is gone");
