import { createHash } from "node:crypto";
import { bytesFromPath, isAtOrBelow } from "../core/byte-path.ts";
import { ensureFolder } from "../files/remove-tree.ts";
import { writeSmallFile } from "../files/small-file.ts";
import { failpoint } from "../system/failpoints.ts";
import type { Folder } from "../system/folder.ts";
import { readTextFile, realPathOf } from "../system/text-files.ts";
import type { ScratchLayer } from "./scratch.ts";
import { refersTo, type Shown } from "./shown.ts";
import type { StandIn } from "./view.ts";

const POINTS = { make: failpoint("run.stand-in"), fill: failpoint("run.stand-in-fill") };
const SHARED_MEMORY = "/dev/shm";
const RESOLVER = "/etc/resolv.conf";
const MOST_BYTES = 1 << 20;

export interface StandInRequest {
  /** A folder of this one command. */
  readonly folder: Folder;
  /** The plan's folder, with the scratch layers. */
  readonly plan: Folder;
  readonly scratch: readonly ScratchLayer[];
  readonly strict: boolean;
  readonly shown: readonly Shown[];
  readonly hidden: readonly string[];
}

/**
 * Folders that take the place of some of the host's, with names to mount on what is shown in them: with `--strict` private temporary folders, and
 * an empty /run, in which the sockets of daemons are. Shared memory is always private; it needs one only if something is shown in it.
 */
export function makeStandIns(request: StandInRequest): readonly StandIn[] {
  const { shown, hidden, strict } = request;
  const needsMemory = [...shown.map(({ at }) => at), ...hidden].some((at) => isAtOrBelow(at, SHARED_MEMORY));
  const wanted = [...(needsMemory ? [{ at: SHARED_MEMORY, writable: true }] : []), ...(strict ? strictFolders() : [])];
  return [
    ...wanted.map(({ at, writable }, index) => make(request, at, writable, `stand-in-${index}`)),
    ...request.scratch.filter(({ alone }) => alone).map((layer) => fillLayer(request, layer)),
  ];
}

/**
 * What stands over a folder that is hidden, where something in it is shown. Kept with the plan: others may share the view, and what is mounted on
 * names in it would go with these. It holds `root` too, as the cover of other hidden folders does (skeleton.ts).
 */
export function openHidden(request: StandInRequest, at: string): StandIn {
  const name = `hidden-${createHash("sha256").update(bytesFromPath(at)).digest("hex").slice(0, 12)}`;
  using made = ensureFolder(POINTS.make, request.plan, name);
  makePoints(request, made, at);
  ensureFolder(POINTS.make, made, "root").close();
  request.plan.setMode(POINTS.make, name, 0o755);
  return { at, folder: request.plan.label(name), writable: false };
}

/** Whether something in a hidden folder is shown. */
export function isOpened(at: string, shown: readonly Shown[]): boolean {
  return shown.some((item) => isStrictlyBelow(item.at, at));
}

/** A scratch layer that lies on nothing is a folder like the others, but it is kept. */
function fillLayer(request: StandInRequest, { at, name }: ScratchLayer): StandIn {
  using upper = request.plan.openBelow(`scratch/${name}/upper`);
  makePoints(request, upper, at);
  return { at, folder: upper.path, writable: true };
}

function strictFolders(): readonly { readonly at: string; readonly writable: boolean }[] {
  const folders = [
    { path: "/tmp", writable: true },
    { path: "/var/tmp", writable: true },
    { path: "/run", writable: false },
    { path: "/var/run", writable: false },
  ];
  const real = new Map(folders.map(({ path, writable }) => [realPathOf(path), writable]));
  return [...real].flatMap(([at, writable]) => (at === undefined || at === "/" ? [] : [{ at, writable }]));
}

function make(request: StandInRequest, at: string, writable: boolean, name: string): StandIn {
  const { folder } = request;
  using made = ensureFolder(POINTS.make, folder, name);
  makePoints(request, made, at);
  if (!writable) keepResolver(made, at);
  folder.setMode(POINTS.make, name, writable ? 0o1777 : 0o755);
  return { at, folder: folder.label(name), writable };
}

/** Names to mount on for everything that is shown below. */
function makePoints({ shown, hidden, scratch }: StandInRequest, folder: Folder, at: string): void {
  const paths = [...hidden, ...scratch.map((layer) => layer.at), ...refersTo(shown)];
  const others = paths.map((path) => ({ at: path, isFile: false }));
  for (const item of [...shown, ...others])
    if (isStrictlyBelow(item.at, at)) makePoint(folder, item.at.slice(at.length + 1), item.isFile);
}

/** A name to mount on. */
function makePoint(folder: Folder, path: string, isFile: boolean): void {
  const slash = path.indexOf("/");
  const name = slash < 0 ? path : path.slice(0, slash);
  if (slash < 0 && isFile) {
    writeSmallFile(POINTS.fill, folder, name, Buffer.alloc(0));
    return;
  }
  using next = ensureFolder(POINTS.make, folder, name);
  folder.setMode(POINTS.make, name, 0o755);
  if (slash >= 0) makePoint(next, path.slice(slash + 1), isFile);
}

/** Names of the network are found by a file that is often in /run. It is no socket, so it stays. */
function keepResolver(folder: Folder, at: string): void {
  const real = realPathOf(RESOLVER);
  if (real === undefined || !isStrictlyBelow(real, at)) return;
  const path = real.slice(at.length + 1);
  makePoint(folder, path, true);
  const slash = path.lastIndexOf("/");
  using parent = folder.openBelow(slash < 0 ? "." : path.slice(0, slash));
  const name = path.slice(slash + 1);
  writeSmallFile(POINTS.fill, parent, name, readTextFile(real, MOST_BYTES)?.bytes ?? Buffer.alloc(0));
  parent.setMode(POINTS.fill, name, 0o644);
}

function isStrictlyBelow(path: string, ancestor: string): boolean {
  return path !== ancestor && isAtOrBelow(path, ancestor);
}
