import type { Hash } from "node:crypto";
import type { BorrowedStream } from "../../server/streams/borrowed-stream.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import {
  errorFields,
  MessageReader,
  type MessageSink,
  message,
  rowValues,
  SYNC,
  type TransactionState,
} from "./wire.ts";

/** A message that the server still has to answer. */
export interface Awaited {
  /** The types of messages that end its answer. */
  readonly ends: string;
  /** Whether the client gets what the server says at the end about the transaction, if there still is one. */
  readonly saysReady?: boolean;
  /** Whether the answer is for us, and not for the client. */
  readonly hidden?: boolean;
  /** The types of messages of the answer that are not for the client. */
  readonly hides?: string;
  /** Takes the rows of the answer. */
  readonly digest?: () => Hash | undefined;
  /** Gets each whole message of the answer but rows that go to a client. */
  on?(type: string, bytes: Buffer): void;
}

/** Where answers for a client go. */
export interface AnswerTaker {
  /** Returns false if it wants no more for now. */
  answer(bytes: Buffer): boolean;
  /** Resolves when it can take more. */
  drained(): Promise<void>;
}

/** The server refused one of our own statements. */
export class ControlError extends Error {
  readonly response: Buffer;

  constructor(response: Buffer) {
    super(errorFields(response)["M"] ?? "");
    this.response = response;
  }
}

const ASYNCHRONOUS = "NSA";
const READY = "Z";
const NOTHING = Buffer.alloc(0);
/** A message of more bytes is not copied. */
const SMALL = 1 << 12;
const MOST_UNSENT = 16;
/** The list of the types of parameters. */
const NO_TYPES = Buffer.alloc(2);

/**
 * The server's side of the proxy: a connection that is borrowed for one unit of work of one client. It knows
 * which message each answer belongs to, hides answers to our own statements, and passes the rest on.
 */
export class ServerSession implements MessageSink {
  readonly #connection: PostgresConnection;
  #borrowed: BorrowedStream | undefined;
  #reader = new MessageReader("Dd");
  #awaited: Awaited[] = [];
  #taker: AnswerTaker | undefined;
  #out: Buffer[] = [];
  /** What is sent in one go reaches the server in one piece, so that it is not woken for each message. */
  readonly #unsent: Buffer[] = [];
  readonly #row: Buffer[] = [];
  #idle = Promise.withResolvers<void>();
  #failure: unknown;
  /** What the server said last about the transaction. */
  state: TransactionState = "T";
  /** How many statements of our own were run. Each takes the place of the statement without a name. */
  controls = 0;
  /** Whether the server waits for data of COPY. */
  isCopying = false;
  /** Called when something in the answers to a client's messages fails. */
  onError: (response: Buffer) => void = () => undefined;
  onCopying: () => void = () => undefined;

  constructor(connection: PostgresConnection) {
    this.#connection = connection;
  }

  get isIdle(): boolean {
    return this.#awaited.length === 0;
  }

  /** Whether the server is at work for a client, and not for us. */
  get isBusy(): boolean {
    return this.#awaited.some(({ hidden }) => hidden !== true);
  }

  /** How often others ran statements on the connection. */
  get otherRuns(): number {
    return this.#connection.runs;
  }

  /** Leaves a script to be run before others use the connection. */
  leave(script: string | undefined): void {
    this.#connection.due = script;
  }

  begin(taker: AnswerTaker | undefined): void {
    this.#taker = taker;
    this.#reader = new MessageReader("Dd");
    this.state = "T";
    this.isCopying = false;
    this.#borrowed = this.#connection.borrow((bytes) => this.#take(bytes));
    this.#borrowed.stream.once("close", this.#lost);
  }

  end(): void {
    this.#flush();
    this.#borrowed?.stream.off("close", this.#lost);
    this.#borrowed?.stream.resume();
    this.#borrowed?.giveBack(this.#reader.rest);
    this.#borrowed = undefined;
    this.#taker = undefined;
    this.#failure = undefined;
    this.#awaited = [];
  }

  /** Sends a message; waits while the server takes no more. */
  async send(bytes: Buffer, awaited?: Awaited): Promise<void> {
    const { stream } = this.#borrowed ?? {};
    if (stream === undefined || this.#failure !== undefined) throw this.#failure ?? GONE;
    if (awaited !== undefined) {
      if (this.#awaited.length === 0) this.#idle = Promise.withResolvers();
      this.#awaited.push(awaited);
    }
    if (this.#gather(bytes) || !stream.writableNeedDrain) return;
    const drained = new Promise<void>((done) => stream.once("drain", done));
    await (this.isIdle ? drained : Promise.race([drained, this.#idle.promise]));
  }

  /** Returns false if it was written. */
  #gather(bytes: Buffer): boolean {
    if (this.#unsent.length === 0) process.nextTick(() => this.#flush());
    this.#unsent.push(bytes);
    if (bytes.length <= SMALL && this.#unsent.length < MOST_UNSENT) return true;
    this.#flush();
    return false;
  }

  #flush(): void {
    const [first = NOTHING, ...rest] = this.#unsent.splice(0);
    const bytes = rest.length === 0 ? first : Buffer.concat([first, ...rest]);
    if (bytes.length > 0) this.#borrowed?.stream.write(bytes);
  }

  /** Adds to what the client gets. */
  show(bytes: Buffer): void {
    this.#out.push(bytes);
  }

  /**
   * Sends a text of a client that has to be one statement. The server parses it first, and refuses a text
   * with more than one: in such a text a COMMIT could be hidden from us, which would end the transaction of
   * the plan. After a refusal the server skips the query, up to a Sync. Both are one write, so that the Sync
   * can't come before the query.
   */
  async query(text: string, awaited: Awaited): Promise<void> {
    const on = (type: string, bytes: Buffer) => {
      if (type !== "E") return;
      awaited.on?.(type, bytes);
      this.#gather(SYNC);
    };
    await this.send(NOTHING, { ends: "1", hides: "1", on });
    await this.send(Buffer.concat([message("P", "", text, NO_TYPES), message("Q", text)]), awaited);
  }

  /** Waits until everything is answered. */
  async answered(): Promise<void> {
    if (!this.isIdle) await this.#idle.promise;
  }

  /** Runs statements of our own; the rows of the last one as text. */
  async control(sql: string): Promise<(string | null)[][]> {
    this.controls += 1;
    const rows: (string | null)[][] = [];
    let refused: Buffer | undefined;
    const on = (type: string, bytes: Buffer) => {
      if (type === "T") rows.length = 0;
      if (type === "D") rows.push(rowValues(bytes));
      if (type === "E") refused ??= Buffer.from(bytes);
    };
    await this.send(message("Q", sql), { ends: READY, hidden: true, on });
    await this.answered();
    if (refused !== undefined) throw new ControlError(refused);
    return rows;
  }

  message(type: string, bytes: Buffer): void {
    if (type === READY) this.#skip();
    const [head] = this.#awaited;
    if (head === undefined) return;
    if (type === READY) {
      this.state = String.fromCharCode(bytes[5] ?? 0) as TransactionState;
      this.isCopying = false;
    }
    head.on?.(type, bytes);
    // The proxy says itself when a client is to go on, and in what state.
    const isForClient = isShown(head, type);
    const isLast = type === READY && (head.saysReady !== true || this.state === "I");
    if (isForClient && !isLast) this.#out.push(bytes);
    if (type === "E") {
      this.isCopying = false;
      if (isForClient) this.onError(bytes);
      if (head.ends !== READY) this.#skip();
    }
    if (type === "E" || ASYNCHRONOUS.includes(type)) return;
    if (type === "G") {
      this.isCopying = true;
      this.onCopying();
    }
    if (type === "C") this.isCopying = false;
    if (head.ends.includes(type)) this.#shift();
  }

  /** Does not wait for an answer any more that will not come. */
  giveUp(awaited: Awaited): void {
    this.#awaited = this.#awaited.filter((each) => each !== awaited);
  }

  /** A row of a result, or data of COPY. Rows of our own statements are small. */
  piece(type: string, bytes: Buffer, isLast: boolean): void {
    const [head] = this.#awaited;
    if (head === undefined) return;
    head.digest?.()?.update(bytes);
    if (isShown(head, type)) this.#out.push(bytes);
    else if (head.on !== undefined) {
      this.#row.push(bytes);
      if (isLast) head.on(type, Buffer.concat(this.#row.splice(0)));
    }
  }

  /** After an error the server skips what comes before the next Sync. */
  #skip(): void {
    while (this.#awaited.length > 0 && this.#awaited[0]?.ends !== READY) this.#awaited.shift();
    if (this.isIdle) this.#idle.resolve();
  }

  #shift(): void {
    this.#awaited.shift();
    if (this.isIdle) this.#idle.resolve();
  }

  #take(bytes: Buffer): void {
    try {
      this.#reader.push(bytes, this);
    } catch (thrown) {
      this.#borrowed?.stream.destroy(thrown as Error);
      return;
    }
    if (this.#out.length === 0) return;
    const out = this.#out.length === 1 ? (this.#out[0] as Buffer) : Buffer.concat(this.#out);
    this.#out = [];
    const { stream } = this.#borrowed ?? {};
    if (this.#taker === undefined || this.#taker.answer(out)) return;
    stream?.pause();
    void this.#taker.drained().then(() => stream?.resume());
  }

  readonly #lost = (): void => {
    this.#failure = GONE;
    this.isCopying = false;
    this.#awaited = [];
    this.#idle.reject(GONE);
    // Nobody may be waiting just now.
    this.#idle.promise.catch(() => undefined);
  };
}

function isShown({ hidden, hides }: Awaited, type: string): boolean {
  return hidden !== true && hides?.includes(type) !== true;
}

const GONE = new Error("The connection to the server is lost.");
