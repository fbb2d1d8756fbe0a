import { UnsupportedError } from "../../core/errors/errors.ts";
import { baseName, bytesFromPath, displayPath, isAtOrBelow, parentPath } from "../../core/paths/byte-path.ts";
import type { OverlayWay } from "../../strategies/overlay/layout.ts";
import { folderForLayers } from "../../strategies/overlay/probe/layer-place.ts";
import { whyNoUpperLayer } from "../../strategies/overlay/probe/placement-probe.ts";
import { Folder } from "../../system/calls/folder.ts";
import { writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { freeRoom } from "../../system/mount/file-system.ts";
import { mayMountOnMachine } from "../../system/mount/privilege.ts";
import { openElsewhere, placeElsewhere, RECORD, SCRATCH } from "./scratch-place.ts";

const PREFIX = ".drydock-scratch-";
const POINTS = {
  own: failpoint("run.scratch-own"),
  record: failpoint("run.scratch-place"),
  make: failpoint("run.scratch-elsewhere"),
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

function remade(path: string, onLost: (path: string) => void): Folder {
  onLost(path);
  return made(path);
}

function made(path: string): Folder {
  using parent = Folder.open(parentPath(path));
  parent.createFolder(POINTS.make, baseName(path), 0o700);
  return parent.openChild(baseName(path));
}
