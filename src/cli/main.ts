import { leaveAtOnce } from "../system/calls/native.ts";
import { type CommandEnd, runCommandLine } from "./command-line.ts";
import { EXIT } from "./exit-codes.ts";

/**
 * How long the process waits, once its output is written, for handles that a custom strategy may have left
 * open.
 */
const GRACE_MS = 1_000;

/** Resolves when the command has ended. */
export const finished = run();

/** Ends the process, which has nothing left to wait for. */
export function leave(): never {
  if (!isNodeNeeded()) leaveAtOnce(Number(process.exitCode));
  process.exit();
}

/**
 * Whether an exit has to go through Node: only Node takes back the modes that its streams gave to the
 * standard descriptors, and writes what a coverage or a profile has counted.
 */
function isNodeNeeded(): boolean {
  const { moduleLoadList } = process as typeof process & { readonly moduleLoadList: readonly string[] };
  const hasStreams = ["net", "tty"].some((name) => moduleLoadList.includes(`NativeModule ${name}`));
  const isMeasured = process.execArgv.some((flag) => /^--(?:.*-)?prof/.test(flag));
  return (
    hasStreams ||
    isMeasured ||
    process.listenerCount("exit") > 0 ||
    process.env["NODE_V8_COVERAGE"] !== undefined
  );
}

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
