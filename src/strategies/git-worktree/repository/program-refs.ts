import { baseName, parentPath } from "../../../core/paths/byte-path.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { isThere } from "../../../system/data/existence.ts";
import { readWhole } from "../../../system/data/whole-file.ts";
import { underWay } from "../checkout/checkout.ts";
import { DOT_GIT } from "../layout.ts";

/**
 * Reads which commit the repository in a worktree has checked out. Programs write that repository, so git is
 * not run on it: git would obey the settings that it finds there. A ref is a file, or a line of
 * `packed-refs`. HEAD names a ref or holds a commit.
 */
const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const SYMBOLIC = /^ref: (refs\/[^\n]+)\n?$/;
const DEEPEST = 5;
const LARGEST = 64 * 1024 * 1024;

/** The commit that programs have checked out; undefined if there is none, or if the repository is broken. */
export function programCommit(worktree: Folder): string | undefined {
  using repository = worktree.openBelowIfThere(DOT_GIT);
  return repository === undefined ? undefined : resolve(repository, "HEAD", 0);
}

/** The operation that programs have begun there and not finished, such as "a merge". */
export function programsUnderWay(worktree: Folder): string | undefined {
  const path = worktree.label(DOT_GIT);
  return isThere(path) ? underWay(path) : undefined;
}

function resolve(repository: Folder, ref: string, depth: number): string | undefined {
  const text = depth > DEEPEST ? undefined : (looseRef(repository, ref) ?? packedRef(repository, ref));
  if (text === undefined) return undefined;
  const to = SYMBOLIC.exec(text)?.[1];
  if (to !== undefined) return isSafe(to) ? resolve(repository, to, depth + 1) : undefined;
  return COMMIT.test(text.trim()) ? text.trim() : undefined;
}

function looseRef(repository: Folder, ref: string): string | undefined {
  using folder = repository.openBelowIfThere(parentPath(ref));
  return folder === undefined ? undefined : textOf(folder, baseName(ref));
}

function packedRef(repository: Folder, ref: string): string | undefined {
  const line = textOf(repository, "packed-refs")
    ?.split("\n")
    .find((candidate) => candidate.endsWith(` ${ref}`));
  return line?.slice(0, line.indexOf(" "));
}

/** As Latin-1, in which every byte of a name is one character. */
function textOf(folder: Folder, name: string): string | undefined {
  const facts = folder.facts(name);
  if (facts?.kind !== "file" || facts.size > LARGEST) return undefined;
  return readWhole(folder, name)?.toString("latin1");
}

function isSafe(ref: string): boolean {
  return ref.split("/").every((name) => name !== "" && name !== "." && name !== "..") && !ref.includes("\0");
}
