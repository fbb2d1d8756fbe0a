import { join } from "node:path";
import { baseName, isAtOrBelow, parentPath } from "../../core/paths/byte-path.ts";
import type { PolicyLayer, PolicyLine } from "../../core/values/run-policy.ts";
import { CACHE_LOCKS, SHARED_CACHES } from "../../sandboxes/scratch/caches.ts";
import { isThere } from "../../system/data/existence.ts";
import { factsOfPath, realPathOf } from "../../system/data/locations.ts";
import { shortDigest } from "../../system/data/short-digest.ts";
import { expanded, type PathLine } from "./path-rules.ts";

type Environment = { readonly [name: string]: string | undefined };

/** How much shared caches may hold together, if no config says. */
const USUAL_LIMIT = 20 * 2 ** 30;

/** The caches that a command shares with other plans. */
export interface CachesInForce {
  /** The folder that holds them. */
  readonly root: string;
  /** How many bytes that may hold. */
  readonly limit: number;
  readonly shared: readonly SharedCache[];
}

/** A path of the home at which commands see something of Drydock's own. */
export interface SharedCache extends PathLine {
  /** The path of what they see. */
  readonly stored: string;
  /** Whether it is the lock of a cache. */
  readonly isFile: boolean;
}

export interface CacheRequest {
  readonly profiles: readonly PolicyLayer[];
  /** What the user's own config says. */
  readonly own: readonly PolicyLayer[];
  readonly project: readonly PolicyLayer[];
  readonly environment: Environment;
  readonly home: string | undefined;
  /** Paths of the plan. */
  readonly resources: readonly string[];
  /** Folders that commands keep. */
  readonly persisted: readonly PathLine[];
  /** What commands can only read. */
  readonly readable: readonly PathLine[];
}

/** A project can take caches away, and keep them apart from those of other projects. */
export function cachesInForce(request: CacheRequest) {
  const { own, project, environment, home, resources, persisted, readable } = request;
  const allowed = allowedCaches(request);
  const lists = project.flatMap(({ caches }) => (caches === undefined ? [] : [caches]));
  const isIn = ({ value }: PolicyLine, lines: readonly PolicyLine[]) =>
    lines.some((line) => line.value === value);
  const wanted = allowed.filter((line) => lists.every((list) => isIn(line, list)));
  const root = cacheRoot(environment);
  const scopes = [...own, ...project].flatMap(({ cacheScope }) => cacheScope ?? []);
  const isOfProject = scopes.some(({ value }) => value === "project");
  const set = isOfProject ? `project-${setDigest(resources)}` : "user";
  const found = wanted.flatMap((line) => pathsOf(line, home));
  const taken = [...resources, ...persisted.map(({ path }) => path)];
  // In what can only be read, no place can be made for a cache that is missing.
  const hasPlace = (path: string) =>
    isThere(path) || !readable.some((other) => isAtOrBelow(path, other.path));
  const shared = outermost(found).filter(
    ({ path }) =>
      hasPlace(path) && !taken.some((other) => isAtOrBelow(path, other) || isAtOrBelow(other, path)),
  );
  const limit = own.findLast(({ cacheLimit }) => cacheLimit !== undefined)?.cacheLimit?.bytes;
  return {
    caches: {
      root: root ?? "",
      limit: limit ?? USUAL_LIMIT,
      shared:
        root === undefined
          ? []
          : shared.map((place) => ({ ...place, stored: `${root}/${set}/${nameOf(place.value)}` })),
    },
    refused: [
      ...lists.flat().filter((line) => !isIn(line, allowed)),
      ...project.flatMap(({ cacheLimit }) => cacheLimit ?? []),
      ...project.flatMap(({ cacheScope }) =>
        cacheScope?.value === "user" && isOfProject ? [cacheScope] : [],
      ),
    ],
  };
}

/** Where shared caches are; undefined without a home. Beside them is nothing of the user's. */
function cacheRoot({ XDG_CACHE_HOME: folder, HOME: home }: Environment): string | undefined {
  const caches = folder?.startsWith("/") === true ? folder : home && join(home, ".cache");
  if (caches?.startsWith("/") !== true) return undefined;
  return join(realPathOf(caches) ?? caches, SHARED_CACHES);
}

/** The list of the user's own config counts instead of those of profiles. */
function allowedCaches({ own, profiles }: CacheRequest): readonly PolicyLine[] {
  const named = own.findLast(({ caches }) => caches !== undefined)?.caches;
  const all = named ?? profiles.flatMap(({ caches }) => caches ?? []);
  return [...new Map(all.toReversed().map((line) => [line.value, line])).values()].toReversed();
}

type CachePath = Omit<SharedCache, "stored">;

function pathsOf(line: PolicyLine, home: string | undefined): readonly CachePath[] {
  const place = (value: string, isFile: boolean): readonly CachePath[] => {
    const written = expanded(value, home);
    if (written === undefined) return [];
    const path = realOrFuture(written);
    const kind = factsOfPath(path)?.kind ?? (isFile ? "file" : "directory");
    return kind === (isFile ? "file" : "directory") ? [{ ...line, value, path, isFile }] : [];
  };
  return [
    ...place(line.value, false),
    ...(CACHE_LOCKS[line.value.slice(2)] ?? []).flatMap((lock) => place(`~/${lock}`, true)),
  ];
}

/** The path without links; what is missing would be a file or folder. */
function realOrFuture(path: string): string {
  return realPathOf(path) ?? `${realOrFuture(parentPath(path) || "/")}/${baseName(path)}`;
}

/** Each place once, and none in another one. */
function outermost(places: readonly CachePath[]): readonly CachePath[] {
  return places.filter(
    ({ path }, index) =>
      !places.some(
        (other, at) => at !== index && isAtOrBelow(path, other.path) && (at < index || other.path !== path),
      ),
  );
}

/** Equal for plans over the same resources. */
function setDigest(paths: readonly string[]): string {
  return shortDigest(Buffer.from(JSON.stringify(paths.toSorted())));
}

/** A path of the home as one name. */
function nameOf(value: string): string {
  return value.slice(2).replaceAll("%", "%25").replaceAll("/", "%2F");
}
