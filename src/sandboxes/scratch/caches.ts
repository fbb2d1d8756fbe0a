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

/** The home that commands see: the layers of a plan are named by real paths. */
export function homeOf({ HOME: home }: { readonly [name: string]: string | undefined }): string | undefined {
  return home?.startsWith("/") === true ? realPathOf(home) : undefined;
}

/** The cache that a path is in; undefined if it is in none. */
export function cacheAround(path: string, home: string | undefined): string | undefined {
  if (home === undefined) return undefined;
  return CACHES_IN_HOME.map((name) => `${home}/${name}`).find((cache) => isAtOrBelow(path, cache));
}
