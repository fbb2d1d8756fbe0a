import { baseName, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { TakenEntry } from "../../core/strategy-abilities.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import { failpoint } from "../../system/failpoints.ts";
import { giveMetadata } from "../tree/metadata.ts";
import type { ShownEntries } from "./shown-entries.ts";

const POINTS = { metadata: failpoint("entry.take-metadata") };

/**
 * Makes one change in a sandbox that a program made elsewhere. `path` is its path among the entries, and
 * `source` the folder that `from` is below.
 */
export function takeEntry(entries: ShownEntries, source: Folder, path: string, taken: TakenEntry): void {
  const { change, from = ROOT_PATH } = taken;
  if (change !== "folder") {
    if (entries.at(path, () => true) !== undefined) entries.remove(path);
    if (change === "remove") return;
    using parent = source.openBelow(parentPath(from));
    entries.bring(path, { folder: parent, name: baseName(from) });
    return;
  }
  using folder = source.openBelow(from);
  const facts = folder.ownFacts();
  const wanted = { facts, xattrs: readXattrs(folder, ROOT_PATH) };
  if (!entries.at(path, (_folder, _name, now) => isSame(now, facts))) {
    entries.makeFolder(path);
    entries.at(path, (parent, name, made) =>
      giveMetadata(POINTS.metadata, { folder: parent, name }, wanted, made),
    );
  }
}

function isSame(one: Facts, other: Facts): boolean {
  return one.mode === other.mode && one.uid === other.uid && one.gid === other.gid;
}
