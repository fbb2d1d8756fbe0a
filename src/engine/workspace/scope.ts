import { UsageError } from "../../core/errors/errors.ts";
import { baseName, nearest, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { assertResourcePath, isOfType, type PlainData, type Resource } from "../../core/resource/resource.ts";

/**
 * The part of the file system that is a resource: a folder with all its contents, or one file. A file is
 * handled as a folder in which only one name counts, because a file can only be replaced through its folder.
 * The engine's path of such a file is its name; outside of the engine it is ".".
 */
export interface Scope {
  /** Absolute path of the folder. */
  readonly root: string;
  /** The one name that counts. */
  readonly only?: string;
  /** Paths in the folder that do not belong to it, because they are resources of their own. */
  readonly without?: readonly string[];
  /** The folder in it with HEAD and the index of a checkout, if that is known. */
  readonly repository?: string;
  /** The submodules of a checkout whose repositories land by git's own rules. */
  readonly submodules?: readonly Submodule[];
}

export interface Submodule {
  /** The path of its repository in the folder. */
  readonly repository: string;
  /** The absolute path of its files. */
  readonly worktree: string;
}

export function scopeOf(resource: Resource): Scope {
  const { location, properties } = resource;
  if (!isOfType(resource, "fs-file"))
    return { root: location, ...withoutFrom(properties), ...repositoriesFrom(properties) };
  const slash = location.lastIndexOf("/");
  return { root: location.slice(0, slash) || "/", only: baseName(location) };
}

/** The excluded paths, from the properties of a resource or the metadata of a sandbox. */
export function withoutFrom(facts: { readonly [key: string]: PlainData }): Pick<Scope, "without"> {
  const without = facts["without"];
  return Array.isArray(without) && without.length > 0 ? { without: without.map(String) } : {};
}

/** The repositories, from the properties of a resource or the metadata of a sandbox. */
export function repositoriesFrom(facts: {
  readonly [key: string]: PlainData;
}): Pick<Scope, "repository" | "submodules"> {
  const { repository, submodules } = facts;
  if (typeof repository !== "string") return {};
  return Array.isArray(submodules) && submodules.length > 0
    ? { repository, submodules: submodules as unknown as readonly Submodule[] }
    : { repository };
}

/** Whether this path is excluded from the resource. */
export function isExcluded({ without }: Scope, path: string): boolean {
  return without !== undefined && nearest(asSet(without), path) !== undefined;
}

/** A checkout with many submodules has thousands of excluded paths, and every change asks for them. */
const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

function asSet(paths: readonly string[]): ReadonlySet<string> {
  const known = sets.get(paths) ?? new Set(paths);
  sets.set(paths, known);
  return known;
}

/** The engine's path for a path inside the resource. */
export function toEnginePath(scope: Scope, path: string): string {
  const checked = assertResourcePath(path);
  if (isExcluded(scope, checked))
    throw new UsageError(
      `'${path}' does not belong to this resource: it is a resource of its own in the plan, or Drydock's state.`,
      { code: "LEFT_OUT" },
    );
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
