import { readFileSync } from "node:fs";
import { failedWith } from "./errno.ts";
import { processIds } from "./holders.ts";

/** The children of a process, the oldest first. Orphans that it took over come after those it had before. */
export function childrenOf(pid: number): readonly number[] {
  try {
    return numbersIn(readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1"));
  } catch (thrown) {
    if (!failedWith(thrown, "ENOENT", "ESRCH")) throw thrown;
    // It is gone, or the kernel was built without that file.
    return processIds()
      .filter((name) => parentOf(name) === pid)
      .map(Number);
  }
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT", "ESRCH")) return undefined;
    throw thrown;
  }
}

function numbersIn(text: string): readonly number[] {
  return text.split(" ").filter(Boolean).map(Number);
}
