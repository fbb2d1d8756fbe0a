import { runCommandLine } from "./command-line.ts";

process.exitCode = await runCommandLine();

/** A strategy of the user's own may have left something running that would keep the process alive; what was printed is let out first. */
const GRACE_MS = 1_000;
setTimeout(endAtLast, GRACE_MS).unref();

function endAtLast(): void {
  if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit();
  setTimeout(endAtLast, GRACE_MS).unref();
}
