import type { Folder } from "../../system/calls/folder.ts";
import { writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { Git } from "../../system/process/git.ts";
import { removeTree } from "../tree/remove-tree.ts";

/** Three versions of a text file. */
export interface TextSides {
  readonly ours: Uint8Array;
  readonly base: Uint8Array;
  readonly theirs: Uint8Array;
}

export interface MergedText {
  readonly bytes: Buffer;
  /** Whether both sides changed the same lines. Then both versions of these are there, between markers. */
  readonly isMarked: boolean;
}

const POINTS = {
  folder: failpoint("merge.create-sides"),
  side: failpoint("merge.write-side"),
  remove: failpoint("merge.remove-sides"),
};
/** A folder of the workspace, while git reads the three versions there. */
const SIDES = "merging";
const LABELS = { ours: "this plan", base: "before", theirs: "the original" };
const MARKER = /^<{7} this plan\r?$/m;
/** git's exit code is the number of conflicts, up to this one. */
const MOST_CONFLICTS = 127;
const CONFLICTS = Array.from({ length: MOST_CONFLICTS }, (_, index) => index + 1);

/** Merges by git, in a folder of its own in which git looks for no repository. */
export async function mergeText(git: Git, workspace: Folder, sides: TextSides): Promise<MergedText> {
  removeTree(POINTS.remove, workspace, SIDES);
  using folder = workspace.ensureFolder(POINTS.folder, SIDES);
  for (const side of ["ours", "base", "theirs"] as const) writeWhole(POINTS.side, folder, side, sides[side]);
  const labels = [LABELS.ours, LABELS.base, LABELS.theirs].flatMap((label) => ["-L", label]);
  const { code, stdout } = await git.discover(
    folder.path,
    ["merge-file", "--stdout", "--quiet", ...labels, "ours", "base", "theirs"],
    {
      answers: CONFLICTS,
      settings: { "merge.conflictStyle": "merge" },
      environment: { GIT_DIR: "/dev/null" },
    },
  );
  removeTree(POINTS.remove, workspace, SIDES);
  return { bytes: stdout, isMarked: code > 0 };
}

/** Whether conflict markers of ours are in a file. */
export function hasMarkers(bytes: Uint8Array): boolean {
  return MARKER.test(Buffer.from(bytes).toString("latin1"));
}
