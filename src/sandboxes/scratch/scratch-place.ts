import { UnsupportedError } from "../../core/errors/errors.ts";
import {
  baseName,
  bytesFromPath,
  displayPath,
  isAtOrBelow,
  parentPath,
  pathFromBytes,
} from "../../core/paths/byte-path.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import type { OverlayWay } from "../../strategies/overlay/layout.ts";
import { folderForLayers } from "../../strategies/overlay/probe/layer-place.ts";
import { whyNoUpperLayer } from "../../strategies/overlay/probe/placement-probe.ts";
import { Folder } from "../../system/calls/folder.ts";
import { factsOfPath } from "../../system/data/locations.ts";
import { readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { freeRoom } from "../../system/mount/file-system.ts";
import { mayMountOnMachine } from "../../system/mount/privilege.ts";

/**
 * Where the scratch of a plan is: `scratch/` in the plan's folder. Some file systems can't hold the upper
 * layer of an overlay, for example the root of a container, which is an overlay itself. If the state
 * directory is on one of these, layers are in a private folder elsewhere, on a volume or in memory:
 *
 *   scratch-at   in the plan's folder: the path of that folder; durable before the folder is made
 *
 * The record goes after the folder. The folder may go before it, with a restart of the machine.
 */
export const SCRATCH = "scratch";
const RECORD = "scratch-at";
const PREFIX = ".drydock-scratch-";

const POINTS = {
  own: failpoint("run.scratch-own"),
  record: failpoint("run.scratch-place"),
  make: failpoint("run.scratch-elsewhere"),
  remove: failpoint("runs.remove-scratch"),
};

type Environment = { readonly [name: string]: string | undefined };

export interface NewScratch {
  readonly environment: Environment;
  /** Paths of resources. Nothing of ours may appear there. */
  readonly resources: readonly string[];
}

/**
 * The folder for layers of overlays; made if it is missing. `onLost` hears of a folder elsewhere that is
 * gone, with everything that commands wrote there.
 */
export function ensureScratch(plan: Folder, request: NewScratch, onLost: (path: string) => void): Folder {
  const known = placeElsewhere(plan);
  if (known !== undefined) return openElsewhere(known) ?? remade(known, onLost);
  const why = whyNoUpperLayer(plan, ownWay());
  if (why === undefined) return plan.ensureFolder(POINTS.own, SCRATCH);
  const place = `${chosenFolder(request, why)}/${PREFIX}${baseName(plan.path)}`;
  writeWhole(POINTS.record, plan, RECORD, bytesFromPath(place), "durable");
  return made(place);
}

/** The folders with layers of the plan. */
export function scratchFolders(plan: Folder): readonly Folder[] {
  const known = placeElsewhere(plan);
  return [plan.openBelowIfThere(SCRATCH), known === undefined ? undefined : openElsewhere(known)].filter(
    (folder) => folder !== undefined,
  );
}

/** The path of the plan's folder elsewhere, if it has, or had, one. */
export function placeElsewhere(plan: Folder): string | undefined {
  const bytes = plan.facts(RECORD) === undefined ? undefined : readWhole(plan, RECORD);
  return bytes === undefined ? undefined : pathFromBytes(bytes);
}

/** The path of the plan's folder elsewhere, if that is gone, with everything that commands wrote there. */
export function lostScratch(plan: Folder): string | undefined {
  const known = placeElsewhere(plan);
  if (known === undefined) return undefined;
  using folder = openElsewhere(known);
  return folder === undefined ? known : undefined;
}

/** Removes the plan's folder elsewhere, if it has one. */
export function removeElsewhere(plan: Folder): void {
  const known = placeElsewhere(plan);
  if (known === undefined) return;
  using folder = openElsewhere(known);
  if (folder === undefined) return;
  using parent = Folder.open(parentPath(known));
  removeTree(POINTS.remove, parent, baseName(known));
}

/** Where the scratch is if it is not with the state, and what that means, for `doctor`. */
export function scratchNote(plan: Folder, stateDir: string): string | undefined {
  const known = placeElsewhere(plan);
  if (known === undefined) return undefined;
  using state = Folder.open(stateDir);
  const room = Math.floor(freeRoom(parentPath(known)) / (1 << 20));
  return (
    `What they write to the home and to temporary folders is kept in ${displayPath(parentPath(known))} ` +
    `(${room} MiB free; a restart may empty it), because ${whyNoUpperLayer(state, ownWay())}. ` +
    "For more room, mount a volume at the state directory"
  );
}

function ownWay(): OverlayWay {
  return mayMountOnMachine() ? "kernel" : "user-namespace";
}

function chosenFolder({ environment, resources }: NewScratch, why: string): string {
  const isOutside = (path: string) => !resources.some((location) => isAtOrBelow(path, location));
  const chosen = folderForLayers(environment, ownWay(), isOutside);
  if (chosen !== undefined) return chosen;
  throw new UnsupportedError(`The plan's scratch layers have no place here: ${why}.`, {
    hint: "Nothing was run. Mount a volume at the state directory, or a tmpfs at /tmp; a strict command does without scratch layers.",
  });
}

/** Another user can make a folder with this name after a restart. That one is not opened. */
function openElsewhere(path: string): Folder | undefined {
  const facts = factsOfPath(path);
  if (facts?.kind !== "directory" || facts.uid !== process.geteuid?.()) return undefined;
  return Folder.open(path);
}

function remade(path: string, onLost: (path: string) => void): Folder {
  onLost(path);
  return made(path);
}

function made(path: string): Folder {
  using parent = Folder.open(parentPath(path));
  parent.createFolder(POINTS.make, baseName(path), 0o700);
  return parent.openChild(baseName(path));
}
