import type { LastCheckpoint, SavedCheckpoint } from "../../../core/checkpoint.ts";
import { baseName, isAtOrBelow, parentPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import { takeBarrier } from "../../../engine/base/barrier.ts";
import type { SharedFiles } from "../../../engine/checkpoint/shared-files.ts";
import { saveSharing, saveUnlessSame } from "../../../engine/checkpoint/tree-checkpoints.ts";
import { stateOfLayer } from "../../../engine/checkpoint/tree-state.ts";
import { type CopyOptions, copyEntry } from "../../../engine/tree/copy-tree.ts";
import { removeTree } from "../../../engine/tree/remove-tree.ts";
import type { Steps } from "../../../engine/work/pace.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { digestOf } from "../../../system/data/digest.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { GitContext } from "../../../system/process/git.ts";
import { DOT_GIT } from "../layout.ts";
import { makeSavesRepository, SAVES } from "../repository/repositories.ts";
import { type StoredTree, storeTree } from "../repository/store-tree.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import { findExtras, restoreExtras, type SavedExtras } from "./saved-extras.ts";

/**
 * Checkpoints of a worktree. The files, ignored ones too, are a tree object in a repository of our own,
 * `saves`, byte for byte: no filter and no conversion of line ends applies there. Its index knows the files
 * of the last checkpoint, so a checkpoint reads and stores only what changed. In `checkpoints/ID`:
 *
 *   repository/  a copy of the repository that programs have in the worktree: refs, index, operations under
 *                way
 *   nested/N     copies of nested repositories, which git does not look into
 *   notes        JSON, `Notes`
 */
interface Notes {
  readonly tree: string;
  readonly nested: readonly string[];
  readonly extras: SavedExtras;
}

const POINTS = {
  folder: failpoint("git.checkpoint-folder"),
  restore: failpoint("git.restore-files"),
  remove: failpoint("git.restore-clear"),
};
const REPOSITORY = "repository";
const NESTED = "nested";

/** Saves the worktree, unless it equals the last checkpoint. */
export async function saveWorktree(
  parts: SandboxParts,
  id: string,
  last: LastCheckpoint | undefined,
  run: (steps: Steps) => Promise<void>,
): Promise<SavedCheckpoint> {
  const { workspace } = parts;
  const barrier = takeBarrier(workspace);
  using worktree = parts.openWorktree();
  const { tree, nested } = await storeAll(parts, worktree);
  const notes: Notes = { tree, nested, extras: findExtras(worktree, isIn(nested)) };
  const apart = [DOT_GIT, ...nested].map((path) => {
    using folder = worktree.openBelowIfThere(path);
    return folder === undefined ? { mark: undefined, bytes: 0 } : stateOfLayer(folder, barrier);
  });
  const marks = apart.map(({ mark }) => mark);
  const mark = marks.includes(undefined) ? undefined : digestOf(JSON.stringify([notes, marks]));
  const bytes = apart.reduce((sum, state) => sum + state.bytes, 0);
  return await saveUnlessSame(workspace, { id, last }, { mark, bytes }, () =>
    run(
      saveSharing(
        workspace,
        { id, barrier, last },
        () => Buffer.from(JSON.stringify(notes)),
        (checkpoint, files) => saveApart(worktree, checkpoint, nested, files),
      ),
    ),
  );
}

/** Makes the worktree as it was saved, whatever state a crash left it in. */
export async function bringWorktreeBack(
  parts: SandboxParts,
  { checkpoint, notes }: { readonly checkpoint: Folder; readonly notes: Buffer },
  run: (steps: Steps) => Promise<void>,
): Promise<void> {
  const { tree, nested, extras } = JSON.parse(notes.toString()) as Notes;
  using worktree = parts.openWorktree();
  const now = await storeAll(parts, worktree);
  for (const path of now.nested) removeAt(worktree, path);
  await parts.git.change(POINTS.restore, savesContext(parts), ["read-tree", "-v", "--reset", "-u", tree]);
  restoreExtras(worktree, extras, () => false);
  await run(restoreApart(worktree, checkpoint, nested));
  // The folders of nested repositories may have modes of their own.
  restoreExtras(worktree, extras, isIn(nested));
}

function* saveApart(
  worktree: Folder,
  checkpoint: Folder,
  nested: readonly string[],
  files: SharedFiles,
): Steps {
  const options: CopyOptions = { data: "share", ...files.options((path) => path) };
  // A program may have removed the repository.
  if (worktree.facts(DOT_GIT) !== undefined)
    yield* copyEntry(
      { folder: worktree, name: DOT_GIT },
      { folder: checkpoint, name: REPOSITORY },
      options,
      REPOSITORY,
    );
  using apart = checkpoint.ensureFolder(POINTS.folder, NESTED);
  for (const [at, path] of nested.entries()) {
    using parent = worktree.openBelow(parentPath(path));
    const source = { folder: parent, name: baseName(path) };
    yield* copyEntry(source, { folder: apart, name: String(at) }, options, `${NESTED}/${at}`);
  }
}

function* restoreApart(worktree: Folder, checkpoint: Folder, nested: readonly string[]): Steps {
  removeTree(POINTS.remove, worktree, DOT_GIT);
  if (checkpoint.facts(REPOSITORY) !== undefined)
    yield* copyEntry(
      { folder: checkpoint, name: REPOSITORY },
      { folder: worktree, name: DOT_GIT },
      { data: "share" },
    );
  using apart = checkpoint.openChild(NESTED);
  for (const [at, path] of nested.entries()) {
    makeParents(worktree, path);
    removeAt(worktree, path);
    using parent = worktree.openBelow(parentPath(path));
    yield* copyEntry(
      { folder: apart, name: String(at) },
      { folder: parent, name: baseName(path) },
      { data: "share" },
    );
  }
}

/** Stores all files as they are, ignored ones too. */
async function storeAll(parts: SandboxParts, worktree: Folder): Promise<StoredTree> {
  makeSavesRepository(parts.workspace, parts.checkout);
  return await storeTree(parts.git, savesContext(parts), worktree, { untracked: "all" });
}

function savesContext({ workspace, worktreePath }: SandboxParts): GitContext {
  return { gitDir: workspace.label(SAVES), workTree: worktreePath };
}

function isIn(nested: readonly string[]): (path: string) => boolean {
  return (path) => nested.some((apart) => isAtOrBelow(path, apart));
}

function removeAt(worktree: Folder, path: string): void {
  using parent = worktree.openBelowIfThere(parentPath(path));
  if (parent !== undefined) removeTree(POINTS.remove, parent, baseName(path));
}

function makeParents(worktree: Folder, path: string): void {
  const folder = parentPath(path);
  if (folder === ROOT_PATH || worktree.factsBelow(folder)?.kind === "directory") return;
  makeParents(worktree, folder);
  using parent = worktree.openBelow(parentPath(folder));
  parent.ensureFolder(POINTS.folder, baseName(folder)).close();
}
