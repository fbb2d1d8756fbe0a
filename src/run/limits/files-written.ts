import { walkBelow } from "../../engine/tree/walk.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";

/** The kernel's file timestamps lag behind our clock by up to one tick. */
const TICK_MS = 10;

/** How many files in the scratch layers have changed since `since`, in milliseconds. */
export function filesWritten(plan: Folder, since: number): number {
  using scratch = plan.openBelowIfThere("scratch");
  if (scratch === undefined) return 0;
  let files = 0;
  for (const layer of scratch.names())
    for (const { facts } of walkBelow(scratch, `${layer}/upper`))
      if (facts.kind !== "directory" && !isWhiteout(facts) && isSince(facts, since - TICK_MS)) files += 1;
  return files;
}

function isSince({ ctime: [seconds, nanoseconds] }: Facts, since: number): boolean {
  return seconds * 1000 + nanoseconds / 1e6 >= since;
}

/** The mark of a deleted file. */
function isWhiteout({ kind, rdev }: Facts): boolean {
  return kind === "device" && rdev === "0:0";
}
