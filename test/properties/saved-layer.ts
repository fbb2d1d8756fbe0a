import { joinPath, ROOT_PATH } from "../../src/core/paths/byte-path.ts";
import type { SandboxRef } from "../../src/core/sandbox.ts";
import { openSaved } from "../../src/engine/checkpoint/tree-checkpoints.ts";
import { placeOf } from "../../src/engine/sandbox/sandbox-reference.ts";
import { readFileBelow } from "../../src/engine/sandbox/writing.ts";
import type { NamedEntry } from "../../src/engine/tree/named-entry.ts";
import { BaseRecord } from "../../src/strategies/overlay/base-record.ts";
import { LayerMarks } from "../../src/strategies/overlay/layer-marks.ts";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { Folder } from "../../src/system/calls/folder.ts";

/**
 * What a checkpoint of an overlay says, a line for each entry: what it has, what it hides of the original,
 * and what was there. A folder that shows the original counts only by what is in it.
 */
export function layerOf(ref: SandboxRef, id: string, way: OverlayWay): readonly string[] {
  using workspace = Folder.open(placeOf(ref).path);
  const { entries, notes } = openSaved(workspace, id);
  using tree = entries;
  const record = BaseRecord.fromBytes(notes);
  const marks = new LayerMarks(way);
  return linesOf(ROOT_PATH, tree, true);

  function linesOf(at: string, folder: Folder, shows: boolean): readonly string[] {
    const names = folder.names().toSorted();
    return names.flatMap((name) => linesAt(joinPath(at, name), { folder, name }, shows));
  }

  function linesAt(path: string, { folder, name }: NamedEntry, shows: boolean): readonly string[] {
    const facts = folder.facts(name);
    if (facts === undefined) return [];
    const base = `over ${shows ? (record.get(path)?.ino ?? "nothing") : "nothing"}`;
    if (marks.isMark(folder, name, facts)) return shows ? [`${path} is gone, ${base}`] : [];
    if (facts.kind === "symlink") return [`${path} -> ${folder.readLink(name)}, ${base}`];
    if (facts.kind !== "directory")
      return [`${path} ${facts.mode} ${facts.mtime} ${base}: ${readFileBelow(tree, path)}`];
    using inner = folder.openChild(name);
    const isMerged = shows && !marks.isOpaque(inner) && marks.isCopiedUp(inner);
    const lines = linesOf(path, inner, isMerged);
    return isMerged ? lines : [`${path}/ ${facts.mode}, ${base}`, ...lines];
  }
}
