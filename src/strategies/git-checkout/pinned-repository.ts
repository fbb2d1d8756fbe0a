import { StateError } from "../../core/errors/errors.ts";
import { joinPath } from "../../core/paths/byte-path.ts";
import { copyEntry } from "../../engine/tree/copy-tree.ts";
import { runAtOnce } from "../../engine/work/pace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { writeXattrs } from "../../system/calls/xattrs.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { copyIndex } from "../git-worktree/checkout/index-files.ts";
import { readRef, readRefs } from "../git-worktree/repository/ref-files.ts";
import { readLog } from "../git-worktree/repository/ref-log.ts";
import type { Layers } from "../overlay/landed-layer.ts";
import { LayerWriter } from "../overlay/layer-writing.ts";
import { BASE_INDEX, DOT_GIT, GIT_BASE, PINNED_FILES, PINNED_FOLDERS } from "./layout.ts";

const POINTS = { mark: failpoint("git-checkout.hide-refs"), base: failpoint("git-checkout.record-base") };
export const STASH = "refs/stash";

/** Where HEAD and the refs of a repository are. */
export interface RepositoryState {
  /** The content of HEAD. */
  readonly head: string;
  readonly refs: ReadonlyMap<string, string>;
}

/** The state of a repository when the sandbox began. */
export interface RepositoryBase extends RepositoryState {
  /** The lengths of the logs, of HEAD and of refs. */
  readonly logs: { readonly [ref: string]: number };
  /** The log of the stash, which lists the stashed changes. */
  readonly stash?: string;
}

/** The refs of Drydock itself are not the plan's. */
const OURS = "refs/drydock/";

/**
 * Copies into a new upper layer what says where branches are, hides the original's, and records the state.
 */
export function pinRepository({ upper, lower, marks, record, workspace }: Layers): void {
  const writer = new LayerWriter(marks, record, workspace);
  writer.inFolder({ upper, lower }, joinPath(DOT_GIT, "HEAD"), ({ upper: repository, lower: original }) => {
    if (original === undefined) return;
    for (const name of [...PINNED_FILES, ...PINNED_FOLDERS])
      if (original.facts(name) !== undefined)
        runAtOnce(
          copyEntry(
            { folder: original, name },
            { folder: repository, name },
            { data: "share", filter: isNoLock },
          ),
        );
    for (const name of PINNED_FOLDERS)
      if (repository.facts(name) !== undefined) writeXattrs(POINTS.mark, repository, name, marks.opaque, {});
    copyIndex(repository, "index", workspace, BASE_INDEX);
    saveBase(workspace, repository);
  });
}

function isNoLock(path: string): boolean {
  return !path.endsWith(".lock");
}

function saveBase(workspace: Folder, repository: Folder): void {
  const { head, refs } = stateOf(repository);
  const logs = ["HEAD", ...refs.keys()].map((ref) => [ref, readLog(repository, ref)?.length ?? 0]);
  const stash = readLog(repository, STASH);
  const base = {
    head,
    refs: Object.fromEntries(refs),
    logs: Object.fromEntries(logs),
    ...(stash !== undefined && { stash }),
  };
  writeWhole(POINTS.base, workspace, GIT_BASE, Buffer.from(JSON.stringify(base)));
}

export function readBase(workspace: Folder): RepositoryBase {
  const bytes = readWhole(workspace, GIT_BASE);
  const base =
    bytes === undefined
      ? undefined
      : parsed<Omit<RepositoryBase, "refs"> & { readonly refs: { readonly [ref: string]: string } }>(bytes);
  if (base !== undefined) return { ...base, refs: new Map(Object.entries(base.refs)) };
  throw new StateError(`The sandbox in ${workspace.path} is incomplete.`, {
    hint: "Cancel its plan and make a new one.",
  });
}

/** Where HEAD and the refs are, in the repository of a sandbox or of the user. */
export function stateOf(repository: Folder): RepositoryState {
  const refs = readRefs(repository);
  for (const ref of refs.keys()) if (ref.startsWith(OURS)) refs.delete(ref);
  return { head: readRef(repository, "HEAD") ?? "", refs };
}
