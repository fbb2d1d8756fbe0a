import { resolve } from "node:path";
import { isAtOrBelow, parentPath } from "../../core/paths/byte-path.ts";
import { walkBelow } from "../../engine/tree/walk.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { isThere } from "../../system/data/existence.ts";
import { realPathOf } from "../../system/data/locations.ts";
import { cacheAround, isCacheLock, SHARED_CACHES } from "./caches.ts";
import { openUpper, type WrittenLayer, writtenLayers } from "./scratch-layers.ts";

/** An entry that commands of a plan wrote or removed outside of its resources. It never lands. */
export interface OutsideFile {
  /** Its path on the machine. */
  readonly path: string;
  readonly kind: "file" | "symlink" | "fifo" | "socket" | "device" | "removed";
  readonly bytes: number;
  /** It is in a cache or in a temporary folder (caches.ts). */
  readonly cache?: true;
}

/** An entry with what is needed to look at it. */
export interface FoundOutside extends OutsideFile {
  readonly layer: WrittenLayer;
  /** The path of the cache or the temporary folder around it. */
  readonly cacheAt?: string;
  /** Its path in the layer. */
  readonly storedAt: string;
  readonly facts: Facts;
}

export interface OutsideQuery {
  /** The locations of the plan's resources: what is there is not outside. */
  readonly resources: readonly string[];
  /** The user's home. */
  readonly home: string | undefined;
  /** Only entries that changed since then, in milliseconds. */
  readonly since?: number;
}

/** The kernel's file timestamps lag behind our clock by up to one tick. */
const TICK_MS = 10;

/** Everything in the scratch layers of a plan but folders. `plan` is the plan's folder. */
export function* filesOutside(plan: Folder, query: OutsideQuery): Generator<FoundOutside> {
  for (const layer of writtenLayers(plan)) yield* filesIn(layer, query);
}

function* filesIn(layer: WrittenLayer, query: OutsideQuery): Generator<FoundOutside> {
  using upper = openUpper(layer);
  for (const { path: storedAt, parent, name, facts } of walkBelow(upper)) {
    const kind = kindOf(facts);
    if (kind === undefined || !isSince(facts, (query.since ?? 0) - TICK_MS)) continue;
    const path = `${layer.at === "/" ? "" : layer.at}/${storedAt}`;
    if (kind === "symlink" && isStandIn(parent.readLink(name), path)) continue;
    if (kind === "file" && facts.size === 0 && isPoint(path, layer, query)) continue;
    if (query.resources.some((location) => isAtOrBelow(path, location))) continue;
    const bytes = kind === "file" ? facts.size : 0;
    yield { path, kind, bytes, layer, storedAt, facts, ...cacheOf(path, layer, query) };
  }
}

/** Whether an empty file may be a mount point that Drydock made. */
function isPoint(path: string, { isOwnHome }: WrittenLayer, { home }: OutsideQuery): boolean {
  return isCacheLock(path, home) || (isOwnHome && isThere(path));
}

/** Whether Drydock put a link into the home: for what is at this path, or for a shared cache. */
function isStandIn(target: string, path: string): boolean {
  if (target === path || target.includes(`/${SHARED_CACHES}/`)) return true;
  const real = realPathOf(path);
  return real !== undefined && real === realPathOf(resolve(parentPath(path), target));
}

function cacheOf(
  path: string,
  { isTemporary, at }: FoundOutside["layer"],
  { home }: OutsideQuery,
): Pick<FoundOutside, "cache" | "cacheAt"> {
  const cacheAt = isTemporary ? at : cacheAround(path, home);
  return cacheAt === undefined ? {} : { cache: true, cacheAt };
}

/** Undefined for a folder, which says nothing by itself. */
function kindOf(facts: Facts): OutsideFile["kind"] | undefined {
  if (isWhiteout(facts)) return "removed";
  const { kind } = facts;
  if (kind === "directory") return undefined;
  return kind === "block-device" ? "device" : kind;
}

function isSince({ ctime: [seconds, nanoseconds] }: Facts, since: number): boolean {
  return seconds * 1000 + nanoseconds / 1e6 >= since;
}

/** The mark of a deleted entry. */
function isWhiteout({ kind, rdev }: Facts): boolean {
  return kind === "device" && rdev === "0:0";
}
