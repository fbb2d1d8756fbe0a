import type { Socket } from "node:net";
import { StateError } from "../../core/errors/errors.ts";
import type { LastBytes } from "../../system/terminal/last-bytes.ts";
import {
  type Frame,
  FrameReader,
  frame,
  framesOf,
  type OutputPart,
  type OutputPlace,
} from "./detached-protocol.ts";

/** What the kept output of a command is, for those who are attached. */
export interface KeptOutput {
  readonly last: LastBytes;
  /** Puts a terminal into the state that left-out output put the command's into. */
  enter(): string;
}

/**
 * One who is attached, as the process that keeps the command sees it. What is not sent yet is in the kept
 * output, which all clients share: a client that reads slowly costs no memory, and is told what it missed.
 */
export class DetachedClient {
  readonly #socket: Socket;
  readonly #output: KeptOutput;
  /** How much of all output this client has, or has missed. */
  #seen = 0;
  #isShown = false;
  /** It hears where its output begins, and gets nothing else between. */
  #isTold = false;
  #isBehind = false;

  constructor(socket: Socket, output: KeptOutput, on: { frame(frame: Frame): void; gone(): void }) {
    this.#socket = socket;
    this.#output = output;
    const reader = new FrameReader();
    socket.on("data", (bytes: Buffer) => {
      try {
        for (const each of reader.take(bytes)) on.frame(each);
      } catch (thrown) {
        // Whatever it is, it is no client of ours.
        if (!(thrown instanceof StateError || thrown instanceof SyntaxError)) throw thrown;
        socket.destroy();
      }
    });
    // A client that is gone is no failure.
    socket.on("error", () => socket.destroy());
    socket.once("close", on.gone);
  }

  /** It has more to read than it takes. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** From now on it gets all output, beginning with what is kept, or with the part that it asked for. */
  show(notices: readonly string[], part?: OutputPart): void {
    this.#isShown = true;
    this.#isTold = part !== undefined;
    const { total } = this.#output.last;
    if (part !== undefined)
      this.#seen = "from" in part ? Math.min(part.from, total) : Math.max(0, total - part.last);
    for (const line of notices) this.notice(line);
    if (this.#isTold && this.#seen === total) this.#tell(total);
    else this.output();
  }

  /** All that it sent so far has reached the command's terminal. */
  flushed(): void {
    this.#socket.write(frame("flushed", ""));
  }

  notice(line: string): void {
    if (this.#isShown) this.#socket.write(frame("notice", line));
  }

  /** Sends what is new. `added`: the newest of it, which is all of it for a client that keeps up. */
  output(added?: Buffer): void {
    if (!this.#isShown || this.#isBehind) return;
    const { total } = this.#output.last;
    const missing = total - this.#seen;
    this.#seen = total;
    if (added !== undefined && missing === added.length) this.#send(added);
    else if (missing > 0) this.#send(this.#kept(missing));
  }

  #tell(from: number): void {
    const place: OutputPlace = { from, total: this.#output.last.total };
    this.#socket.write(frame("at", place));
  }

  #kept(missing: number): Buffer {
    const kept = this.#output.last.bytes();
    if (this.#isTold) this.#tell(this.#seen - Math.min(missing, kept.length));
    if (missing <= kept.length || this.#isTold) return kept.subarray(Math.max(0, kept.length - missing));
    // A line that is cut would look strange, and a sequence that is cut would be one of its own.
    const line = kept.indexOf("\n") + 1;
    const mark = `${this.#output.enter()}\r\n[… ${missing - kept.length + line} bytes left out …]\r\n`;
    return Buffer.concat([Buffer.from(mark), kept.subarray(line)]);
  }

  #send(bytes: Buffer): void {
    let takesMore = true;
    for (const each of framesOf("output", bytes)) takesMore = this.#socket.write(each);
    if (takesMore) return;
    this.#isBehind = true;
    this.#socket.once("drain", () => {
      this.#isBehind = false;
      this.output();
    });
  }

  /** Reads no more of what it sends, or goes on reading. */
  listen(goesOn: boolean): void {
    if (goesOn) this.#socket.resume();
    else this.#socket.pause();
  }

  /** Says the last word. Resolves when the client has it, or is gone. */
  async end(how: object): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#socket.once("close", () => closed.resolve());
    if (this.#socket.destroyed) return;
    this.#isBehind = false;
    this.output();
    this.#socket.end(frame("end", how));
    this.#socket.resume();
    await closed.promise;
  }

  close(): void {
    this.#socket.destroy();
  }
}
