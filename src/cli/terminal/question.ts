import { createInterface } from "node:readline";
import { InterruptedError } from "../../core/errors/errors.ts";

/**
 * Asks for one line at the terminal. Undefined if the user ends the input: Ctrl-C, Ctrl-D. Fails as
 * interrupted when the signal is aborted.
 */
export async function ask(
  { interrupted }: { readonly interrupted?: AbortSignal | undefined },
  question: string,
): Promise<string | undefined> {
  // The previous question released the terminal, and nothing else keeps the process alive.
  process.stdin.ref();
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answered = Promise.withResolvers<string | undefined>();
  const leave = (): void => answered.reject(new InterruptedError("Interrupted before there was an answer."));
  interrupted?.addEventListener("abort", leave);
  try {
    terminal.once("SIGINT", () => answered.resolve(undefined));
    terminal.once("close", () => answered.resolve(undefined));
    if (interrupted?.aborted === true) leave();
    else terminal.question(question, answered.resolve);
    const answer = await answered.promise;
    // What comes next begins a line of its own.
    if (answer === undefined) process.stderr.write("\n");
    return answer;
  } finally {
    interrupted?.removeEventListener("abort", leave);
    terminal.close();
    process.stdin.unref();
  }
}
