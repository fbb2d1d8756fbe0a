import { baseName, ROOT_PATH } from "../core/byte-path.ts";
import { UsageError } from "../core/errors.ts";
import type { Resource } from "../core/resource.ts";
import { assertResourcePath } from "../core/resource-path.ts";

/**
 * What of the file system a resource is: a folder with all that is in it, or one file. A file is handled as a folder in which only one name
 * counts, because a file can only be replaced in its folder. Inside the engine its path is that name; outside it is ".".
 */
export interface Scope {
  /** Absolute path of the folder. */
  readonly root: string;
  /** The one name that counts. */
  readonly only?: string;
}

export function scopeOf(resource: Resource): Scope {
  if (resource.type !== "fs-file") return { root: resource.location };
  const slash = resource.location.lastIndexOf("/");
  return { root: resource.location.slice(0, slash) || "/", only: baseName(resource.location) };
}

/** The engine's path for a path inside the resource. */
export function toEnginePath(scope: Scope, path: string): string {
  const checked = assertResourcePath(path);
  if (scope.only === undefined) return checked;
  if (checked === ROOT_PATH || checked === scope.only) return scope.only;
  throw new UsageError(`The resource is a single file and has no path '${path}' inside.`, {
    hint: "Use '.' for the file itself.",
    code: "BAD_PATH",
  });
}

/** The path inside the resource for an engine's path. */
export function toResourcePath(scope: Scope, path: string): string {
  return scope.only !== undefined && path === scope.only ? ROOT_PATH : path;
}
