import { StateError } from "../../core/errors/errors.ts";
import { joinPath } from "../../core/paths/byte-path.ts";
import { copyEntry } from "../../engine/tree/copy-tree.ts";
import { runAtOnce } from "../../engine/work/pace.ts";
import type { Submodule } from "../../engine/workspace/scope.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { writeXattrs } from "../../system/calls/xattrs.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { copyIndex } from "../git-worktree/checkout/index-files.ts";
import type { Layers } from "../overlay/base-record.ts";
import type { LayerMarks } from "../overlay/layer-marks.ts";
import { LayerWriter } from "../overlay/layer-writing.ts";
import { BASE_INDEX, GIT_BASE, PINNED, type RepositoryFolders, SUBMODULES } from "./layout.ts";
import { OpenRepository, type RepositoryState } from "./open-repository.ts";
import { placeOfSubmodule } from "./submodules.ts";

const POINTS = {
  mark: failpoint("git-checkout.hide-refs"),
  base: failpoint("git-checkout.record-base"),
  folder: failpoint("git-checkout.submodule-folder"),
};
export const STASH = "refs/stash";

/** The state of a repository when the sandbox began. */
export interface RepositoryBase extends RepositoryState {
  /** The lengths of the logs, of HEAD and of refs. */
  readonly logs: { readonly [ref: string]: number };
  /** The log of the stash, which lists the stashed changes. */
  readonly stash?: string;
  /** The commits at which a shallow history ends. */
  readonly shallow?: string;
}

/**
 * Copies into a new upper layer what says where branches are, hides the original's, and records the state in
 * a folder of the workspace, or in the workspace itself.
 */
export function pinRepository(
  { upper, lower, marks, record, workspace }: Layers,
  place: RepositoryFolders,
  into: Folder = workspace,
): void {
  const writer = new LayerWriter(marks, record, workspace);
  const pin = (folder: string, names: readonly string[]) =>
    writer.inFolder({ upper, lower }, joinPath(folder, "HEAD"), ({ upper: own, lower: original }) => {
      for (const name of names) if (original !== undefined) pinEntry(original, own, name, marks);
    });
  pin(place.common, PINNED.common);
  pin(
    place.own,
    PINNED.own.filter((name) => place.own !== place.common || !isIn(PINNED.common, name)),
  );
  using repository = OpenRepository.in(upper, place);
  if (repository === undefined) return;
  copyIndex(repository.own, "index", into, BASE_INDEX);
  saveBase(into, repository);
}

/** Does the same for the repositories of submodules. One that the user has removed since has no state. */
export function pinSubmodules(layers: Layers, submodules: readonly Submodule[]): void {
  if (submodules.length === 0) return;
  using all = layers.workspace.ensureFolder(POINTS.folder, SUBMODULES);
  for (const [at, submodule] of submodules.entries()) {
    const place = placeOfSubmodule(submodule);
    using repository = layers.lower.openBelowIfThere(place.own);
    if (repository === undefined) continue;
    using into = all.ensureFolder(POINTS.folder, String(at));
    pinRepository(layers, place, into);
  }
}

/** A folder that is copied hides what the original has in it. */
function pinEntry(original: Folder, own: Folder, name: string, marks: LayerMarks): void {
  const kind = original.facts(name)?.kind;
  if (kind === undefined) return;
  const options = { data: "share", filter: isNoLock } as const;
  runAtOnce(copyEntry({ folder: original, name }, { folder: own, name }, options));
  if (kind === "directory") writeXattrs(POINTS.mark, own, name, marks.opaque, {});
}

function isIn(names: readonly string[], name: string): boolean {
  return names.includes(name);
}

function isNoLock(path: string): boolean {
  return !path.endsWith(".lock");
}

function saveBase(workspace: Folder, repository: OpenRepository): void {
  const { head, refs } = repository.state();
  const logs = ["HEAD", ...refs.keys()].map((ref) => [ref, repository.log(ref)?.length ?? 0]);
  const [stash, shallow] = [repository.log(STASH), repository.shallow()];
  const base = {
    head,
    refs: Object.fromEntries(refs),
    logs: Object.fromEntries(logs),
    ...(stash !== undefined && { stash }),
    ...(shallow !== undefined && { shallow }),
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
