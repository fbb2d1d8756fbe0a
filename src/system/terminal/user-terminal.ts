import { closeSync, constants, openSync } from "node:fs";
import type { ReadStream } from "node:tty";
import { unlessFailed } from "../calls/errno.ts";
import { calls, check, lazyCalls } from "../calls/native.ts";
import type { TerminalShape } from "../launch/own-terminal.ts";

const TCGETS = 0x5401;
const TCSETSW = 0x5403;
const TCSETSF = 0x5404;
const TIOCGPGRP = 0x540f;
const TIOCGWINSZ = 0x5413;
const TIOCSWINSZ = 0x5414;
/** struct termios: four words of flags, a byte, then the control characters. */
const SETTINGS_SIZE = 36;
const INPUT = 0;
const OUTPUT = 4;
const CONTROL = 8;
const LOCAL = 12;
const CHARACTERS = 17;
const VTIME = CHARACTERS + 5;
const VMIN = CHARACTERS + 6;

/** The user's terminal. */
export class UserTerminal {
  readonly fd: number;
  readonly #settings: Buffer;

  private constructor(fd: number) {
    this.fd = fd;
    this.#settings = settingsOf(fd);
  }

  /** The controlling terminal of this process; if it has none, the terminal at one of these descriptors. */
  static open(streams: readonly number[]): UserTerminal {
    return new UserTerminal(ownTerminal() ?? duplicate(streams[0] ?? 0));
  }

  get shape(): TerminalShape {
    const size = this.size();
    return {
      rows: size.readUInt16LE(0),
      columns: size.readUInt16LE(2),
      settings: this.#settings.toString("base64"),
    };
  }

  /** struct winsize */
  size(): Buffer {
    const size = Buffer.alloc(8);
    check(calls.ioctlBuffer(this.fd, TIOCGWINSZ, size), "ioctl", "the terminal");
    return size;
  }

  /**
   * Whether this process is in the foreground: a background process may neither read nor change a terminal.
   */
  isOurs(): boolean {
    const group = Buffer.alloc(4);
    if (calls.ioctlBuffer(this.fd, TIOCGPGRP, group) !== 0) return true;
    return group.readInt32LE(0) === ownGroup();
  }

  /** Passes every key and byte on unchanged. */
  makeRaw(): void {
    const raw = Buffer.from(this.#settings);
    raw.writeUInt32LE(raw.readUInt32LE(INPUT) & ~0o2753, INPUT);
    raw.writeUInt32LE((raw.readUInt32LE(OUTPUT) & ~1) >>> 0, OUTPUT);
    raw.writeUInt32LE(((raw.readUInt32LE(CONTROL) & ~0o460) | 0o60) >>> 0, CONTROL);
    raw.writeUInt32LE((raw.readUInt32LE(LOCAL) & ~0o100113) >>> 0, LOCAL);
    raw[VMIN] = 1;
    raw[VTIME] = 0;
    this.#set(raw);
  }

  /** Restores the settings of before. Input that was not read stays for the next reader, or is dropped. */
  restore(unread: "stays" | "dropped" = "stays"): void {
    this.#set(this.#settings, unread === "stays" ? TCSETSW : TCSETSF);
  }

  #set(settings: Buffer, request = TCSETSW): void {
    // A failure is fine: the terminal is gone, or no longer ours.
    calls.ioctlBuffer(this.fd, request, settings);
  }

  /**
   * Hears what the user types, as it is typed, until the result is disposed of. It has a descriptor of its
   * own: Node opens a terminal again, but where it may not, as after 'su', it closes the descriptor it gets.
   */
  listen(hear: (keys: Buffer) => void, lost: () => void): Disposable {
    const { ReadStream } = process.getBuiltinModule("node:tty");
    const fd = duplicate(this.fd);
    const keyboard: ReadStream = new ReadStream(fd);
    keyboard.on("data", hear);
    keyboard.on("error", lost);
    return {
      [Symbol.dispose]: () => {
        keyboard.destroy();
        unlessFailed(["EBADF"], () => closeSync(fd));
      },
    };
  }

  close(): void {
    closeSync(this.fd);
  }
}

/** struct winsize */
export function windowSize({ rows, columns }: Pick<TerminalShape, "rows" | "columns">): Buffer {
  const size = Buffer.alloc(8);
  size.writeUInt16LE(rows, 0);
  size.writeUInt16LE(columns, 2);
  return size;
}

/** Sets the window size of a terminal. */
export function resizeTerminal(fd: number, size: Buffer): void {
  // A failure is fine: a command that has just ended has no terminal any more.
  calls.ioctlBuffer(fd, TIOCSWINSZ, size);
}

const groups = lazyCalls({ getpgrp: "int getpgrp()" });

function ownGroup(): number {
  return groups.getpgrp();
}

function settingsOf(fd: number): Buffer {
  const settings = Buffer.alloc(SETTINGS_SIZE);
  check(calls.ioctlBuffer(fd, TCGETS, settings), "ioctl", "the terminal");
  return settings;
}

/** Duplicates instead of opening again: a terminal that was passed to us may belong to another user. */
function duplicate(fd: number): number {
  const F_DUPFD_CLOEXEC = 1030;
  return check(calls.fcntl(fd, F_DUPFD_CLOEXEC, 3), "dup", "the terminal");
}

function ownTerminal(): number | undefined {
  return unlessFailed(["ENXIO", "ENOENT", "EACCES", "EIO"], () =>
    openSync("/dev/tty", constants.O_RDWR | constants.O_NOCTTY),
  );
}
