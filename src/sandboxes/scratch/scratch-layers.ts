import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readWhole, writeWhole } from "../../system/data/whole-file.ts";
import type { Failpoint } from "../../system/failpoints.ts";

/**
 * The scratch layers of a plan on disk. `scratch/LABEL-DIGEST/` in the plan's folder is the layer over one
 * folder of the machine:
 *
 *   at      the path of that folder; written before `upper`
 *   upper   what commands wrote there, with the marks of an overlay
 *   work    the overlay's own folder
 */
export const SCRATCH = "scratch";
/** The layer of the user's home. All others are those of temporary folders. */
export const HOME_LABEL = "home";
const AT = "at";

/** A layer with something in it. */
export interface WrittenLayer {
  /** The path of `upper` in the plan's folder. */
  readonly upper: string;
  /** The folder of the machine that it covers. */
  readonly at: string;
  /** Whether the folder holds only what nothing depends on. */
  readonly isTemporary: boolean;
}

/** Notes which folder a layer covers, if that is not noted yet. */
export function noteLayer(point: Failpoint, layer: Folder, at: string): void {
  if (layer.facts(AT) === undefined) writeWhole(point, layer, AT, bytesFromPath(at));
}

/** The layers in the folder of a plan. */
export function writtenLayers(plan: Folder): readonly WrittenLayer[] {
  using scratch = plan.openBelowIfThere(SCRATCH);
  return (scratch?.names() ?? []).flatMap((name) => {
    using layer = scratch?.openBelowIfThere(name);
    const at = layer && readWhole(layer, AT);
    if (at === undefined || layer?.facts("upper") === undefined) return [];
    const isTemporary = !name.startsWith(`${HOME_LABEL}-`);
    return [{ upper: `${SCRATCH}/${name}/upper`, at: pathFromBytes(at), isTemporary }];
  });
}
