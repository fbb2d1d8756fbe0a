import { type CommandEnd, runCommandLine } from "./command-line.ts";
import { EXIT } from "./exit-codes.ts";

/**
 * A strategy of the user's own may leave something running that keeps the process alive; what was printed is
 * let out first.
 */
const GRACE_MS = 1_000;

/** Resolves when the command has ended. */
export const finished = run();

async function run(): Promise<CommandEnd> {
  // Node ends a process that waits for something that will never come, and that is no success.
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
