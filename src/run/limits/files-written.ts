import type { Folder } from "../../system/calls/folder.ts";

/** The kernel's file timestamps lag behind our clock by up to one tick. */
const TICK_MS = 10;

/** How many files in the scratch layers have changed since `since`, in milliseconds. */
export function filesWritten(plan: Folder, since: number): number {
  using scratch = plan.openBelowIfThere("scratch");
  if (scratch === undefined) return 0;
  let files = 0;
  for (const name of scratch.names()) files += filesBelow(scratch, `${name}/upper`, since - TICK_MS);
  return files;
}

/** Without recursion, because a hostile program can nest folders deeper than any stack. */
function filesBelow(parent: Folder, path: string, since: number): number {
  let files = 0;
  const open = [parent.openBelowIfThere(path)];
  try {
    for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
      using here = folder;
      for (const name of here.names()) {
        const facts = here.facts(name);
        if (facts?.kind === "directory") open.push(here.openBelowIfThere(name));
        else if (
          facts !== undefined &&
          !isWhiteout(facts) &&
          facts.ctime[0] * 1000 + facts.ctime[1] / 1e6 >= since
        )
          files += 1;
      }
    }
  } finally {
    for (const folder of open) folder?.close();
  }
  return files;
}

/** The mark of a deleted file. */
function isWhiteout({ kind, rdev }: { readonly kind: string; readonly rdev: string }): boolean {
  return kind === "device" && rdev === "0:0";
}
