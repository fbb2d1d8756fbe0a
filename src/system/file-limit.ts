import { readFileSync } from "node:fs";
import { failedWith } from "./errno.ts";

/**
 * How many files a program that we start would have open at most if Node had not raised our own limit: as many as the process that started us.
 * Undefined if that can't be known.
 */
export function inheritedFileLimit(): number | undefined {
  try {
    const limits = readFileSync(`/proc/${process.ppid}/limits`, "latin1");
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT", "ESRCH", "EACCES", "EPERM")) return undefined;
    throw thrown;
  }
}
