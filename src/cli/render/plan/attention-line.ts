import { displayPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import type { Attention } from "../../../core/strategy.ts";
import { oneLine } from "../../terminal/printable.ts";
import type { Styles } from "../styles.ts";

/** Something in a landing that a person should look at. */
export function attentionLine(attention: Attention & { readonly resource: string }, styles: Styles): string {
  const { resource, path, message, keptAt } = attention;
  const kept = keptAt === undefined ? "" : `; kept at ${displayPath(keptAt)}`;
  return `${styles.yellow("attention:")} ${placeOf(resource, path)}: ${oneLine(message)}${kept}`;
}

/** A path within a resource as people see it; the root of a resource is shown as the resource. */
export function placeOf(resource: string | undefined, path: string): string {
  if (resource === undefined) return displayPath(path);
  return displayPath(path === ROOT_PATH ? resource : `${resource}/${path}`);
}
