import type { ReadStream } from "node:tty";
import { failedWith } from "../calls/errno.ts";
import { StandardStream } from "./standard-stream.ts";
import { resizeTerminal, type UserTerminal } from "./user-terminal.ts";

/** How often a process in the background looks whether it is in the foreground again: no signal says so. */
const LOOK_AGAIN_MS = 300;

/**
 * Connects the user's terminal with the one that a command has of its own. What is typed goes there as it is,
 * so the command's terminal does what Ctrl-C and the like mean; the size follows; and when the command is
 * stopped, we stop, and the user's shell has its terminal back.
 */
export class TerminalRelay {
  readonly #terminal: UserTerminal;
  readonly #command: ReadStream;
  readonly #commandFd: number;
  readonly #ended: Promise<void>;
  #keyboard: ReadStream | undefined;
  #look: NodeJS.Timeout | undefined;
  readonly #resize = (): void => resizeTerminal(this.#commandFd, this.#terminal.size());

  readonly #continue = (): void => {
    // Another program may have set the terminal while we were stopped.
    if (this.#keyboard !== undefined && this.#terminal.isOurs()) this.#terminal.makeRaw();
  };

  /** What the command writes is shown at one of our own streams, or else at the terminal itself. */
  constructor(terminal: UserTerminal, commandFd: number, screen = terminal.fd) {
    const { ReadStream } = process.getBuiltinModule("node:tty");
    this.#terminal = terminal;
    this.#commandFd = commandFd;
    this.#command = new ReadStream(commandFd);
    this.#ended = this.#show(new StandardStream(screen));
    process.on("SIGWINCH", this.#resize);
    process.on("SIGCONT", this.#continue);
  }

  #show(output: StandardStream): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#command.on("data", (bytes: Buffer) => {
        try {
          output.write(bytes);
        } catch (thrown) {
          // The terminal is gone, and with it who would look. The command hears of it by a signal, as any
          // other would.
          if (!failedWith(thrown, "EIO", "EPIPE", "ENXIO")) throw thrown;
        }
      });
      // The end of a terminal is an error: nobody has its other side open any more.
      this.#command.once("error", (thrown) => (failedWith(thrown, "EIO") ? resolve() : reject(thrown)));
      this.#command.once("close", () => resolve());
    });
  }

  /** Takes the keyboard, as soon as it is ours to take. */
  connect(): void {
    if (!this.#terminal.isOurs()) {
      this.#look = setTimeout(() => this.connect(), LOOK_AGAIN_MS);
      return;
    }
    this.#terminal.makeRaw();
    const { ReadStream } = process.getBuiltinModule("node:tty");
    this.#keyboard = new ReadStream(this.#terminal.fd);
    this.#keyboard.on("data", (bytes: Buffer) => this.#command.write(bytes));
    this.#keyboard.on("error", () => this.#disconnect());
    this.#resize();
  }

  #disconnect(): void {
    clearTimeout(this.#look);
    if (this.#keyboard === undefined) return;
    this.#keyboard.destroy();
    this.#keyboard = undefined;
    this.#terminal.restore();
  }

  /** The command was stopped at its terminal: so are we, until the user's shell goes on with us. */
  async stop(): Promise<void> {
    await drained();
    this.#disconnect();
    process.kill(0, "SIGTSTP");
    this.connect();
  }

  /** Resolves when everything is shown that the command wrote; the terminal is as it was before. */
  async end(): Promise<void> {
    await this.#ended;
    process.off("SIGWINCH", this.#resize);
    process.off("SIGCONT", this.#continue);
    this.#disconnect();
    this.#command.destroy();
    this.#terminal.close();
  }
}

/** Lets what has arrived be shown first. */
function drained(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
