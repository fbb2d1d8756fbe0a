import { displayPath } from "../../../core/paths/byte-path.ts";
import type { CommentTarget } from "../../../plans/review/review-views.ts";
import { placeOf } from "./attention-line.ts";

/** What a comment is on, as people see it, harmless in a terminal; nothing if it is on the plan. */
export function commentPlace({ resource, path, line, side }: CommentTarget): string | undefined {
  if (path === undefined) return resource ? displayPath(resource) : undefined;
  const at = line === undefined ? "" : `:${line}${side === "before" ? " (before)" : ""}`;
  return `${placeOf(resource, path)}${at}`;
}
