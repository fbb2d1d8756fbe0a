import type * as ChildProcesses from "node:child_process";
import { readdirSync } from "node:fs";
import { failedWith, unlessFailed } from "../calls/errno.ts";
import { calls } from "../calls/native.ts";
import { systemProgram } from "./programs.ts";

/** A program, and what it gets from us. It gets nothing else: no variable, no descriptor. */
export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  /** Default: the root. Our current folder would stay busy, and is a way out of namespaces. */
  readonly cwd?: string;
  /** Default: a minimal one, with the system's programs and in English. */
  readonly environment?: { readonly [name: string]: string };
  /** It stays in our session, and so can use the user's terminal. Default: it has none. */
  readonly atTerminal?: boolean;
}

const PLAIN_ENVIRONMENT = { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C" };

/**
 * Starts a program; Drydock starts every process here. The program leads its own session, so that Ctrl-C on
 * the terminal reaches it only through us, and one signal reaches all that it starts. run-process.ts is for
 * programs that end by themselves.
 */
export function startProcess(
  { file, args, cwd = "/", environment = PLAIN_ENVIRONMENT, atTerminal = false }: Program,
  stdio: ChildProcesses.StdioOptions,
): ChildProcesses.ChildProcess {
  // Loaded with the first process: most commands start none, and loading takes longer than their work.
  const { spawn } = process.getBuiltinModule("node:child_process");
  return withoutInherited(() => spawn(file, args, { cwd, env: environment, detached: !atTerminal, stdio }));
}

/**
 * Writes the whole input of a program. A program that ends without reading it says by its exit code whether
 * that is an error.
 */
export function feed({ stdin }: ChildProcesses.ChildProcess, input: string | Uint8Array): void {
  stdin?.on("error", (thrown) => {
    if (!failedWith(thrown, "EPIPE", "ECONNRESET")) throw thrown;
  });
  stdin?.end(input);
}

/** The kernel sends the program this signal when the thread that started it ends, for whatever reason. */
export function endingWithUs(program: Program, signal: "TERM" | "KILL"): Program {
  const setpriv = systemProgram("setpriv");
  if (setpriv === undefined) return program;
  return { ...program, file: setpriv, args: ["--pdeathsig", signal, "--", program.file, ...program.args] };
}

/** Signals a process and all that it has started. */
export function signalGroup({ pid }: ChildProcesses.ChildProcess, name: "SIGTERM" | "SIGKILL"): void {
  if (pid === undefined) return;
  // If there is no such group, all of its processes have ended.
  unlessFailed(["ESRCH"], () => process.kill(-pid, name));
}

/** Closes our ends of a process's pipes, so that a process with the other ends can't block us. */
export function closePipes({ stdin, stdout, stderr }: ChildProcesses.ChildProcess): void {
  for (const stream of [stdin, stdout, stderr]) stream?.destroy();
}

const F_GETFD = 1;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
const OPEN_ON_EXEC = 0;

/**
 * Starts a process that inherits only the given descriptors. Others that this process was started with, such
 * as a folder or a lock of the user's shell, would otherwise be inherited: they lead out of namespaces, and
 * stay held as long as that process lives.
 */
function withoutInherited<T>(start: () => T): T {
  const inherited = readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => fd > 2 && calls.fcntl(fd, F_GETFD, 0) === OPEN_ON_EXEC);
  for (const fd of inherited) calls.fcntl(fd, F_SETFD, FD_CLOEXEC);
  try {
    return start();
  } finally {
    // The program that contains us may want its other children to inherit them.
    for (const fd of inherited) calls.fcntl(fd, F_SETFD, OPEN_ON_EXEC);
  }
}
