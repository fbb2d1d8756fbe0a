import type { Conflict } from "../../../core/errors/errors.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { GitContext } from "../../../system/process/git.ts";
import { splitNul } from "../repository/repository-config.ts";
import { nulTerminated } from "../repository/store-tree.ts";
import { type Blob, type BlobChange, kindOf, sameBlob } from "../repository/tree-changes.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import { ScratchIndex } from "./index-files.ts";

const LOOK = failpoint("git.look-at-files");

/** An entry of an index. */
interface IndexEntry extends Blob {
  /** The user told git not to look at the file: assume-unchanged, skip-worktree. */
  readonly hidden: boolean;
  readonly unmerged: boolean;
}

/** A change, and whether the checkout still needs it. */
export interface Pending {
  readonly change: BlobChange;
  /** Whether the file has to change; false if it already has its new content. */
  readonly file: boolean;
}

export interface Judged {
  readonly pending: readonly Pending[];
  readonly conflicts: readonly Conflict[];
}

/**
 * Whether a checkout can follow these changes. The index and the files must be as on the branch, or already
 * as they will be. Everything else is the user's work and stays as it is. `index` is a copy of the user's.
 */
export async function judgeCheckout(
  parts: SandboxParts,
  original: Folder,
  index: { readonly folder: Folder; readonly name: string },
  changes: { readonly tracked: readonly BlobChange[]; readonly uncommitted: readonly BlobChange[] },
): Promise<Judged> {
  const all = [...changes.tracked, ...changes.uncommitted];
  const paths = all.map(({ path }) => path);
  const [staged, files] = await Promise.all([
    entriesOf(parts, parts.onCheckout(index.folder.label(index.name)), paths),
    filesOf(parts, original, index, all),
  ]);
  const conflicts: Conflict[] = [];
  const pending: Pending[] = [];
  const judge = (change: BlobChange, why: string | undefined) => {
    if (why !== undefined) conflicts.push({ path: change.path, why });
    else pending.push({ change, file: !isSubmodule(change) && !isDone(change, files) });
  };
  for (const change of changes.tracked)
    judge(change, whyNotStaged(change, staged.get(change.path)) ?? whyNotFile(change, files));
  for (const change of changes.uncommitted) judge(change, whyNotFile(change, files));
  return { pending, conflicts };
}

/** The paths whose staged content is neither side of the change. */
export async function stagedConflicts(
  parts: SandboxParts,
  context: GitContext,
  changes: readonly BlobChange[],
): Promise<Conflict[]> {
  const staged = await entriesOf(
    parts,
    context,
    changes.map(({ path }) => path),
  );
  return changes.flatMap((change) => {
    const why = whyNotStaged(change, staged.get(change.path));
    return why === undefined ? [] : [{ path: change.path, why }];
  });
}

function whyNotStaged({ before, after }: BlobChange, staged: IndexEntry | undefined): string | undefined {
  if (staged?.unmerged === true) return "has conflicts in the index that are not resolved";
  if (staged?.hidden === true)
    return "is marked in the index as not to be looked at (assume-unchanged or skip-worktree)";
  return sameBlob(staged, before) || sameBlob(staged, after) ? undefined : "has staged changes";
}

/** The content of files, as git would store it; "other" is neither a file nor a link. */
type Files = ReadonlyMap<string, Blob | "folder" | "other">;

function whyNotFile(change: BlobChange, files: Files): string | undefined {
  const { path, before, after } = change;
  const now = files.get(path);
  // `EntryBuilder` decides later whether a folder may go, by its content.
  if (isSubmodule(change) || (now === "folder" && before === undefined)) return undefined;
  if (now === "folder" || now === "other") return "something that git does not track is in the way";
  if (sameBlob(now, before) || sameBlob(now, after)) return undefined;
  if (now === undefined) return "was deleted in the checkout without a commit";
  return before === undefined ? "an untracked file is in the way" : "has uncommitted changes";
}

function isDone({ path, after }: BlobChange, files: Files): boolean {
  const now = files.get(path);
  return now !== "folder" && now !== "other" && sameBlob(now, after);
}

function isSubmodule({ before, after }: BlobChange): boolean {
  return [before, after].some((blob) => blob !== undefined && kindOf(blob) === "submodule");
}

/** Stores the files in our repository, with a copy of the index, which knows the unchanged ones. */
async function filesOf(
  parts: SandboxParts,
  original: Folder,
  index: { readonly folder: Folder; readonly name: string },
  changes: readonly BlobChange[],
): Promise<Files> {
  const files = new Map<string, Blob | "folder" | "other">();
  const readable: string[] = [];
  for (const change of changes.filter((candidate) => !isSubmodule(candidate))) {
    const kind = original.factsBelow(change.path)?.kind;
    if (kind === "file" || kind === "symlink") readable.push(change.path);
    else if (kind !== undefined) files.set(change.path, kind === "directory" ? "folder" : "other");
  }
  if (readable.length === 0) return files;
  using scratch = ScratchIndex.copyOf(index.folder, index.name, parts.workspace);
  const context = parts.onCheckout(scratch.path);
  await parts.git.change(LOOK, context, ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], {
    input: nulTerminated(readable),
  });
  const stored = await entriesOf(parts, context, readable);
  for (const path of readable) {
    const entry = stored.get(path);
    if (entry !== undefined) files.set(path, { mode: entry.mode, id: entry.id });
  }
  return files;
}

const MOST_ARGUMENTS = 60_000;

/**
 * The entries of an index at these paths. Git takes paths only as arguments here; where they do not fit, it
 * lists all entries.
 */
async function entriesOf(
  { git }: SandboxParts,
  context: GitContext,
  paths: readonly string[],
): Promise<ReadonlyMap<string, IndexEntry>> {
  const fits = paths.every(isPlain) && paths.reduce((sum, path) => sum + path.length + 1, 0) < MOST_ARGUMENTS;
  const { stdout } = await git.look(context, [
    "ls-files",
    "-z",
    "-s",
    "-v",
    ...(fits ? ["--", ...paths] : []),
  ]);
  const wanted = new Set(paths);
  const entries = new Map<string, IndexEntry>();
  for (const line of splitNul(stdout)) {
    const tab = line.indexOf("\t");
    const path = line.slice(tab + 1);
    if (!wanted.has(path)) continue;
    const [tag = "", mode = "", id = "", stage = "0"] = line.slice(0, tab).split(" ");
    entries.set(path, {
      mode,
      id,
      hidden: tag !== tag.toUpperCase() || tag === "S",
      unmerged: stage !== "0",
    });
  }
  return entries;
}

function isPlain(path: string): boolean {
  return /^[\x20-\x7e]+$/.test(path);
}
