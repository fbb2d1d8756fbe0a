import { createInterface } from "node:readline";

/** Asks for one line at the terminal. Undefined if the user ends the input: Ctrl-C, Ctrl-D. */
export async function ask(question: string): Promise<string | undefined> {
  // The previous question released the terminal, and nothing else keeps the process alive.
  process.stdin.ref();
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await new Promise((resolve) => {
      terminal.once("SIGINT", () => resolve(undefined));
      terminal.once("close", () => resolve(undefined));
      terminal.question(question, resolve);
    });
  } finally {
    terminal.close();
    process.stdin.unref();
  }
}
