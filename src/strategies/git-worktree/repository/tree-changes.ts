import type { ChangeOperation } from "../../../core/change.ts";
import type { LandingPath } from "../../../core/self-running/self-running.ts";
import type { Git, GitContext } from "../../../system/process/git.ts";
import { splitNul } from "./repository-config.ts";

/** One path that differs between two trees. */
export interface BlobChange {
  readonly path: string;
  readonly before?: Blob;
  readonly after?: Blob;
  /** The earlier path of a moved file, which may also have changed. The list has its deletion there too. */
  readonly from?: string;
}

/** The entry of a tree at a path. */
export interface Blob {
  readonly mode: string;
  readonly id: string;
}

const LINK_MODE = "120000";
const SUBMODULE_MODE = "160000";

/**
 * The difference between two trees or commits, in git's order of paths. With `renames`, a moved file names
 * the path that it came from.
 */
export async function treeChanges(
  git: Git,
  context: GitContext,
  { from, to, renames }: { readonly from: string; readonly to: string; readonly renames: boolean },
): Promise<readonly BlobChange[]> {
  const detection = renames ? ["-M"] : ["--no-renames"];
  const { stdout } = await git.look(context, [
    "diff-tree",
    "-r",
    "-z",
    "--raw",
    "--no-abbrev",
    ...detection,
    from,
    to,
  ]);
  return parseRaw(splitNul(stdout));
}

/** Parses `:MODE MODE ID ID STATUS`, a path, and for a move a second path. */
export function parseRaw(parts: readonly string[]): BlobChange[] {
  const changes: BlobChange[] = [];
  for (let at = 0; at < parts.length; ) {
    const [oldMode = "", newMode = "", oldId = "", newId = "", status = ""] = (parts[at] ?? "")
      .slice(1)
      .split(" ");
    const path = parts[at + 1] ?? "";
    const before = { mode: oldMode, id: oldId };
    const after = { mode: newMode, id: newId };
    if (status.startsWith("R")) {
      const to = parts[at + 2] ?? "";
      changes.push({ path, before }, { path: to, after, from: path });
      at += 3;
      continue;
    }
    changes.push({ path, ...(status !== "A" && { before }), ...(status !== "D" && { after }) });
    at += 2;
  }
  return changes;
}

export function operationOf({ before, after }: BlobChange): ChangeOperation {
  if (before === undefined) return "added";
  if (after === undefined) return "deleted";
  return kindOf(before) === kindOf(after) ? "modified" : "typechanged";
}

/** The change as the checks before a landing see it. A submodule lands without its files. */
export function landingPath(change: BlobChange): LandingPath {
  const blob = change.after ?? change.before;
  const kind = blob === undefined ? "file" : kindOf(blob);
  return {
    path: change.path,
    operation: operationOf(change),
    kind: kind === "submodule" ? "directory" : kind,
  };
}

export function kindOf({ mode }: Blob): "file" | "symlink" | "submodule" {
  if (mode === LINK_MODE) return "symlink";
  return mode === SUBMODULE_MODE ? "submodule" : "file";
}

export function sameBlob(a: Blob | undefined, b: Blob | undefined): boolean {
  return a?.mode === b?.mode && a?.id === b?.id;
}
