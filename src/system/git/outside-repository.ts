import { isAtOrBelow, pathFromBytes } from "../../core/paths/byte-path.ts";
import { isThere } from "../data/existence.ts";
import { factsOfPath, firstBytes, realPathOf } from "../data/locations.ts";

/** The repository of a git checkout that is not inside of the checkout. */
export interface OutsideRepository {
  /** The folder with HEAD and the index of this checkout. */
  readonly gitDir: string;
  /** The folder with objects and refs. The same, unless the checkout is a linked worktree. */
  readonly commonDir: string;
}

const LONGEST = 8192;

/**
 * The repository to which a checkout's `.git` leads, a link or a file `gitdir: PATH`; undefined if it leads
 * nowhere, or into the checkout itself. A linked worktree has a folder of its own in the repository, in which
 * `commondir` says where the rest is.
 */
export function outsideRepository(checkout: string): OutsideRepository | undefined {
  const dotGit = `${checkout}/.git`;
  const kind = factsOfPath(dotGit)?.kind;
  const path =
    kind === "file" ? pathIn(dotGit, "gitdir: ", checkout) : kind === "symlink" ? dotGit : undefined;
  const gitDir = path === undefined ? undefined : realPathOf(path);
  if (gitDir === undefined || !isThere(`${gitDir}/HEAD`)) return undefined;
  const commonDir = realPathOf(pathIn(`${gitDir}/commondir`, "", gitDir) ?? gitDir) ?? gitDir;
  return isAtOrBelow(commonDir, checkout) ? undefined : { gitDir, commonDir };
}

/** The path that a file holds after some words, seen from a folder. */
function pathIn(file: string, words: string, folder: string): string | undefined {
  if (factsOfPath(file)?.kind !== "file") return undefined;
  const text = pathFromBytes(firstBytes(file, LONGEST)).replace(/\n+$/, "");
  if (!text.startsWith(words)) return undefined;
  const path = text.slice(words.length);
  return path.startsWith("/") ? path : `${folder}/${path}`;
}
