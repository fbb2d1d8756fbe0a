import type { ExactPart } from "../../core/change.ts";
import { UnsupportedError, UsageError } from "../../core/errors/errors.ts";
import { displayPath, foldersAbove } from "../../core/paths/byte-path.ts";
import type { EntryKind } from "../../system/calls/facts.ts";
import type { TreeChange } from "../changes/change-set.ts";
import type { OpenSandbox } from "../sandbox/sandbox-reference.ts";
import type { SandboxTree } from "../sandbox/sandbox-tree.ts";
import { hunksBetween, withHunks } from "../text/hunks.ts";
import { type MetadataPart, metadataOf, setMetadata } from "../tree/metadata.ts";
import { readEntry } from "../tree/open-parent.ts";
import { runAtOnce } from "../work/pace.ts";
import type { MergeRecord } from "./merge-record.ts";

type Reverted = OpenSandbox<SandboxTree>;

/** A change, as far as it matters here. */
interface FoundChange {
  readonly path: string;
  readonly operation: TreeChange["operation"];
  readonly kind: EntryKind | undefined;
  readonly parts: readonly MetadataPart[];
}

/**
 * Takes changes out of a sandbox, which then shows the original's entries there, as they are now. Paths are
 * those of the engine. Of files with chosen hunks only these go, and the rest of the file stays as it is. The
 * caller has made a checkpoint.
 */
export async function takeOutOf(
  sandbox: Reverted,
  { paths, hunks = {} }: ExactPart,
  record: MergeRecord,
  baseOf: (path: string) => Uint8Array | undefined,
): Promise<void> {
  const changes = new Map(
    Iterator.from(runAtOnce(sandbox.changes()).changes).map((change) => [change.path, factsOf(change)]),
  );
  const inHunks = new Map(Object.entries(hunks));
  const chosen = new Set(paths.filter((path) => !inHunks.has(path)));
  const { whole, folders } = sorted(changes, chosen);
  for (const [path, ids] of inHunks) withoutHunks(sandbox, path, ids, baseOf(path));
  for (const folder of folders) takeMetadata(sandbox, folder);
  if (whole.length > 0) {
    record.note();
    (await sandbox.tree.base()).takeOriginals(sandbox.original, whole);
  }
  assertOut(sandbox, chosen);
}

/** In a folder that was deleted and made again, an entry may not come back alone. */
function assertOut(sandbox: Reverted, chosen: ReadonlySet<string>): void {
  const { changes } = runAtOnce(sandbox.changes());
  const left = Iterator.from(changes).find(({ path }) => chosen.has(path))?.path;
  if (left === undefined) return;
  throw new UnsupportedError(`${displayPath(left)} can't be taken out of the plan alone.`, {
    hint: "Choose the folder around it, or change it in the sandbox.",
    code: "NO_PARTS",
  });
}

/** The fields of a change may be getters. */
function factsOf({ path, operation, before, after, parts = [] }: TreeChange): FoundChange {
  return { path, operation, kind: after?.kind ?? before?.kind, parts };
}

/** The entries that go with all that is in them, and the folders of which only the metadata changed. */
function sorted(changes: ReadonlyMap<string, FoundChange>, chosen: ReadonlySet<string>) {
  const meant = [...chosen].map((path) => {
    const change = changes.get(path);
    if (change === undefined) throw gone(path);
    return change;
  });
  const isInPlace = ({ operation, kind }: FoundChange) => operation === "modified" && kind === "directory";
  const tops = new Set(meant.filter((change) => !isInPlace(change)).map(({ path }) => path));
  for (const { path, operation } of changes.values()) {
    const above = foldersAbove(path);
    const top = above.find((folder) => tops.has(folder));
    if (top !== undefined && !chosen.has(path)) throw notAlone(top, path);
    const deleted = above.find((folder) => changes.get(folder)?.operation === "deleted");
    if (operation === "deleted" && chosen.has(path) && deleted !== undefined && !chosen.has(deleted))
      throw notAlone(path, deleted);
  }
  const isCovered = (path: string) => foldersAbove(path).some((folder) => tops.has(folder));
  return {
    whole: [...tops].filter((path) => !isCovered(path)),
    folders: meant.filter((change) => isInPlace(change)),
  };
}

function withoutHunks(
  { tree, original, own }: Reverted,
  path: string,
  ids: readonly string[],
  before: Uint8Array | undefined,
): void {
  const after = tree.read(original, own, path);
  const going = new Set(ids);
  const staying = before && hunksBetween(before, after).filter(({ id }) => !going.delete(id));
  const bytes = before && staying && withHunks(before, after, new Set(staying.map(({ id }) => id)));
  if (bytes === undefined || going.size > 0) throw gone(path);
  tree.write(original, own, path, bytes);
}

function takeMetadata({ original, own }: Reverted, { path, parts }: FoundChange): void {
  const wanted = readEntry(original, path, metadataOf);
  if (wanted === undefined)
    throw new UnsupportedError(`The folder ${displayPath(path)} is gone in the original.`, {
      hint: "Bring it back there, or leave the change in the plan.",
    });
  using folder = own.openBelow(path);
  setMetadata({ folder, name: "." }, wanted, parts, false);
}

function gone(path: string): UsageError {
  return new UsageError(`The plan no longer changes ${displayPath(path)} in this way.`, {
    hint: "See the diff of the plan.",
    code: "NO_MATCH",
  });
}

function notAlone(path: string, other: string): UsageError {
  return new UsageError(
    `${displayPath(path)} can't be taken out of the plan without ${displayPath(other)}.`,
    {
      hint: "One is in the other, and they come back together. Choose both, or neither.",
      code: "PART_OF_FOLDER",
    },
  );
}
