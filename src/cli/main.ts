import { type CommandEnd, runCommandLine } from "./command-line.ts";
import { EXIT } from "./exit-codes.ts";

/**
 * How long the process waits, once its output is written, for handles that a custom strategy may have left
 * open.
 */
const GRACE_MS = 1_000;

/** Resolves when the command has ended. */
export const finished = run();

async function run(): Promise<CommandEnd> {
  // The exit code if Node ends the process early because it waits for something that never comes.
  process.exitCode = EXIT.failed;
  const end = await runCommandLine();
  process.exitCode = end.exitCode;
  setTimeout(endAtLast, GRACE_MS).unref();
  return end;
}

function endAtLast(): void {
  if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit();
  setTimeout(endAtLast, GRACE_MS).unref();
}
