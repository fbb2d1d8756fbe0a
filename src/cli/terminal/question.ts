import { createInterface } from "node:readline";

/** Asks for one line at the terminal. Undefined if the user ends the input: Ctrl-C, Ctrl-D. */
export async function ask(question: string): Promise<string | undefined> {
  // The previous question released the terminal, and nothing else keeps the process alive.
  process.stdin.ref();
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await new Promise<string | undefined>((resolve) => {
      terminal.once("SIGINT", () => resolve(undefined));
      terminal.once("close", () => resolve(undefined));
      terminal.question(question, resolve);
    });
    // What comes next begins a line of its own.
    if (answer === undefined) process.stderr.write("\n");
    return answer;
  } finally {
    terminal.close();
    process.stdin.unref();
  }
}
