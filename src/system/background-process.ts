import type { ChildProcess } from "node:child_process";
import { childProcesses } from "./child-processes.ts";
import { failedWith } from "./errno.ts";
import { type Failpoint, passFailpoint } from "./failpoints.ts";
import { withoutInherited } from "./inherited-descriptors.ts";

/** A program that goes on when this one has ended. */
export interface BackgroundProgram {
  readonly file: string;
  readonly args: readonly string[];
  readonly environment: { readonly [name: string]: string };
  /** What it finds at its standard input; nobody else can see it. */
  readonly input: string;
}

const READY = "ready\n";
/** One that takes longer to come up is ended, and is reported like one that ended by itself. */
const READY_WITHIN_MS = 60_000;

/**
 * Starts a program in a session of its own and waits until it says `ready` on its standard output. Returns what it said instead, if it ended
 * before.
 */
export async function startBackground(point: Failpoint, program: BackgroundProgram): Promise<string | undefined> {
  passFailpoint(point);
  const child = withoutInherited(() =>
    childProcesses().spawn(program.file, [...program.args], {
      cwd: "/",
      env: program.environment,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    }),
  );
  child.stdin?.on("error", (thrown) => {
    // One that died at once is known by what it said.
    if (!failedWith(thrown, "EPIPE", "ECONNRESET")) throw thrown;
  });
  child.stdin?.end(program.input);
  const slow = setTimeout(() => child.kill("SIGKILL"), READY_WITHIN_MS);
  try {
    return await reportOf(child);
  } finally {
    clearTimeout(slow);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
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
