import { PathPatterns } from "../paths/path-patterns.ts";

/** What a host lends to plans that were made on other hosts. */
export interface LentResource {
  /** A path with everything below it, in which `*` and `**` may stand, or a URL. */
  readonly location: string;
  /** Only resources of this type. Absent: of any. */
  readonly type?: string;
  /** Whether commands of other hosts may run in plans with it. */
  readonly run: boolean;
}

/** Whether a host lends a resource, and for commands if `run` says so. */
export function isLent(
  lend: readonly LentResource[],
  resource: { readonly location: string; readonly lineage: readonly string[] },
  run = false,
): boolean {
  return lend.some(
    ({ location, type, run: mayRun }) =>
      (type === undefined || resource.lineage.includes(type)) &&
      (!run || mayRun) &&
      covers(location, resource.location),
  );
}

function covers(pattern: string, location: string): boolean {
  if (pattern.startsWith("/") !== location.startsWith("/")) return false;
  if (!pattern.startsWith("/")) return pattern === location;
  const [chosen, path] = [pattern, location].map((each) => each.replace(/^\/+|\/+$/g, ""));
  return new PathPatterns([chosen === "" ? "." : (chosen ?? ".")]).has(path ?? "");
}
