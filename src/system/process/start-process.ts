import type * as ChildProcesses from "node:child_process";
import { readdirSync } from "node:fs";
import { failedWith } from "../calls/errno.ts";
import { calls } from "../calls/native.ts";

/**
 * A program, and what it gets from us. Nothing else is passed on: no variable, no descriptor, no terminal.
 */
export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  /**
   * The root, if none is given: a folder that we happen to be in would stay busy, and is a way out of
   * namespaces.
   */
  readonly cwd?: string;
  /** A plain one, if none is given: the programs of the system, speaking English. */
  readonly environment?: { readonly [name: string]: string };
}

const PLAIN_ENVIRONMENT = { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C" };

/**
 * Starts a program; every process that Drydock starts begins here. It leads a session of its own, so that
 * Ctrl-C on the terminal reaches it only through us, and one signal reaches all that it starts.
 * `run-process.ts` is for those that end by themselves.
 */
export function startProcess(
  { file, args, cwd = "/", environment = PLAIN_ENVIRONMENT }: Program,
  stdio: ChildProcesses.StdioOptions,
): ChildProcesses.ChildProcess {
  // Loaded with the first process: most commands start none, and loading takes longer than what they do.
  const { spawn } = process.getBuiltinModule("node:child_process");
  return withoutInherited(() => spawn(file, args, { cwd, env: environment, detached: true, stdio }));
}

/**
 * Writes all of a program's input. A program that ends without reading it tells by its exit code whether that
 * is right.
 */
export function feed({ stdin }: ChildProcesses.ChildProcess, input: string | Uint8Array): void {
  stdin?.on("error", (thrown) => {
    if (!failedWith(thrown, "EPIPE", "ECONNRESET")) throw thrown;
  });
  stdin?.end(input);
}

/** Lets go of the pipes of a process; what still holds their other ends can't keep us. */
export function closePipes({ stdin, stdout, stderr }: ChildProcesses.ChildProcess): void {
  for (const stream of [stdin, stdout, stderr]) stream?.destroy();
}

const F_GETFD = 1;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
const OPEN_ON_EXEC = 0;

/**
 * Starts a process that gets no descriptor but those it is given. Descriptors that this process was itself
 * started with, a folder or a lock of the user's shell, would otherwise be passed on too: a way out of
 * namespaces, and held for as long as that process lives.
 */
function withoutInherited<T>(start: () => T): T {
  const inherited = readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => fd > 2 && calls.fcntl(fd, F_GETFD, 0) === OPEN_ON_EXEC);
  for (const fd of inherited) calls.fcntl(fd, F_SETFD, FD_CLOEXEC);
  try {
    return start();
  } finally {
    // Other processes that the program we are part of starts may well be meant to have them.
    for (const fd of inherited) calls.fcntl(fd, F_SETFD, OPEN_ON_EXEC);
  }
}
