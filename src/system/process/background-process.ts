import type { ChildProcess } from "node:child_process";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { closePipes, feed, type Program, startProcess } from "./start-process.ts";

const READY = "ready\n";
/** A program that takes longer to come up is ended, and reported like one that ended by itself. */
const READY_WITHIN_MS = 60_000;

/**
 * Starts a program that outlives this one, and waits until it writes `ready` to its standard output. Returns
 * its error output if it ends before. No other process can see its input.
 */
export async function startBackground(
  point: Failpoint,
  program: Program,
  input: string,
): Promise<string | undefined> {
  passFailpoint(point);
  const child = startProcess(program, ["pipe", "pipe", "pipe"]);
  feed(child, input);
  const slow = setTimeout(() => child.kill("SIGKILL"), READY_WITHIN_MS);
  try {
    return await reportOf(child);
  } finally {
    clearTimeout(slow);
    closePipes(child);
    child.unref();
  }
}

function reportOf(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name]?.setEncoding("utf8").on("data", (text: string) => {
        said[name] += text;
        if (said.stdout.endsWith(READY)) resolve(undefined);
      });
    child.once("error", reject);
    child.once("close", () => resolve(said.stderr.trim() || "it ended at once"));
  });
}
