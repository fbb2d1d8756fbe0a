import type { Socket } from "node:net";
import { type TakingTime, takenInTime } from "../../server/streams/taken-in-time.ts";
import type { AnswerPart } from "./protocol/answer.ts";
import {
  type ClientError,
  eofContent,
  errorContent,
  okContent,
  okFrom,
  type Packet,
  packets,
  plainColumn,
  STATUS,
} from "./protocol/wire.ts";
import type { AnswerTaker } from "./server-session.ts";

/** What a client has to be told in another way than the server tells it. */
export interface ClientView {
  readonly taking: TakingTime;
  /** The flags of the client's own transaction. */
  readonly status: () => number;
  /** Whether it counts the rows that an UPDATE found, and not those that it changed. */
  readonly countsFound: boolean;
  /** Whether the server takes a backslash in a string as just that. */
  readonly noBackslashes: () => boolean;
  /** Whether it gets the definitions of columns as the server sends them. */
  readonly takesColumns: boolean;
}

const OWN = STATUS.inTransaction | STATUS.autocommit | STATUS.inReadOnlyTransaction;
const COUNTS = /(\d+)\D+(\d+)\D+\d+/;

/** The answers to one client, whose packets are numbered from the command on. */
export class Replies implements AnswerTaker {
  readonly #socket: Socket;
  readonly #view: ClientView;
  #sequence = 0;
  #out: Buffer[] = [];
  /** Whether other results follow those of the current statement. */
  hasMore = false;
  /** Whether the current statement is an UPDATE. */
  isUpdate = false;
  /** Gets the parts of an answer beside the client. */
  onPart: (part: AnswerPart, packet: Packet) => void = () => undefined;

  constructor(socket: Socket, view: ClientView) {
    this.#socket = socket;
    this.#view = view;
  }

  /** A command came, in packets up to this number. */
  begin(sequence: number): void {
    this.#sequence = sequence + 1;
    this.hasMore = false;
    this.isUpdate = false;
    this.onPart = () => undefined;
  }

  ok(more: { readonly warnings?: number } = {}): void {
    this.send(okContent({ ...more, status: this.#status(0) }));
  }

  error(error: ClientError): void {
    this.send(errorContent(error));
  }

  end(): void {
    this.send(eofContent(this.#status(0)));
  }

  send(content: Buffer): boolean {
    this.#flush();
    if (this.#socket.destroyed || !this.#socket.writable) return true;
    const bytes = packets(content, this.#sequence);
    this.#sequence += 1 + Math.floor(content.length / 0xff_ff_ff);
    return this.#socket.write(bytes);
  }

  /** A packet of the server's answer. Errors are not passed on: what they mean is to be seen first. */
  take(part: AnswerPart, packet: Packet): boolean {
    this.onPart(part, packet);
    if (part === "error") return true;
    return this.#pass(packet.goesOn ? packet.content : this.#translated(part, packet.content));
  }

  /** One packet, as it came: a content of 16 MiB goes on in the next one. */
  #pass(content: Buffer): boolean {
    if (this.#socket.destroyed || !this.#socket.writable) return true;
    const head = Buffer.alloc(4);
    head.writeUIntLE(content.length, 0, 3);
    head[3] = this.#sequence & 0xff;
    this.#sequence += 1;
    this.#out.push(head, content);
    if (this.#out.length === 2) process.nextTick(() => this.#flush());
    return !this.#socket.writableNeedDrain;
  }

  #flush(): void {
    const out = this.#out;
    this.#out = [];
    if (out.length > 0 && this.#socket.writable) this.#socket.write(Buffer.concat(out));
  }

  async drained(): Promise<void> {
    await takenInTime(this.#socket, this.#view.taking);
  }

  #translated(part: AnswerPart, content: Buffer): Buffer {
    if (part === "column") return this.#view.takesColumns ? content : plainColumn(content);
    if (part === "end") return eofContent(this.#status(content.readUInt16LE(3)), content.readUInt16LE(1));
    if (part !== "ok") return content;
    const ok = okFrom(content);
    const [, , changed] = (!this.#view.countsFound && this.isUpdate && COUNTS.exec(ok.info.toString())) || [];
    const affected = changed === undefined ? ok.affected : BigInt(changed);
    return okContent({ ...ok, affected, status: this.#status(ok.status) });
  }

  #status(status: number): number {
    const own = this.#view.noBackslashes() ? STATUS.noBackslashes : 0;
    const more = this.hasMore && (status & STATUS.moreResults) === 0 ? STATUS.moreResults : 0;
    return (status & ~OWN) | this.#view.status() | own | more;
  }
}
