import { createHash } from "node:crypto";
import { bytesFromPath, isAtOrBelow } from "../core/byte-path.ts";
import { ensureFolder, removeTree } from "../files/remove-tree.ts";
import { failpoint } from "../system/failpoints.ts";
import { Folder } from "../system/folder.ts";
import { factsOfPath } from "../system/locations.ts";
import { realPathOf } from "../system/text-files.ts";

/**
 * What a command writes outside the plan's resources: home and temporary folders look writable, and what is written there goes to a layer of
 * the plan. It is kept for the plan's next command, never lands, and goes with the plan.
 *
 * `scratch/NAME/` in the plan's folder holds `lower`, a link to the folder, `upper` and `work`. The name holds a digest of the
 * folder's path: a layer belongs to that folder alone.
 */
export interface ScratchLayer {
  /** The folder of the host that it lies on. */
  readonly at: string;
  readonly name: string;
  /** It lies on nothing: the folder looks empty at first. */
  readonly alone: boolean;
}

const POINTS = {
  scratch: failpoint("run.scratch"),
  link: failpoint("run.scratch-link"),
  attributes: failpoint("run.scratch-attributes"),
  clear: failpoint("run.scratch-clear"),
};
/** Made anew for every command. */
const NEVER = ["/", "/proc", "/sys", "/dev"];
/** The kernel stamps files by a clock that lags behind ours by up to one tick. */
const TICK_MS = 10;

type Environment = { readonly [name: string]: string | undefined };

/** The folders that get a scratch layer. One that is, or is in, a resource of the plan needs none. */
export function scratchLayers(
  environment: Environment,
  resources: readonly string[],
  cannotCover: (folder: string) => boolean,
): readonly ScratchLayer[] {
  const wanted = { home: environment["HOME"], tmp: "/tmp", "var-tmp": "/var/tmp", tmpdir: environment["TMPDIR"] };
  const layers = new Map<string, ScratchLayer>();
  for (const [label, path] of Object.entries(wanted)) {
    const at = path?.startsWith("/") === true ? realPathOf(path) : undefined;
    if (at === undefined || layers.has(at) || !isWanted(at, resources)) continue;
    for (const layer of layersOf(label, at, cannotCover(at)))
      if (isWanted(layer.at, resources)) layers.set(layer.at, layer);
  }
  return [...layers.values()];
}

/**
 * Where something is mounted in a folder, a user without privilege can't lay anything over it. A temporary folder is then a new one, and of
 * the home only the hidden folders get layers, in which caches and settings are.
 */
function layersOf(label: string, at: string, cannotCover: boolean): readonly ScratchLayer[] {
  if (!cannotCover) return [{ at, name: `${label}-${digest(at)}`, alone: false }];
  if (label !== "home") return [{ at, name: `${label}-${digest(at)}`, alone: true }];
  using home = Folder.open(at);
  const hidden = home.names().filter((name) => name.startsWith(".") && home.facts(name)?.kind === "directory");
  return hidden.map((name) => ({ at: `${at}/${name}`, name: `home-${digest(`${at}/${name}`)}`, alone: false }));
}

function isWanted(at: string, resources: readonly string[]): boolean {
  if (NEVER.some((path) => at === path || at.startsWith(path === "/" ? "//" : `${path}/`))) return false;
  return factsOfPath(at)?.kind === "directory" && !resources.some((resource) => isAtOrBelow(at, resource));
}

function digest(path: string): string {
  return createHash("sha256").update(bytesFromPath(path)).digest("hex").slice(0, 12);
}

/** Makes the folders of the layers ready to be mounted, while nobody has them mounted. `plan` is the plan's folder. */
export function prepareScratch(plan: Folder, layers: readonly ScratchLayer[]): void {
  using scratch = ensureFolder(POINTS.scratch, plan, "scratch");
  for (const { at, name } of layers) {
    using layer = ensureFolder(POINTS.scratch, scratch, name);
    if (layer.facts("upper") === undefined) makeUpper(layer, at);
    // What a volatile mount leaves in there keeps the next one from being made.
    removeTree(POINTS.clear, layer, "work");
    layer.createFolder(POINTS.scratch, "work", 0o700);
  }
}

/** The root of the upper layer is what is seen in the place of the folder itself. */
function makeUpper(layer: Folder, at: string): void {
  if (layer.facts("lower") === undefined) layer.createLink(POINTS.link, "lower", at);
  using original = Folder.open(at);
  const { mode, uid, gid } = original.ownFacts();
  const fresh = "upper.new";
  removeTree(POINTS.clear, layer, fresh);
  layer.createFolder(POINTS.scratch, fresh, 0o700);
  if (process.geteuid?.() === 0) layer.setOwner(POINTS.attributes, fresh, uid, gid);
  layer.setMode(POINTS.attributes, fresh, mode);
  layer.move(POINTS.scratch, fresh, layer, "upper");
}

/** How many files were written in the layers since then. */
export function filesWritten(plan: Folder, since: number): number {
  using scratch = plan.openBelowIfThere("scratch");
  if (scratch === undefined) return 0;
  let files = 0;
  for (const name of scratch.names()) files += filesBelow(scratch, `${name}/upper`, since - TICK_MS);
  return files;
}

/** Without recursion, because a hostile program can make folders deeper than any stack. */
function filesBelow(parent: Folder, path: string, since: number): number {
  let files = 0;
  const open = [parent.openBelowIfThere(path)];
  try {
    for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
      using here = folder;
      for (const name of here.names()) {
        const facts = here.facts(name);
        if (facts?.kind === "directory") open.push(here.openBelowIfThere(name));
        else if (facts !== undefined && !isWhiteout(facts) && facts.ctime[0] * 1000 + facts.ctime[1] / 1e6 >= since)
          files += 1;
      }
    }
  } finally {
    for (const folder of open) folder?.close();
  }
  return files;
}

/** The mark of a file that was deleted. */
function isWhiteout({ kind, rdev }: { readonly kind: string; readonly rdev: string }): boolean {
  return kind === "device" && rdev === "0:0";
}
