import { calls } from "./native.ts";

const STANDARD_INPUT = 0;
const TCFLSH = 0x540b;
const TCIFLUSH = 0;

/** Whether somebody sits at standard input. */
export function inputIsTerminal(): boolean {
  // Loaded only by who asks: it takes longer than most commands do.
  return process.getBuiltinModule("node:tty").isatty(STANDARD_INPUT);
}

/** Whether this process has anything to do with a terminal. */
export function hasTerminal(): boolean {
  const { isatty } = process.getBuiltinModule("node:tty");
  return [0, 1, 2].some((fd) => isatty(fd));
}

/**
 * Drops what was typed and not yet read. A program can put words into the input of its terminal (TIOCSTI), which the user's shell would
 * then obey; what was typed ahead is the price.
 */
export function dropTypedAhead(): void {
  // Where it can't be done there is no terminal any more, and nobody who would read it.
  if (inputIsTerminal()) calls.ioctlNumber(STANDARD_INPUT, TCFLSH, TCIFLUSH);
}
