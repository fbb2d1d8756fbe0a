import { globSync, readFileSync } from "node:fs";

/** The control groups that a Drydock with this pid made and did not remove. */
export function groupsOf(pid: number | undefined): readonly string[] {
  return groups().filter((path) => makerOf(path) === String(pid));
}

/**
 * Those of any Drydock that has ended. Only for tests that are the only ones to kill one that makes groups.
 */
export function groupsLeft(): readonly string[] {
  return groups().filter((path) => !isAlive(makerOf(path)));
}

/** Drydock's own: other groups of tests have other names. */
function groups(): readonly string[] {
  return globSync("/sys/fs/cgroup/**/drydock-*").filter((path) => /-\d+-\d+-\d+-\d+$/.test(path));
}

/** The end of its name is PID-START-NUMBER. */
function makerOf(path: string): string {
  return path.split("-").at(-3) ?? "";
}

function isAlive(pid: string): boolean {
  try {
    return !/^\S+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    // There is no such process.
    return false;
  }
}
