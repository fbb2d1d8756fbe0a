import type { Socket } from "node:net";
import { messageOf } from "../../../core/errors/errors.ts";
import { Interruption } from "../../server/interruption.ts";
import type { Inbox } from "../../server/streams/inbox.ts";
import { sayLastWord } from "../../server/streams/last-word.ts";
import { ENDING, TOO_LONG, UNKNOWN } from "./client-errors.ts";
import type { ClientMessage } from "./client-messages.ts";
import type { ClientParts } from "./client-parts.ts";
import { ClientTransaction } from "./client-transaction.ts";
import { ClientFailure, ClientUnits } from "./client-units.ts";
import { PreparedStatements, type PreparingClient } from "./prepared-statements.ts";
import type { AnswerPart, AnswerShape } from "./protocol/answer.ts";
import { COMMAND, textCommand } from "./protocol/commands.ts";
import { CAPABILITY, changeFrom, type Login } from "./protocol/handshake.ts";
import { closeCommand } from "./protocol/parameters.ts";
import {
  type ClientError,
  errorContent,
  errorFrom,
  type Packet,
  ProtocolViolation,
  packets,
} from "./protocol/wire.ts";
import { Replies } from "./replies.ts";
import { type Answered, type AnswerTaker, ControlError, SILENT } from "./server-session.ts";
import { ClientSettings, quotedName } from "./settings.ts";
import { readingWith } from "./statements/character-sets.ts";
import { type ClientStatement, clientStatements, type Runnable } from "./statements/client-statement.ts";
import { EMPTY, oneTooMany, statementsIn } from "./statements/client-texts.ts";
import type { Reading } from "./statements/statement-text.ts";
import { Executed, isOfSavepoints } from "./work.ts";

/** The session of one client. It reads a command only when the last one is answered. */
export class ClientSession implements PreparingClient {
  readonly parts: ClientParts;
  readonly units: ClientUnits;
  readonly replies: Replies;
  readonly inbox: Inbox<ClientMessage>;
  readonly #socket: Socket;
  readonly #login: Login;
  readonly #prepared: PreparedStatements;
  readonly #interruption: Interruption;
  /** Ends the wait for a turn. */
  #waiting = new AbortController();
  #transaction = new ClientTransaction();
  #allowsSeveral: boolean;
  #isLeaving = false;
  #usesLocks = false;

  constructor(socket: Socket, inbox: Inbox<ClientMessage>, parts: ClientParts, login: Login, name: string) {
    this.#socket = socket;
    this.inbox = inbox;
    this.parts = parts;
    this.#login = login;
    this.units = new ClientUnits(parts, name);
    this.units.settings = parts.settingsOf(login);
    this.#allowsSeveral = (login.capabilities & CAPABILITY.multiStatements) !== 0;
    this.replies = new Replies(socket, {
      taking: parts,
      status: () => this.#transaction.status(this.units.isOpen),
      countsFound: (login.capabilities & CAPABILITY.foundRows) !== 0,
      noBackslashes: () => this.#reading.noBackslashes,
      takesColumns: login.wantsExtendedMetadata || !parts.session.connection.hasExtendedMetadata,
    });
    this.#prepared = new PreparedStatements(this);
    const isBusy = () => this.units.isOpen && parts.session.isBusy;
    this.#interruption = new Interruption(isBusy, parts.stop);
    // The client is gone: what runs for it ends.
    inbox.ended.addEventListener("abort", () => void this.#interruption.insist());
  }

  /** Serves the client until it is gone. */
  async serve(): Promise<void> {
    try {
      while (!this.#isLeaving) {
        const next = await this.inbox.next();
        if (next === undefined || next.content[0] === COMMAND.quit || this.inbox.ended.aborted) break;
        this.replies.begin(next.sequence);
        await this.#attempt(() => this.#command(next.content));
      }
    } catch (thrown) {
      if (!(thrown instanceof ProtocolViolation)) throw thrown;
      this.endWith({ code: 1835, state: "HY000", message: messageOf(thrown) });
    } finally {
      await this.#leave();
      this.#socket.end();
    }
  }

  /** Ends the session from our side. */
  endWith(error: ClientError): void {
    sayLastWord(this.#socket, packets(errorContent(error), 0));
  }

  /** Ends the running statement, or the wait for a turn. */
  async cancel(): Promise<void> {
    this.#waiting.abort();
    await this.#interruption.tell();
  }

  async #attempt(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (thrown) {
      const isRefused = thrown instanceof ClientFailure || thrown instanceof ControlError;
      if (!isRefused) throw thrown;
      this.replies.error((await this.#ifEnded(thrown.error)) ?? thrown.error);
    }
    if (this.units.isOpen && !this.#transaction.isHolding) {
      await this.units.undo();
      this.units.close();
    }
  }

  async #command(content: Buffer): Promise<void> {
    const text = () => content.toString("latin1", 1);
    if (await this.#prepared.take(content)) return;
    switch (content[0]) {
      case COMMAND.query:
        return await this.#query(text());
      case COMMAND.ping:
        return this.replies.ok();
      case COMMAND.useDatabase:
        return await this.#use(text());
      case COMMAND.statistics:
        return void this.replies.send(Buffer.from("A transaction that Drydock holds for a plan"));
      case COMMAND.kill:
        return await this.#kill(content.length < 5 ? 0 : content.readUInt32LE(1), true);
      case COMMAND.option:
        this.#allowsSeveral = content[1] === 0;
        return this.replies.end();
      case COMMAND.fields:
        return await this.pass(content, "columns");
      case COMMAND.reset:
        await this.#beginAnew(undefined);
        return this.replies.ok();
      case COMMAND.changeUser:
        await this.#beginAnew(changeFrom(content, this.#login.capabilities).database);
        return this.replies.ok();
      default:
        throw new ClientFailure(UNKNOWN);
    }
  }

  async #query(text: string): Promise<void> {
    if (!this.#allowsSeveral) return void (await this.perform(this.onlyStatement(text)));
    let isEmpty = true;
    for (const { statement, hasMore } of statementsIn(text, () => this.#reading)) {
      isEmpty = false;
      this.replies.hasMore = hasMore;
      if (!(await this.perform(statement))) return;
    }
    if (isEmpty) throw new ClientFailure(EMPTY);
  }

  onlyStatement(text: string): ClientStatement {
    const [statement, second] = clientStatements(text, this.#reading);
    if (statement === undefined) throw new ClientFailure(EMPTY);
    if (statement.does === "refused") throw new ClientFailure(statement.error);
    if (second !== undefined) throw new ClientFailure(oneTooMany(second));
    return statement;
  }

  get #reading(): Reading {
    const { isMaria, version, settings } = this.parts;
    return { isMaria, version, ...readingWith((name) => settings.valueOf(this.units.settings, name)) };
  }

  /** Does what a statement means here, and answers it; false if it failed. */
  async perform(statement: ClientStatement): Promise<boolean> {
    switch (statement.does) {
      case "run":
        return await this.run(new Executed(this.runnable(statement)), textCommand("query", statement.sql));
      case "set":
        return await this.#set(statement);
      case "refused":
        throw new ClientFailure(statement.error);
      case "use":
        await this.#use(statement.database);
        return true;
      case "kill":
        await this.#kill(statement.id, statement.session);
        return true;
      case "define":
        await this.#define(statement);
        return true;
      case "begin":
        this.#commit();
        this.#transaction.begin(statement.readOnly);
        break;
      case "commit":
      case "rollback":
        if (statement.does === "commit") this.#commit();
        else await this.#rollback();
        this.#transaction.end(statement.chains);
        this.#isLeaving = statement.leaves;
        break;
      case "nothing":
        break;
    }
    this.replies.ok();
    return true;
  }

  /** A statement with what is known of its functions. */
  runnable(statement: Runnable): Runnable {
    return statement.reads && this.parts.objects.mayWrite(statement.sql)
      ? { ...statement, reads: false }
      : statement;
  }

  /**
   * Runs a statement of the client; false if it failed, which the client is told then. What it did outside of
   * a transaction of the client's stays. `before` may send something ahead.
   */
  async run(executed: Executed, command: Buffer, before: () => void = () => undefined): Promise<boolean> {
    const { units, replies } = this;
    this.#assertMay(executed.statement);
    await this.enter();
    await units.prepareFor(executed);
    before();
    replies.isUpdate = executed.statement.words[0] === "UPDATE";
    const answered = await this.#ask(command, "results", (part, packet) => executed.take(part, packet));
    executed.answered(answered);
    const failed = answered.error === undefined ? undefined : errorFrom(answered.error);
    const ended = failed === undefined ? undefined : await this.#ifEnded(failed);
    if (ended === undefined) await this.#settle(executed);
    if (ended !== undefined) replies.error(ended);
    else if (answered.error !== undefined) replies.send(answered.error);
    return failed === undefined;
  }

  /** A statement has run: outside of a transaction of the client's, what it did stays now. */
  async #settle(executed: Executed): Promise<void> {
    const { units } = this;
    if (executed.isInEffect) units.ran(executed);
    if (this.#transaction.isHolding) return;
    if (executed.isInEffect && !this.inbox.ended.aborted) units.keep();
    else await units.undo();
    units.close();
  }

  /** Passes a command that changes nothing to the server, and its answer to the client. */
  async pass(
    command: Buffer,
    shape: AnswerShape,
    onPart: (part: AnswerPart, packet: Packet) => void = () => undefined,
  ): Promise<void> {
    await this.enter();
    const { error } = await this.#ask(command, shape, onPart);
    if (error !== undefined) this.replies.send(error);
  }

  /** Waits for a turn, if the client has none. */
  async enter(): Promise<void> {
    if (this.units.isOpen) return;
    this.#waiting = new AbortController();
    await this.units.open(AbortSignal.any([this.#waiting.signal, this.inbox.ended]));
    const { session, oldStatements } = this.parts;
    for (const id of oldStatements.splice(0)) session.send(closeCommand(id));
  }

  async #ask(
    command: Buffer,
    shape: AnswerShape,
    onPart: (part: AnswerPart, packet: Packet) => void,
    taker: AnswerTaker = this.replies,
  ): Promise<Answered> {
    if (command.length >= this.parts.longest) throw new ClientFailure(TOO_LONG);
    this.replies.onPart = onPart;
    try {
      const answered = await this.parts.session.ask(command, shape, taker);
      if (answered.isInTransaction === false)
        throw new Error("the server ended the transaction of the plan by itself");
      return answered;
    } finally {
      await this.#interruption.over();
    }
  }

  /**
   * After an error: what to tell the client if the server has ended the whole transaction. The work of the
   * plan was done again then, without that of the client, or is gone.
   */
  async #ifEnded(error: ClientError): Promise<ClientError | undefined> {
    const { units, parts } = this;
    if (!units.isOpen || !ENDING.includes(error.code)) return undefined;
    try {
      await parts.session.control("SAVEPOINT drydock_probe");
      await parts.session.control("RELEASE SAVEPOINT drydock_probe");
      return undefined;
    } catch (thrown) {
      if (!(thrown instanceof ControlError)) throw thrown;
    }
    this.#transaction.end();
    await units.revive();
    const why = parts.whyClosed();
    return why === undefined ? error : { code: 1927, state: "70100", message: why };
  }

  async #set(statement: ClientStatement & { readonly does: "set" }): Promise<boolean> {
    const { forServer, names, autocommit, readOnly } = statement;
    if (autocommit === true && !this.#transaction.autocommits) this.#commit();
    if (autocommit !== undefined) this.#transaction.autocommits = autocommit;
    if (readOnly !== undefined) this.#transaction.onlyReads = readOnly;
    if (forServer === undefined) {
      this.replies.ok();
      return true;
    }
    await this.enter();
    const executed = new Executed(this.runnable({ ...statement, does: "run", reads: true, sql: forServer }));
    this.#assertMay(executed.statement);
    let warnings = 0;
    await this.units.set(names, async () => {
      await this.units.prepareFor(executed);
      const answered = await this.#ask(textCommand("query", forServer), "results", () => undefined, SILENT);
      executed.answered(answered);
      if (answered.error !== undefined) throw new ControlError(answered.error);
      this.units.ran(executed);
      warnings = answered.ok?.warnings ?? 0;
    });
    if (!this.#transaction.isHolding) this.#commit();
    this.replies.ok({ warnings });
    return true;
  }

  #assertMay(statement: Runnable): void {
    if (/\bGET_LOCK\b/.test(statement.words.join(" "))) this.#usesLocks = true;
    if (statement.reads || isOfSavepoints(statement)) return;
    const { whyNoWrites } = this.#transaction;
    if (whyNoWrites !== undefined) throw new ClientFailure(whyNoWrites);
    const why = this.parts.objects.whyNotWritten(statement.sql, this.units.settings.database);
    if (why !== undefined) throw new ClientFailure({ code: 1235, state: "42000", message: why });
  }

  async #use(database: string): Promise<void> {
    await this.enter();
    await this.parts.session.control(`USE ${quotedName(database)}`);
    this.units.settings.database = database;
    this.replies.ok();
  }

  async #define({ table, error }: ClientStatement & { readonly does: "define" }): Promise<void> {
    await this.enter();
    try {
      await this.parts.session.control(`SELECT 1 FROM ${table} LIMIT 0`);
    } catch (thrown) {
      throw thrown instanceof ControlError ? new ClientFailure(error) : thrown;
    }
    // As a server does it: the client's transaction ends.
    this.#commit();
    this.#transaction.end();
    this.replies.ok({ warnings: 1 });
  }

  async #kill(id: number, session: boolean): Promise<void> {
    if (!(await this.parts.kill(id, session)))
      throw new ClientFailure({ code: 1094, state: "HY000", message: `Unknown thread id: ${id}` });
    this.replies.ok();
  }

  /** The client's transaction ends, and its work stays. */
  #commit(): void {
    if (!this.units.isOpen) return;
    this.units.keep();
    this.units.close();
  }

  async #rollback(): Promise<void> {
    if (!this.units.isOpen) return;
    await this.units.undo();
    this.units.close();
  }

  async #beginAnew(database: string | undefined): Promise<void> {
    await this.#rollback();
    this.#transaction = new ClientTransaction();
    this.#prepared.forgetAll();
    const settings = this.parts.settingsOf(this.#login);
    this.units.settings = new ClientSettings(settings.variables, database ?? settings.database);
  }

  async #leave(): Promise<void> {
    const { units, parts } = this;
    try {
      if (units.isOpen) await units.undo();
      else if (this.#usesLocks) await units.open(new AbortController().signal);
      this.#prepared.forgetAll();
      if (units.isOpen && this.#usesLocks) await parts.session.control("DO RELEASE_ALL_LOCKS()");
    } catch (thrown) {
      // The transaction is gone: so is all that the client could leave in it.
      if (!(thrown instanceof ClientFailure) && parts.whyClosed() === undefined) throw thrown;
    } finally {
      if (units.isOpen) units.close();
    }
  }
}
