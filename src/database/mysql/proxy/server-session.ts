import type { BorrowedStream } from "../../server/streams/borrowed-stream.ts";
import type { MysqlConnection } from "../mysql-connection.ts";
import { type AnswerPart, AnswerReader, type AnswerShape } from "./protocol/answer.ts";
import { textCommand } from "./protocol/commands.ts";
import {
  type ClientError,
  ContentReader,
  errorFrom,
  type Ok,
  okFrom,
  type Packet,
  PacketReader,
  packets,
  STATUS,
} from "./protocol/wire.ts";

/** Takes the parts of an answer. */
export interface AnswerTaker {
  /** Returns false if it wants no more for now. */
  take(part: AnswerPart, packet: Packet): boolean;
  /** Resolves when it can take more. */
  drained(): Promise<void>;
}

/** Takes an answer of which only the outcome matters. */
export const SILENT: AnswerTaker = { take: () => true, drained: async () => undefined };

/** How the server answered. */
export interface Answered {
  /** The content of the error, if there is one. */
  readonly error: Buffer | undefined;
  /** The last outcome of a statement without rows. */
  readonly ok: Ok | undefined;
  /** Undefined if the answer does not tell it. */
  readonly isInTransaction: boolean | undefined;
}

/** The server refused one of our own statements. */
export class ControlError extends Error {
  readonly error: ClientError;

  constructor(content: Buffer) {
    const error = errorFrom(content);
    super(error.message);
    this.error = error;
  }
}

/** A value of a result, with the number of its type and of its character set. */
export interface Cell {
  readonly bytes: Buffer | undefined;
  readonly type: number;
  readonly characterSet: number;
}

interface Awaited {
  readonly reader: AnswerReader;
  readonly take: (part: AnswerPart, packet: Packet) => void;
  readonly isForClient: boolean;
  readonly done: PromiseWithResolvers<Answered>;
  error?: Buffer;
  ok?: Ok;
  status?: number;
}

/**
 * The server's side of the proxy: a connection that is borrowed for one unit of work of one client. It sends
 * one command at a time, and knows where its answer ends.
 */
export class ServerSession {
  readonly connection: MysqlConnection;
  #borrowed: BorrowedStream | undefined;
  #reader = new PacketReader();
  #awaited: Awaited | undefined;
  #isLost = false;

  constructor(connection: MysqlConnection) {
    this.connection = connection;
  }

  /** Whether the server is at work for a client, and not for us. */
  get isBusy(): boolean {
    return this.#awaited?.isForClient === true;
  }

  begin(): void {
    this.#reader = new PacketReader();
    this.#borrowed = this.connection.borrow((bytes) => this.#push(bytes));
    this.#borrowed.stream.once("close", this.#lost);
  }

  end(): void {
    this.#borrowed?.stream.off("close", this.#lost);
    this.#borrowed?.stream.resume();
    this.#borrowed?.giveBack(this.#reader.rest);
    this.#borrowed = undefined;
  }

  /** Sends a command that has no answer. */
  send(content: Buffer): void {
    if (this.#borrowed === undefined || this.#isLost || this.#borrowed.stream.destroyed) throw GONE;
    this.#borrowed.stream.write(packets(content, 0));
  }

  /** Sends a command of a client, and passes the answer on. */
  async ask(content: Buffer, shape: AnswerShape, taker: AnswerTaker): Promise<Answered> {
    const take = (part: AnswerPart, packet: Packet) => {
      const { stream } = this.#borrowed ?? {};
      if (taker.take(part, packet) || stream === undefined) return;
      stream.pause();
      void taker.drained().then(() => stream.resume());
    };
    return await this.#ask(content, { reader: new AnswerReader(shape), take, isForClient: true });
  }

  /** Runs one statement of our own; its rows. */
  async control(sql: string): Promise<Cell[][]> {
    const columns: Omit<Cell, "bytes">[] = [];
    const rows: Cell[][] = [];
    const take = (part: AnswerPart, { content }: Packet) => {
      if (part === "column") columns.push(typeOf(content, this.connection.hasExtendedMetadata));
      if (part !== "row") return;
      const reader = new ContentReader(Buffer.from(content));
      rows.push(columns.map((column) => ({ ...column, bytes: reader.value() })));
    };
    const reader = new AnswerReader("results");
    const { error } = await this.#ask(textCommand("query", sql), { reader, take, isForClient: false });
    if (error !== undefined) throw new ControlError(error);
    return rows;
  }

  async #ask(content: Buffer, what: Omit<Awaited, "done">): Promise<Answered> {
    if (this.#awaited !== undefined) throw new Error("The server has not answered the last command.");
    this.send(content);
    const done = Promise.withResolvers<Answered>();
    this.#awaited = { ...what, done };
    return await done.promise;
  }

  #push(bytes: Buffer): void {
    try {
      this.#reader.push(bytes, (packet) => this.#packet(packet));
    } catch (thrown) {
      this.#borrowed?.stream.destroy(thrown as Error);
    }
  }

  #packet(packet: Packet): void {
    const awaited = this.#awaited;
    if (awaited === undefined) return;
    const part = awaited.reader.take(packet);
    if (!packet.goesOn) note(awaited, part, packet.content);
    awaited.take(part, packet);
    if (!awaited.reader.isOver) return;
    this.#awaited = undefined;
    const { error, ok, status } = awaited;
    const isInTransaction = status === undefined ? undefined : (status & STATUS.inTransaction) !== 0;
    awaited.done.resolve({ error, ok, isInTransaction });
  }

  readonly #lost = (): void => {
    this.#isLost = true;
    const awaited = this.#awaited;
    this.#awaited = undefined;
    awaited?.done.reject(GONE);
  };
}

function note(awaited: Awaited, part: AnswerPart, content: Buffer): void {
  if (part === "error") awaited.error = Buffer.from(content);
  if (part === "ok") {
    awaited.ok = okFrom(Buffer.from(content));
    awaited.status = awaited.ok.status;
  }
  if (part === "end") awaited.status = content.readUInt16LE(3);
}

/** The type and the character set of a column. */
function typeOf(
  content: Buffer,
  isExtended: boolean,
): { readonly type: number; readonly characterSet: number } {
  const reader = new ContentReader(content);
  for (let texts = 0; texts < (isExtended ? 7 : 6); texts += 1) reader.countedBytes();
  reader.number(1);
  const characterSet = reader.number(2);
  reader.number(4);
  return { characterSet, type: reader.number(1) };
}

const GONE = new Error("The connection to the server is lost.");
