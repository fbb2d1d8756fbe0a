import { UnsupportedError } from "../../core/errors/errors.ts";
import {
  baseName,
  displayPath,
  isAtOrBelow,
  joinPath,
  parentPath,
  ROOT_PATH,
} from "../../core/paths/byte-path.ts";
import type { TakenEntry } from "../../core/strategy-abilities.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { LayerMarks } from "../../strategies/overlay/layer-marks.ts";
import { completeMovedFolders } from "../../strategies/overlay/moved-folders.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { mayMountOnMachine } from "../../system/mount/privilege.ts";
import { openUpper, type WrittenLayer, writtenLayers } from "./scratch-layers.ts";

const POINTS = { forget: failpoint("scratch.forget-taken") };

/** Changes of one scratch layer that belong to a resource. */
export interface TakenWork {
  /** The path of the upper layer, which holds what the changes bring. */
  readonly folder: string;
  readonly entries: readonly TakenEntry[];
}

/** The part of a layer that is in a resource. */
interface Overlap {
  readonly layer: WrittenLayer;
  /** Its path in the layer. */
  readonly inLayer: string;
  /** Its path in the resource. */
  readonly inResource: string;
}

/**
 * What the commands of a plan did at a location of the machine, as changes for a sandbox of it. No command
 * may run in the plan. `plan` is the plan's folder.
 */
export function workAt(plan: Folder, location: string): readonly TakenWork[] {
  const marks = new LayerMarks(mayMountOnMachine() ? "kernel" : "user-namespace");
  return overlapsOf(plan, location).flatMap((overlap) => {
    const { layer } = overlap;
    using machine = Folder.open(layer.at);
    using upper = openUpper(layer);
    completeMoves(layer, upper, machine, marks);
    const entries = [...new LayerWork(upper, machine, marks).at(overlap, location)];
    return entries.length === 0 ? [] : [{ folder: upper.path, entries }];
  });
}

/** Removes from the scratch what a sandbox has taken over: it shows there from now on. */
export function forgetWorkAt(plan: Folder, location: string): void {
  for (const { layer, inLayer } of overlapsOf(plan, location)) {
    using upper = openUpper(layer);
    if (inLayer === ROOT_PATH) for (const name of upper.names()) removeTree(POINTS.forget, upper, name);
    else {
      using parent = unlessFailed(["ENOTDIR", "ELOOP"], () => upper.openBelowIfThere(parentPath(inLayer)));
      if (parent !== undefined) removeTree(POINTS.forget, parent, baseName(inLayer));
    }
  }
}

/** The layer around the location, and those inside it. */
function overlapsOf(plan: Folder, location: string): readonly Overlap[] {
  const layers = writtenLayers(plan);
  const inside = layers.filter(({ at }) => isAtOrBelow(at, location));
  const [around] = layers
    .filter(({ at }) => at !== location && isAtOrBelow(location, at))
    .toSorted((a, b) => b.at.length - a.at.length);
  return [
    ...(around === undefined
      ? []
      : [{ layer: around, inLayer: location.slice(around.at.length + 1), inResource: ROOT_PATH }]),
    ...inside.map((layer) => ({
      layer,
      inLayer: ROOT_PATH,
      inResource: layer.at === location ? ROOT_PATH : layer.at.slice(location.length + 1),
    })),
  ];
}

/** After this, no folder of the layer shows another one of the machine. */
function completeMoves({ folder, at }: WrittenLayer, upper: Folder, lower: Folder, marks: LayerMarks): void {
  using workspace = Folder.open(folder);
  completeMovedFolders({ workspace, upper, lower, marks, scope: { root: at } });
}

/** The work in one layer. */
class LayerWork {
  readonly #upper: Folder;
  readonly #machine: Folder;
  readonly #marks: LayerMarks;

  constructor(upper: Folder, machine: Folder, marks: LayerMarks) {
    this.#upper = upper;
    this.#machine = machine;
    this.#marks = marks;
  }

  *at({ inLayer, inResource }: Overlap, location: string): Generator<TakenEntry> {
    const found = this.#find(inLayer);
    if (found === "gone")
      throw new UnsupportedError(`A command of the plan has removed or replaced ${displayPath(location)}.`, {
        hint: "Add the folder around it, which takes that over too.",
      });
    if (found === undefined) return;
    if (inLayer !== ROOT_PATH && this.#kindOf(inLayer) !== "directory")
      yield { path: inResource, change: "copy", from: inLayer };
    else {
      if (inLayer !== ROOT_PATH) yield { path: inResource, change: "folder", from: inLayer };
      yield* this.#folder(inLayer, inResource, found === "whole");
    }
  }

  /**
   * How a path of the machine shows in the layer: as it is on the machine (undefined), changed, only from the
   * layer (`whole`), or not at all (`gone`).
   */
  #find(path: string): "changed" | "whole" | "gone" | undefined {
    if (path === ROOT_PATH) return "changed";
    const above = this.#find(parentPath(path));
    if (above === undefined || above === "gone") return above;
    using parent = this.#upper.openBelow(parentPath(path));
    const name = baseName(path);
    const facts = parent.facts(name);
    if (facts === undefined) return above === "whole" ? "gone" : undefined;
    if (this.#marks.isMark(parent, name, facts) || facts.kind !== this.#kindOnMachine(path)) return "gone";
    return above === "whole" || this.#isWhole(path) ? "whole" : "changed";
  }

  *#folder(path: string, target: string, isWhole: boolean): Generator<TakenEntry> {
    using folder = this.#upper.openBelow(path);
    const names = new Set(folder.names());
    if (isWhole) {
      using machine = this.#machine.openBelowIfThere(path);
      for (const name of machine?.names() ?? [])
        if (!names.has(name)) yield { path: joinPath(target, name), change: "remove" };
    }
    for (const name of names) {
      const facts = folder.facts(name);
      if (facts === undefined) continue;
      const [from, to] = [joinPath(path, name), joinPath(target, name)];
      if (this.#marks.isMark(folder, name, facts)) yield { path: to, change: "remove" };
      else if (facts.kind === "directory" && !isWhole && this.#isMerged(from)) {
        yield { path: to, change: "folder", from };
        yield* this.#folder(from, to, false);
      } else yield { path: to, change: "copy", from };
    }
  }

  /** Whether a folder of the layer shows the machine's folder below it. */
  #isMerged(path: string): boolean {
    return this.#kindOnMachine(path) === "directory" && !this.#isWhole(path);
  }

  #isWhole(path: string): boolean {
    if (this.#kindOf(path) !== "directory") return true;
    using folder = this.#upper.openBelow(path);
    return this.#marks.isOpaque(folder);
  }

  #kindOf(path: string): string | undefined {
    return kindIn(this.#upper, path);
  }

  #kindOnMachine(path: string): string | undefined {
    return unlessFailed(["ENOTDIR", "ELOOP", "EACCES"], () => kindIn(this.#machine, path));
  }
}

function kindIn(root: Folder, path: string): string | undefined {
  using parent = root.openBelowIfThere(parentPath(path));
  return parent?.facts(baseName(path))?.kind;
}
