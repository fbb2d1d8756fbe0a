import { constants } from "node:fs";
import { calls, check, lastErrno } from "../calls/native.ts";
import { O_CLOEXEC } from "../calls/open-flags.ts";
import { launchCalls } from "./calls.ts";

/** The window size of the command's own terminal, and the settings of the user's one. */
export interface TerminalShape {
  readonly rows: number;
  readonly columns: number;
  /** struct termios, as base64. Default: what the kernel gives a new terminal. */
  readonly settings?: string;
}

const TCSETS = 0x5402;
const TIOCSWINSZ = 0x5414;
const TIOCSCTTY = 0x540e;
const TIOCSPTLCK = 0x40045431;
const TIOCGPTPEER = 0x5441;
const EPERM = 1;
const LABEL = "the terminal";

/**
 * Opens a new terminal and makes it the controlling terminal of this process. `open` opens the device that
 * makes terminals. Returns `outer`, which the user's terminal is connected to, and `inner`, which the command
 * gets.
 */
export function openOwnTerminal(
  open: (flags: number) => number,
  shape: TerminalShape,
): { readonly outer: number; readonly inner: number } {
  const flags = constants.O_RDWR | constants.O_NOCTTY | O_CLOEXEC;
  const outer = open(flags);
  check(calls.ioctlBuffer(outer, TIOCSPTLCK, Buffer.alloc(4)), "ioctl", LABEL);
  const inner = check(calls.ioctlNumber(outer, TIOCGPTPEER, flags), "ioctl", LABEL);
  if (shape.settings !== undefined)
    check(calls.ioctlBuffer(inner, TCSETS, Buffer.from(shape.settings, "base64")), "ioctl", LABEL);
  const size = Buffer.alloc(8);
  size.writeUInt16LE(shape.rows, 0);
  size.writeUInt16LE(shape.columns, 2);
  check(calls.ioctlBuffer(outer, TIOCSWINSZ, size), "ioctl", LABEL);
  check(calls.ioctlNumber(inner, TIOCSCTTY, 0), "ioctl", LABEL);
  return { outer, inner };
}

/**
 * Starts a new session, so that no signal to the command's group reaches the ancestors of the launcher. The
 * kernel refuses that to a launcher that is a copy of Drydock: it leads one already.
 */
export function ownSession(): void {
  const session = launchCalls.setsid();
  if (session >= 0 || lastErrno() !== EPERM) check(session, "setsid", "this process");
}
