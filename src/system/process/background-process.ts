import type { ChildProcess } from "node:child_process";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { closePipes, feed, type Program, startProcess } from "./start-process.ts";

const READY = "ready\n";
/** A program that takes longer to come up is ended, and reported like one that ended by itself. */
const READY_WITHIN_MS = 60_000;

/** What a program in the background said until it was ready, or until it ended. */
export interface BackgroundStart {
  readonly isReady: boolean;
  /** Without the line that says so. */
  readonly stdout: string;
  readonly stderr: string;
  /** If it ended by itself. */
  readonly exitCode?: number;
}

/**
 * Starts a program that outlives this one, and waits until it writes `ready` to its standard output. Returns
 * its error output if it ends before. No other process can see its input.
 */
export async function startBackground(
  point: Failpoint,
  program: Program,
  input: string,
): Promise<string | undefined> {
  const signal = AbortSignal.timeout(READY_WITHIN_MS);
  const { isReady, stderr } = await backgroundStart(point, program, input, { signal, ends: "SIGKILL" });
  return isReady ? undefined : stderr.trim() || "it ended at once";
}

/** The same, however long it takes: the signal ends it. Returns everything that it said. */
export async function backgroundStart(
  point: Failpoint,
  program: Program,
  input: string,
  { signal, ends }: { readonly signal: AbortSignal; readonly ends: NodeJS.Signals },
): Promise<BackgroundStart> {
  passFailpoint(point);
  const child = startProcess(program, ["pipe", "pipe", "pipe"]);
  feed(child, input);
  const end = () => void child.kill(ends);
  signal.addEventListener("abort", end);
  try {
    return await reportOf(child);
  } finally {
    signal.removeEventListener("abort", end);
    closePipes(child);
    child.unref();
  }
}

function reportOf(child: ChildProcess): Promise<BackgroundStart> {
  return new Promise((resolve, reject) => {
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name]?.setEncoding("utf8").on("data", (text: string) => {
        said[name] += text;
        if (said.stdout.endsWith(READY))
          resolve({ ...said, isReady: true, stdout: said.stdout.slice(0, -READY.length) });
      });
    child.once("error", reject);
    child.once("close", (code) =>
      resolve({ ...said, isReady: false, ...(code !== null && { exitCode: code }) }),
    );
  });
}
