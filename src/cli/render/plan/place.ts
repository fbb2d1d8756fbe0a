import { displayPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";

/** A path within a resource as people see it; the root of a resource is shown as the resource. */
export function placeOf(resource: string | undefined, path: string): string {
  if (resource === undefined) return displayPath(path);
  return displayPath(path === ROOT_PATH ? resource : `${resource}/${path}`);
}
