import { isUtf8 } from "node:buffer";

/**
 * The messages of PostgreSQL's protocol, version 3: a type of one byte, a length of four that counts itself,
 * and the content. Pure: no sockets.
 */

/** A message of more bytes is refused, unless its content is passed on piece by piece. */
const LONGEST = 64 << 20;

export interface MessageSink {
  /** A whole message, with its head. */
  message(type: string, bytes: Buffer): void;
  /** A piece of a message that is passed on as it comes; the first one begins with its head. */
  piece(type: string, bytes: Buffer, isLast: boolean): void;
}

/** Cuts a stream of bytes into messages. Those of the types in `streamed` are not collected. */
export class MessageReader {
  readonly #streamed: string;
  #kept: Buffer[] = [];
  #length = 0;
  /** How many bytes the message at hand needs before anything can be done with it. */
  #needed = HEAD;
  /** The message that is passed on in pieces, and how many bytes of it are to come. */
  #open: { readonly type: string; left: number } | undefined;

  constructor(streamed: string) {
    this.#streamed = streamed;
  }

  /** The bytes of a message that is not complete. */
  get rest(): Buffer {
    return Buffer.concat(this.#kept);
  }

  push(chunk: Buffer, sink: MessageSink): void {
    this.#kept.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#needed) return;
    let bytes = this.#kept.length === 1 ? chunk : Buffer.concat(this.#kept);
    this.#needed = 1;
    while (bytes.length >= this.#needed) {
      const taken = this.#open === undefined ? this.#begin(bytes, sink) : this.#goOn(this.#open, bytes, sink);
      bytes = bytes.subarray(taken);
    }
    this.#kept = bytes.length === 0 ? [] : [bytes];
    this.#length = bytes.length;
  }

  #goOn(open: { readonly type: string; left: number }, bytes: Buffer, sink: MessageSink): number {
    const piece = bytes.subarray(0, open.left);
    open.left -= piece.length;
    if (open.left === 0) this.#open = undefined;
    sink.piece(open.type, piece, open.left === 0);
    return piece.length;
  }

  #begin(bytes: Buffer, sink: MessageSink): number {
    this.#needed = HEAD;
    if (bytes.length < HEAD) return 0;
    const type = String.fromCharCode(bytes[0] ?? 0);
    const length = bytes.readUInt32BE(1) + 1;
    if (length < HEAD) throw new ProtocolViolation("a message has an impossible length");
    if (this.#streamed.includes(type)) {
      this.#open = { type, left: length };
      this.#needed = 1;
      return this.#goOn(this.#open, bytes, sink);
    }
    if (length > LONGEST) throw new ProtocolViolation(`a message is longer than ${LONGEST >> 20} MiB`);
    this.#needed = length;
    if (bytes.length < length) return 0;
    this.#needed = 1;
    sink.message(type, bytes.subarray(0, length));
    return length;
  }
}

/** The other side does not speak the protocol, or says more than fits. */
export class ProtocolViolation extends Error {}

/** A text of a client is in another encoding: taken for UTF-8, it would become another text. */
export class NotUtf8 extends ProtocolViolation {
  constructor() {
    super("the text of a statement is not UTF-8: in a plan, clients need client_encoding UTF8");
  }
}

const HEAD = 5;

export function message(type: string, ...parts: readonly (Buffer | string)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => (typeof part === "string" ? text(part) : part)));
  const head = Buffer.alloc(HEAD);
  head.write(type, "latin1");
  head.writeUInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

/** A text as the protocol has it, with a zero at its end. */
function text(value: string): Buffer {
  return Buffer.from(`${value}\0`);
}

/** Reads texts and numbers from the content of a message. */
export class ContentReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at = HEAD) {
    this.#bytes = bytes;
    this.#at = at;
  }

  text(): string {
    const bytes = this.#untilZero();
    if (!isUtf8(bytes)) throw new NotUtf8();
    return bytes.toString();
  }

  /** A text of the server's, which may be in the encoding of a client. */
  anyText(): string {
    return this.#untilZero().toString();
  }

  #untilZero(): Buffer {
    const end = this.#bytes.indexOf(0, this.#at);
    if (end < 0) throw new ProtocolViolation("a text does not end");
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end + 1;
    return bytes;
  }

  byte(): string {
    this.#at += 1;
    return String.fromCharCode(this.#bytes[this.#at - 1] ?? 0);
  }

  short(): number {
    this.#at += 2;
    return this.#bytes.readUInt16BE(this.#at - 2);
  }

  /** Bytes with their length before them; undefined for NULL. */
  value(): Buffer | undefined {
    const length = this.#bytes.readInt32BE(this.#at);
    this.#at += 4;
    if (length < 0) return undefined;
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  get rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }
}

/** Asks a client for its password, as it is. */
export const ASK_PASSWORD = message("R", Buffer.from([0, 0, 0, 3]));
export const SYNC = message("S");
export const FLUSH = message("H");
export const PARSED = message("1");
export const BOUND = message("2");
export const CLOSED = message("3");
export const NO_DATA = message("n");
export const NO_PARAMETERS = message("t", Buffer.alloc(2));
export const EMPTY_QUERY = message("I");

/** The state of a transaction: none, open, or failed. */
export type TransactionState = "I" | "T" | "E";

export function readyForQuery(state: TransactionState): Buffer {
  return message("Z", Buffer.from(state));
}

export function commandComplete(tag: string): Buffer {
  return message("C", tag);
}

/** Tells a client which version of the protocol is spoken here, and which of its options are not known. */
export function versionSpoken(version: number, unknown: readonly string[]): Buffer {
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32BE(version, 0);
  numbers.writeUInt32BE(unknown.length, 4);
  return message("v", numbers, ...unknown);
}

/** An error as a client gets it. */
export interface ClientError {
  readonly state: string;
  readonly message: string;
  readonly hint?: string;
}

export function errorResponse(
  { state, message: said, hint }: ClientError,
  severity: "ERROR" | "FATAL" = "ERROR",
): Buffer {
  const fields = [`S${severity}`, `V${severity}`, `C${state}`, `M${said}`, ...(hint ? [`H${hint}`] : [])];
  return message("E", ...fields, Buffer.alloc(1));
}

/** The fields of an ErrorResponse, by their letter. */
export function errorFields(bytes: Buffer): { readonly [letter: string]: string } {
  const reader = new ContentReader(bytes);
  const fields: { [letter: string]: string } = {};
  for (let letter = reader.byte(); letter !== "\0"; letter = reader.byte()) fields[letter] = reader.anyText();
  return fields;
}

/** The values of a DataRow, as text. */
export function rowValues(bytes: Buffer): (string | null)[] {
  const reader = new ContentReader(bytes);
  return Array.from({ length: reader.short() }, () => reader.value()?.toString() ?? null);
}
