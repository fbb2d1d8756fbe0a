import { constants } from "node:os";
import { Attachment, type DetachedPlace } from "../../run/detached/attachment.ts";
import type { DetachedEnd } from "../../run/detached/detached-protocol.ts";
import type { WindowSize } from "../../system/terminal/program-streams.ts";
import { inputIsTerminal, StandardStream } from "../../system/terminal/standard-stream.ts";
import { TerminalModes } from "../../system/terminal/terminal-modes.ts";
import { UserTerminal } from "../../system/terminal/user-terminal.ts";
import { type DetachKey, typedBefore } from "../commands/run/detach-key.ts";
import { readerIsGone } from "./output.ts";
import { withStyles } from "./printable.ts";

/** How to show the terminal of a detached command. */
export interface AttachedHow {
  /** The stream of ours that shows it. */
  readonly output: 1 | 2;
  readonly detachKey: DetachKey;
  /** A signal made us leave; called with the exit code that says so. */
  readonly onSignal: (exitCode: number) => void;
}

const ENDING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * The terminal of a detached command at that of the user. If input and output are a terminal, every key goes
 * to the command but the one that leaves it; else the output is shown and nothing is typed.
 */
export class AttachedTerminal {
  readonly #screen: StandardStream;
  readonly #user: UserTerminal | undefined;
  readonly #modes = new TerminalModes();
  #attachment: Attachment | undefined;

  private constructor(output: 1 | 2) {
    this.#screen = new StandardStream(output);
    this.#user = this.#screen.isTerminal && inputIsTerminal() ? UserTerminal.open([0]) : undefined;
  }

  /** Shows it until it ends, or the user leaves. Undefined if it has ended before. */
  static async show(
    place: DetachedPlace,
    { output, ...how }: AttachedHow,
  ): Promise<DetachedEnd | "left" | "lost" | undefined> {
    const terminal = new AttachedTerminal(output);
    const size = terminal.#size();
    using attachment = await Attachment.open(place, size === undefined ? {} : { size }, {
      output: (bytes) => terminal.#show(bytes),
      notice: (line) => terminal.#say(line),
    });
    if (attachment === undefined) return undefined;
    using _ = terminal.#connect(attachment, how);
    const end = await attachment.ended;
    // What is said next begins on a line of its own.
    if (terminal.#user !== undefined && (end === "left" || end === "lost"))
      terminal.#screen.write(Buffer.from("\r\n"));
    return end;
  }

  #size(): WindowSize | undefined {
    if (this.#user === undefined) return undefined;
    const { rows, columns } = this.#user.shape;
    return rows > 0 && columns > 0 ? { rows, columns } : undefined;
  }

  #show(bytes: Buffer): void {
    this.#modes.add(bytes);
    // The command goes on when nobody reads it any more, as after `head`.
    if (!wroteTo(this.#screen, bytes)) this.#attachment?.[Symbol.dispose]();
  }

  #say(line: string): void {
    const end = this.#user === undefined ? "\n" : "\r\n";
    wroteTo(new StandardStream(2), Buffer.from(`${withStyles(line)}${end}`));
  }

  /** Until it is disposed of, the user's terminal is that of the command. */
  #connect(attachment: Attachment, { detachKey, onSignal }: Omit<AttachedHow, "output">): Disposable {
    this.#attachment = attachment;
    const connected = new DisposableStack();
    const leave = (signal: NodeJS.Signals): void => {
      onSignal(128 + constants.signals[signal]);
      attachment[Symbol.dispose]();
    };
    for (const signal of ENDING) {
      process.on(signal, leave);
      connected.defer(() => process.off(signal, leave));
    }
    const user = this.#user;
    if (user === undefined) return connected;
    const resize = (): void => attachment.resize(this.#size() ?? { rows: 24, columns: 80 });
    const goOn = (): void => user.makeRaw();
    const keyboard = user.listen(
      (keys) => {
        const before = typedBefore(keys, detachKey);
        attachment.type(before ?? keys);
        if (before !== undefined) attachment[Symbol.dispose]();
      },
      () => attachment[Symbol.dispose](),
    );
    user.makeRaw();
    process.on("SIGWINCH", resize);
    process.on("SIGCONT", goOn);
    connected.defer(() => {
      process.off("SIGWINCH", resize);
      process.off("SIGCONT", goOn);
      this.#screen.write(Buffer.from(`${this.#modes.leave()}\x1b[0m`));
      keyboard[Symbol.dispose]();
      // The terminal may have answered what the program asked it, and the shell must not take that as typed.
      user.restore("dropped");
      user.close();
    });
    return connected;
  }
}

/** Writes to a stream. False if its reader has closed it. */
function wroteTo(stream: StandardStream, bytes: Buffer): boolean {
  try {
    stream.write(bytes);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof Error && readerIsGone(thrown))) throw thrown;
    return false;
  }
}
