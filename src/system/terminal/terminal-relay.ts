import type { ReadStream } from "node:tty";
import { failedWith } from "../calls/errno.ts";
import type { BoundedOutput } from "./bounded-output.ts";
import type { TerminalLink } from "./command-streams.ts";
import { StandardStream } from "./standard-stream.ts";
import { resizeTerminal, type UserTerminal } from "./user-terminal.ts";

/** How often a background process checks whether it is in the foreground again: no signal says so. */
const LOOK_AGAIN_MS = 300;

/** What becomes of the output of a command's terminal. */
interface RelayedOutput {
  /** The stream of ours that shows it. Default: the terminal itself. */
  readonly screen: number | undefined;
  readonly kept: BoundedOutput | undefined;
}

/**
 * Connects the user's terminal with the command's own. Keys are passed on unchanged, so the command's
 * terminal interprets Ctrl-C and the like. The size follows. When the command is stopped, we stop too, and
 * the user's shell gets its terminal back.
 */
export class TerminalRelay implements TerminalLink {
  readonly #terminal: UserTerminal;
  readonly #command: ReadStream;
  readonly #commandFd: number;
  readonly #ended: Promise<void>;
  #keyboard: Disposable | undefined;
  #look: NodeJS.Timeout | undefined;
  readonly #resize = (): void => resizeTerminal(this.#commandFd, this.#terminal.size());

  readonly #continue = (): void => {
    // Another program may have changed the settings while we were stopped.
    if (this.#keyboard !== undefined && this.#terminal.isOurs()) this.#terminal.makeRaw();
  };

  constructor(terminal: UserTerminal, commandFd: number, { screen = terminal.fd, kept }: RelayedOutput) {
    const { ReadStream } = process.getBuiltinModule("node:tty");
    this.#terminal = terminal;
    this.#commandFd = commandFd;
    this.#command = new ReadStream(commandFd);
    this.#ended = this.#show(new StandardStream(screen), kept);
    process.on("SIGWINCH", this.#resize);
    process.on("SIGCONT", this.#continue);
  }

  #show(output: StandardStream, kept: BoundedOutput | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#command.on("data", (bytes: Buffer) => {
        kept?.add(bytes);
        try {
          output.write(bytes);
        } catch (thrown) {
          // The terminal is gone, so nothing can be shown. A signal tells the command, as at any terminal.
          if (!failedWith(thrown, "EIO", "EPIPE", "ENXIO")) throw thrown;
        }
      });
      // A terminal ends with an error: no process has its other side open any more.
      this.#command.once("error", (thrown) => (failedWith(thrown, "EIO") ? resolve() : reject(thrown)));
      this.#command.once("close", () => resolve());
    });
  }

  /** Takes the keyboard as soon as this process is in the foreground. */
  takeKeyboard(): void {
    if (!this.#terminal.isOurs()) {
      this.#look = setTimeout(() => this.takeKeyboard(), LOOK_AGAIN_MS);
      return;
    }
    this.#terminal.makeRaw();
    this.#keyboard = this.#terminal.listen(
      (keys) => this.#command.write(keys),
      () => this.#disconnect(),
    );
    this.#resize();
  }

  #disconnect(): void {
    clearTimeout(this.#look);
    if (this.#keyboard === undefined) return;
    this.#keyboard[Symbol.dispose]();
    this.#keyboard = undefined;
    this.#terminal.restore();
  }

  /**
   * Call this when the command was stopped at its terminal: stops this process too, until the user's shell
   * continues it.
   */
  async stop(): Promise<void> {
    await drained();
    this.#disconnect();
    process.kill(0, "SIGTSTP");
    this.takeKeyboard();
  }

  /** Resolves when all output of the command is shown and the terminal has its old settings. */
  async end(): Promise<void> {
    await this.#ended;
    process.off("SIGWINCH", this.#resize);
    process.off("SIGCONT", this.#continue);
    this.#disconnect();
    this.#command.destroy();
    this.#terminal.close();
  }
}

/** Lets output that has already arrived be shown first. */
function drained(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
