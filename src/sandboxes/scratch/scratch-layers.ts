import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { Folder } from "../../system/calls/folder.ts";
import { readWhole, writeWhole } from "../../system/data/whole-file.ts";
import type { Failpoint } from "../../system/failpoints.ts";
import { scratchFolders } from "./scratch-place.ts";

/**
 * The scratch layers of a plan on disk. A folder `LABEL-DIGEST/` in one of its folders for these
 * (scratch-place.ts) is the layer over one folder of the machine:
 *
 *   at      the path of that folder; written before `upper`
 *   upper   what commands wrote there, with the marks of an overlay
 *   work    the overlay's own folder
 */
/** The layer of the user's home. All others are those of temporary folders. */
export const HOME_LABEL = "home";
/** The layer of a home of the plan's own: what is in it stands alone, and shows nothing of the user's. */
export const OWN_HOME_LABEL = `${HOME_LABEL}-own`;
const AT = "at";
export const UPPER = "upper";

/** A layer with something in it. */
export interface WrittenLayer {
  /** The path of its folder. */
  readonly folder: string;
  /** The folder of the machine that it covers. */
  readonly at: string;
  /** Whether the folder holds only what nothing depends on. */
  readonly isTemporary: boolean;
  /** Whether it is a home of the plan's own. */
  readonly isOwnHome: boolean;
}

/** Notes which folder a layer covers, if that is not noted yet. */
export function noteLayer(point: Failpoint, layer: Folder, at: string): void {
  if (layer.facts(AT) === undefined) writeWhole(point, layer, AT, bytesFromPath(at));
}

/** The layers of a plan. `plan` is the plan's folder. */
export function writtenLayers(plan: Folder): readonly WrittenLayer[] {
  return scratchFolders(plan).flatMap((folder) => {
    using scratch = folder;
    return layersIn(scratch);
  });
}

/** Opens what commands wrote to a layer. */
export function openUpper({ folder }: WrittenLayer): Folder {
  return Folder.open(`${folder}/${UPPER}`);
}

function layersIn(scratch: Folder): readonly WrittenLayer[] {
  return scratch.names().flatMap((name) => {
    using layer = scratch.openBelowIfThere(name);
    const at = layer && readWhole(layer, AT);
    if (at === undefined || layer?.facts(UPPER) === undefined) return [];
    const isTemporary = !name.startsWith(`${HOME_LABEL}-`);
    const isOwnHome = name.startsWith(`${OWN_HOME_LABEL}-`);
    return [{ folder: layer.path, at: pathFromBytes(at), isTemporary, isOwnHome }];
  });
}
