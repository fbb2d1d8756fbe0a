import { isAtOrBelow } from "../../core/paths/byte-path.ts";
import { realPathOf } from "../../system/data/locations.ts";

/**
 * What programs keep in a home for themselves and can do without: caches, indexes and histories. A run that
 * writes only here, or to temporary folders, leaves nothing worth keeping outside of its plan. The list is
 * in docs/running.md too.
 */
export const CACHES_IN_HOME: readonly string[] = [
  ".cache",
  ".npm",
  ".node-gyp",
  ".pnpm-store",
  ".local/share/pnpm/store",
  ".yarn",
  ".bun/install/cache",
  ".cargo/registry",
  ".cargo/git",
  "go/pkg/mod",
  ".gradle/caches",
  ".gradle/daemon",
  ".m2/repository",
  ".ivy2/cache",
  ".nuget/packages",
  ".composer/cache",
  ".ccache",
  ".nv",
  ".bash_history",
  ".zsh_history",
  ".python_history",
  ".node_repl_history",
  ".sqlite_history",
  ".lesshst",
  ".viminfo",
  ".wget-hsts",
];

/** Where caches that plans share are, in the user's folder for caches (run/caches/locked-caches.ts). */
export const SHARED_CACHES = "drydock/caches";

/** Files beside a cache with which its program keeps two runs of itself apart. They are shared with it. */
export const CACHE_LOCKS: { readonly [cache: string]: readonly string[] } = {
  ".cargo/registry": [".cargo/.package-cache", ".cargo/.package-cache-mutate"],
  ".cargo/git": [".cargo/.package-cache", ".cargo/.package-cache-mutate"],
};

/** Whether an empty file stands for the lock of a cache. */
export function isCacheLock(path: string, home: string | undefined): boolean {
  return Object.values(CACHE_LOCKS).some((locks) => locks.some((lock) => path === `${home}/${lock}`));
}

/** The home that commands see: the layers of a plan are named by real paths. */
export function homeOf({ HOME: home }: { readonly [name: string]: string | undefined }): string | undefined {
  return home?.startsWith("/") === true ? realPathOf(home) : undefined;
}

/** The cache that a path is in; undefined if it is in none. */
export function cacheAround(path: string, home: string | undefined): string | undefined {
  if (home === undefined) return undefined;
  return CACHES_IN_HOME.map((name) => `${home}/${name}`).find((cache) => isAtOrBelow(path, cache));
}
