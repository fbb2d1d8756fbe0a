const STANDARD_INPUT = 0;

/** Whether somebody sits at standard input. */
export function inputIsTerminal(): boolean {
  // Loaded only by who asks: it takes longer than most commands do.
  return process.getBuiltinModule("node:tty").isatty(STANDARD_INPUT);
}
