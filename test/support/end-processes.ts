import { readdirSync, readFileSync } from "node:fs";
import { failedWith } from "../../src/system/calls/errno.ts";

/**
 * Ends every process whose environment names this folder: what a failed test, or a command that got out, has
 * left running.
 */
export function endProcessesOf(folder: string): void {
  // A process that starts others may be gone through before it does.
  for (let rounds = 0; rounds < 10; rounds += 1) {
    const found = processesOf(folder);
    if (found.length === 0) return;
    for (const pid of found) unlessGone(() => process.kill(pid, "SIGKILL"));
  }
}

function processesOf(folder: string): readonly number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  return pids.filter((pid) => isOf(folder, pid)).map(Number);
}

function isOf(folder: string, pid: string): boolean {
  const read = (name: string) => unlessGone(() => readFileSync(`/proc/${pid}/${name}`, "latin1")) ?? "";
  // Those that have ended, and wait for their parent to see it, are no longer running.
  return read("environ").includes(folder) && !/^\S+ \(.*\) [ZX] /s.test(read("stat"));
}

/** Processes of other users can't be looked at, and are not ours to end. */
function unlessGone<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (thrown) {
    if (failedWith(thrown, "ESRCH", "ENOENT", "EACCES", "EPERM")) return undefined;
    throw thrown;
  }
}
