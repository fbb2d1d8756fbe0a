import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { messageOf } from "../../core/errors/errors.ts";
import { endingWithUs, type Program, signalGroup, startProcess } from "./start-process.ts";

/** How long a program may take to end after its input has ended. */
const GRACE_MS = 1500;
const LONGEST_LINE = 256 * 1024 ** 2;
const MOST_SAID = 16 * 1024;
const LINE_END = 10;

/** Receives what a program writes. */
export interface LineListener {
  line(text: string): void;
  /** The program has ended, or could not be started. Called once; `why` goes on from its name. */
  ended(why: string): void;
}

/**
 * A program that is spoken to by lines, on its standard input and output. The kernel kills it when this
 * process ends.
 */
export class LineProcess {
  readonly #child: ChildProcess;
  readonly #listener: LineListener;
  readonly #pieces: Buffer[] = [];
  #length = 0;
  #said = "";
  #hasEnded = false;

  constructor(program: Program, listener: LineListener) {
    this.#listener = listener;
    this.#child = startProcess(endingWithUs(program, "KILL"), ["pipe", "pipe", "pipe"]);
    const { stdin, stdout, stderr } = this.#child;
    // A program that has ended can't be written to; that it has ended is reported.
    stdin?.on("error", () => undefined);
    stdout?.on("data", (bytes: Buffer) => this.#take(bytes));
    stderr?.on("data", (bytes: Buffer) => {
      this.#said = (this.#said + bytes.toString()).slice(-MOST_SAID);
    });
    this.#child.once("error", (thrown) => this.#end(`could not be started: ${messageOf(thrown)}`));
    this.#child.once("close", (code, signal) => this.#end(this.#ending(code, signal)));
  }

  /** Whether this process stays alive for it. */
  set isAwaited(isAwaited: boolean) {
    const change = isAwaited ? "ref" : "unref";
    const { stdin, stdout, stderr } = this.#child;
    // Pipes of a child are sockets, which Node's types do not say.
    for (const part of [this.#child, stdin, stdout, stderr]) (part as Socket | null)?.[change]();
  }

  send(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Ends its input, by which it learns that it is not needed any more. */
  end(): void {
    this.#child.stdin?.end();
    setTimeout(() => this.#kill(), GRACE_MS).unref();
  }

  /** Ends it by force; `why` is what its listener is told. */
  stop(why: string): void {
    this.#end(why);
    this.#kill();
  }

  #kill(): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null) signalGroup(this.#child, "SIGKILL");
  }

  #take(bytes: Buffer): void {
    let start = 0;
    for (let end = bytes.indexOf(LINE_END); end >= 0; end = bytes.indexOf(LINE_END, start)) {
      this.#pieces.push(bytes.subarray(start, end));
      start = end + 1;
      const line = Buffer.concat(this.#pieces.splice(0)).toString();
      this.#length = 0;
      if (!this.#hasEnded) this.#listener.line(line);
    }
    this.#length += bytes.length - start;
    if (this.#length > LONGEST_LINE) this.stop(`wrote a line of more than ${LONGEST_LINE} bytes`);
    else this.#pieces.push(bytes.subarray(start));
  }

  #end(why: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#listener.ended(why);
  }

  #ending(code: number | null, signal: string | null): string {
    const said = this.#said.trim().split("\n").slice(-3).join("; ");
    const how = code === null ? `was ended by ${signal}` : `ended with exit code ${code}`;
    return said === "" ? how : `${how}: ${said}`;
  }
}
