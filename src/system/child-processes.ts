import type * as ChildProcesses from "node:child_process";

/** Loaded when the first process is started: most commands start none, and loading takes longer than what they do. */
export function childProcesses(): typeof ChildProcesses {
  return process.getBuiltinModule("node:child_process");
}
