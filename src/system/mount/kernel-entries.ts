import { lstatSync, readdirSync } from "node:fs";

/** Entries of /proc that show the kernel's memory, whoever may read them. */
const MEMORY = ["kcore", "kmem", "kpagecount", "kpageflags", "kpagecgroup"];
const ANY_WRITE = 0o222;

/**
 * Names in /proc that concern the whole machine: those through which it could be changed, and those that show
 * its memory.
 */
export function machineEntries(): {
  readonly writable: readonly string[];
  readonly memory: readonly string[];
} {
  const names = readdirSync("/proc").filter((name) => !/^\d+$/.test(name));
  const memory = names.filter((name) => MEMORY.includes(name));
  return { writable: names.filter((name) => !memory.includes(name) && isWritable(name)), memory };
}

/** A folder may contain something writable; links lead to entries of a process. */
function isWritable(name: string): boolean {
  const facts = lstatSync(`/proc/${name}`, { throwIfNoEntry: false });
  if (facts === undefined || facts.isSymbolicLink()) return false;
  return facts.isDirectory() || (facts.mode & ANY_WRITE) !== 0;
}
