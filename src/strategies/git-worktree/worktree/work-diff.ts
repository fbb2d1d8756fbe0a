import {
  type Change,
  type ChangeFacts,
  type ChangeKind,
  type DiffView,
  statsOf,
} from "../../../core/change.ts";
import { comparePaths } from "../../../core/paths/byte-path.ts";
import type { BaseFacts } from "../../../engine/base/base-facts.ts";
import { ChangeReader, type ReadChange, type ReadSide } from "../../../engine/show/change-reader.ts";
import { invisibleWarnings } from "../../../engine/show/invisible-text.ts";
import { countLines } from "../../../engine/show/text-diff.ts";
import type { Facts } from "../../../system/calls/facts.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { branchName, headOf } from "../checkout/checkout.ts";
import { ignoredIn } from "../repository/store-tree.ts";
import { storeWork } from "../repository/store-work.ts";
import { type Blob, type BlobChange, kindOf, operationOf, treeChanges } from "../repository/tree-changes.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { ScratchFolder } from "../scratch-folder.ts";
import { checkOutInto } from "./checked-out-files.ts";

/**
 * The difference between the worktree and its base: the present files, stored in our repository, against the
 * commit that the worktree began with. Both sides are shown as they are checked out.
 */
export async function workDiff(parts: SandboxParts, record: SandboxRecord): Promise<DiffView> {
  const { git, workspace } = parts;
  using repository = parts.openRepository();
  using worktree = parts.openWorktree();
  const context = parts.onWorktree();
  const { tree, nested } = await storeWork(parts);
  const changes = await treeChanges(git, context, { from: record.base, to: tree, renames: true });
  const ignored = await ignoredIn(git, context);
  const moved = await changedMeanwhile(parts, record, changes);
  using scratch = new ScratchFolder(workspace);
  const before = changes.filter(
    (change) => change.before !== undefined && kindOf(change.before) !== "submodule",
  );
  const base = { gitDir: repository.path, index: repository.label("index") };
  await checkOutInto(
    git,
    base,
    before.map(({ path }) => path),
    scratch.folder,
  );
  using reader = new ChangeReader({
    original: scratch.folder,
    sandbox: worktree,
    policy: { allowSetid: true, allowDevices: true },
    originalIsBase: () => true,
  });
  const shown = [
    ...changes.map((change) =>
      shownChange(change, { reader, before: scratch.folder, after: worktree }, moved),
    ),
    ...nested.map((path) =>
      notLanding(path, "directory", "is a git repository of its own, which does not land"),
    ),
    ...ignored.map((path) => ignoredChange(worktree, path)),
  ].sort((a, b) => comparePaths(a.path, b.path));
  return { changes: shown, stats: statsOf(shown) };
}

interface Sides {
  readonly reader: ChangeReader;
  readonly before: Folder;
  readonly after: Folder;
}

function shownChange(change: BlobChange, sides: Sides, moved: Moved): Change {
  const { path, from } = change;
  const [before, after] = [
    factsOf(sides.before, path, change.before),
    factsOf(sides.after, path, change.after),
  ];
  const operation = operationOf(change);
  const read = sides.reader.read({
    path,
    operation,
    ...(before !== undefined && { before: { ...before, xattrs: {} } satisfies BaseFacts }),
    ...(after !== undefined && { after }),
  });
  const warnings = [...warningsOf(change, moved), ...invisibleWarnings(read.after)];
  return {
    path,
    operation,
    kind: shownKind(change.after ?? change.before),
    ...(from !== undefined && { from }),
    ...(change.before !== undefined && { before: shownFacts(change.before, before, read.before) }),
    ...(change.after !== undefined && { after: shownFacts(change.after, after, read.after) }),
    ...((read.before.content?.binary === true || read.after.content?.binary === true) && { binary: true }),
    ...(warnings.length > 0 && { warnings }),
    ...lineCounts(change, read),
  };
}

function shownKind(blob: Blob | undefined): ChangeKind {
  const kind = blob === undefined ? "file" : kindOf(blob);
  return kind === "submodule" ? "directory" : kind;
}

/** Of the mode, git knows only whether a file can be run; it knows nothing of owners and times. */
function shownFacts({ mode }: Blob, facts: Facts | undefined, { content, target }: ReadSide): ChangeFacts {
  const isFile = facts?.kind === "file";
  return {
    ...(isFile && { size: facts.size, mode: Number.parseInt(mode.slice(-3), 8) }),
    ...(target !== undefined && { target }),
    ...(content !== undefined && { digest: content.digest }),
  };
}

const NO_TEXT = Buffer.alloc(0);

function lineCounts(change: BlobChange, read: ReadChange) {
  const isText = [change.before, change.after].some((blob) => blob !== undefined && kindOf(blob) === "file");
  if (!isText) return undefined;
  const old = textOf(change.before, read.before);
  const fresh = textOf(change.after, read.after);
  return old === undefined || fresh === undefined ? undefined : countLines(old, fresh);
}

function textOf(blob: Blob | undefined, { content }: ReadSide): Buffer | undefined {
  return blob === undefined || kindOf(blob) !== "file" ? NO_TEXT : content?.text;
}

function factsOf(folder: Folder, path: string, blob: Blob | undefined): Facts | undefined {
  return blob === undefined ? undefined : folder.factsBelow(path);
}

function warningsOf({ path, before, after }: BlobChange, { paths, branch }: Moved): string[] {
  const isSubmodule = [before, after].some((blob) => blob !== undefined && kindOf(blob) === "submodule");
  return [
    ...(isSubmodule ? ["is a submodule: the commit it stands at lands, its files do not"] : []),
    ...(paths.has(path) ? [`changed on ${branch} meanwhile; applying merges both`] : []),
  ];
}

function ignoredChange(worktree: Folder, listed: string): Change {
  const path = listed.replace(/\/$/, "");
  const kind = worktree.factsBelow(path)?.kind ?? "file";
  return notLanding(path, kind === "block-device" ? "device" : kind, "is ignored by git and does not land");
}

function notLanding(path: string, kind: ChangeKind, why: string): Change {
  return { path, operation: "added", kind, warnings: [why] };
}

/** Paths that others have changed on the branch since. */
interface Moved {
  readonly paths: ReadonlySet<string>;
  readonly branch: string;
}

async function changedMeanwhile(
  parts: SandboxParts,
  { head, ref }: SandboxRecord,
  changes: readonly BlobChange[],
): Promise<Moved> {
  const branch = branchName(ref);
  const now = changes.length === 0 ? undefined : await headOf(parts.git, parts.checkout);
  if (now === undefined || now.commit === head) return { paths: new Set(), branch };
  const theirs = await treeChanges(parts.git, parts.theirs(), { from: head, to: now.commit, renames: false });
  return { paths: new Set(theirs.map(({ path }) => path)), branch };
}
