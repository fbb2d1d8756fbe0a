import { bytesFromPath, isAtOrBelow } from "../../core/paths/byte-path.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { HOME_LABEL, noteLayer, OWN_HOME_LABEL, UPPER } from "../../sandboxes/scratch/scratch-layers.ts";
import { Folder } from "../../system/calls/folder.ts";
import { factsOfPath, realPathOf } from "../../system/data/locations.ts";
import { shortDigest } from "../../system/data/short-digest.ts";
import { failpoint } from "../../system/failpoints.ts";
import { isStrictlyBelow, type ViewMount } from "./view-mount.ts";

/**
 * One layer of the plan's scratch. Home and temporary folders look writable to a command, but what it writes
 * there goes to a scratch layer. The plan's next command sees it; it never lands, and is removed with the
 * plan.
 *
 * sandboxes/scratch/scratch-layers.ts has the format. The name of a layer contains a digest of the folder's
 * path, so a layer belongs to one folder only.
 */
export interface ScratchLayer {
  /** The folder of the host that it covers. */
  readonly at: string;
  /** The layer's own folder. */
  readonly folder: string;
  /** Whether it has no lower layer, so that the folder is empty at first. */
  readonly alone: boolean;
  /** Paths in it that the command does not see. */
  readonly hidden: readonly string[];
}

const POINTS = {
  scratch: failpoint("run.scratch"),
  record: failpoint("run.scratch-record"),
  attributes: failpoint("run.scratch-attributes"),
  clear: failpoint("run.scratch-clear"),
};
/** Folders that never get a layer. Every command gets its own /proc, /sys and /dev. */
const NEVER = ["/", "/proc", "/sys", "/dev"];

type Environment = { readonly [name: string]: string | undefined };

export interface ScratchRequest {
  readonly environment: Environment;
  /** The path of the folder for layers. */
  readonly folder: string;
  /**
   * Paths of resources. A folder at or below one of them needs no layer: what a command writes there lands.
   */
  readonly resources: readonly string[];
  /** Paths that a command must not see. */
  readonly hidden: readonly string[];
  /** Whether a folder can't be the lower layer of an overlay. */
  readonly cannotCover: (folder: string) => boolean;
  /** The home, if the plan has its own: then nothing of the user's is in these layers. */
  readonly ownHome: string | undefined;
}

/** The folders that get a scratch layer. */
export function scratchLayers(request: ScratchRequest): readonly ScratchLayer[] {
  const { environment } = request;
  const wanted = {
    [HOME_LABEL]: environment["HOME"],
    tmp: "/tmp",
    "var-tmp": "/var/tmp",
    tmpdir: environment["TMPDIR"],
  };
  const layers = new Map<string, Found>();
  for (const [label, path] of Object.entries(wanted)) {
    const at = path?.startsWith("/") === true ? realPathOf(path) : undefined;
    if (at === undefined || layers.has(at) || !isWanted(at, request)) continue;
    for (const found of layersOf(label, at, request))
      if (isWanted(found.at, request)) layers.set(found.at, found);
  }
  return [...layers.values()].map((found) => withHidden(found, [...layers.keys()], request));
}

type Found = Pick<ScratchLayer, "at" | "alone"> & { readonly label: string };

/**
 * Without privilege, no overlay can cover a folder that contains a mount. Then a temporary folder is replaced
 * by an empty one, and in the home only the dot folders, which hold caches and settings, get layers.
 */
function layersOf(label: string, at: string, { ownHome, cannotCover }: ScratchRequest): readonly Found[] {
  if (at === ownHome) return [{ at, label: OWN_HOME_LABEL, alone: true }];
  if (ownHome !== undefined && isAtOrBelow(at, ownHome)) return [{ at, label, alone: true }];
  if (!cannotCover(at)) return [{ at, label, alone: false }];
  if (label !== HOME_LABEL) return [{ at, label, alone: true }];
  using home = Folder.open(at);
  const folders = home
    .names()
    .filter((name) => name.startsWith(".") && home.facts(name)?.kind === "directory");
  return folders.map((name) => ({ at: `${at}/${name}`, label, alone: false }));
}

function isWanted(at: string, { resources, hidden }: ScratchRequest): boolean {
  if (NEVER.some((path) => at === path || at.startsWith(path === "/" ? "//" : `${path}/`))) return false;
  return (
    factsOfPath(at)?.kind === "directory" && ![...resources, ...hidden].some((path) => isAtOrBelow(at, path))
  );
}

/** A hidden path belongs to the innermost layer around it. */
function withHidden(
  { at, label, alone }: Found,
  all: readonly string[],
  request: ScratchRequest,
): ScratchLayer {
  const isInner = (path: string) =>
    all.some((other) => isStrictlyBelow(other, at) && isAtOrBelow(path, other));
  const hidden = alone ? [] : request.hidden.filter((path) => isStrictlyBelow(path, at) && !isInner(path));
  return { at, alone, hidden, folder: `${request.folder}/${label}-${digest(at)}` };
}

function digest(path: string): string {
  return shortDigest(bytesFromPath(path)).slice(0, 12);
}

/** The mount of a scratch layer. */
export function scratchMount({ at, folder, alone, hidden }: ScratchLayer, privileged: boolean): ViewMount {
  const upper = `${folder}/${UPPER}`;
  if (alone)
    return {
      ...{ at, isWritable: true, isEmpty: true },
      steps: [{ step: "bind", at, from: upper, flags: { noDevices: true } }],
    };
  const layers = {
    lower: at,
    ...(hidden.length > 0 && { without: hidden.map((path) => path.slice(at.length + 1)) }),
    upper,
    work: `${folder}/work`,
    source: "drydock-scratch",
    kind: privileged ? ("plain" as const) : ("user" as const),
  };
  return { at, isWritable: true, missing: hidden, steps: [{ step: "overlay", at, layers }] };
}

/** Prepares the folders of the layers for a mount. They must not be mounted. */
export function prepareScratch(scratch: Folder, layers: readonly ScratchLayer[]): void {
  for (const { at, folder } of layers) {
    using layer = scratch.ensureFolder(POINTS.scratch, folder.slice(scratch.path.length + 1));
    noteLayer(POINTS.record, layer, at);
    if (layer.facts(UPPER) === undefined) makeUpper(layer, at);
    // A volatile mount leaves a mark in the work folder that makes the next mount fail.
    removeTree(POINTS.clear, layer, "work");
    layer.createFolder(POINTS.scratch, "work", 0o700);
  }
}

/** The root of the upper layer stands for the folder itself, so it gets that folder's owner and mode. */
function makeUpper(layer: Folder, at: string): void {
  using original = Folder.open(at);
  const { mode, uid, gid } = original.ownFacts();
  const fresh = "upper.new";
  removeTree(POINTS.clear, layer, fresh);
  layer.createFolder(POINTS.scratch, fresh, 0o700);
  if (process.geteuid?.() === 0) layer.setOwner(POINTS.attributes, fresh, uid, gid);
  layer.setMode(POINTS.attributes, fresh, mode);
  layer.move(POINTS.scratch, fresh, layer, UPPER);
}
