import type { ChangeSide } from "../../core/change.ts";
import { UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { PlanRecord } from "../../core/plan.ts";
import { isBinary, LARGEST_TEXT } from "../../engine/show/text-diff.ts";
import { type Hunk, hunksBetween } from "../../engine/text/hunks.ts";
import type { PlanSandboxes } from "../../sandboxes/plan-sandboxes.ts";
import type { PlanChange } from "../plan-views.ts";
import { changeContent } from "./change-content.ts";

/** Whether the change is one of a text, of which hunks can be shown and can land alone. */
export function hasHunks({ operation, kind, before, after, binary }: PlanChange): boolean {
  if (operation !== "modified" || kind !== "file" || binary === true) return false;
  if (before?.digest === undefined || after?.digest === undefined) return false;
  return Math.max(before.size ?? 0, after.size ?? 0) <= LARGEST_TEXT;
}

/** The hunks of the change of a text file, of exactly the content that the change has. */
export async function hunksOf(
  sandboxes: PlanSandboxes,
  plan: PlanRecord,
  change: PlanChange,
): Promise<readonly Hunk[]> {
  const { resource, path } = change;
  if (!hasHunks(change)) throw withoutHunks(path);
  const content = (side: ChangeSide) =>
    changeContent(plan, sandboxes, { resource, path, side, digest: change[side]?.digest });
  const [before, after] = [await content("before"), await content("after")];
  if (isBinary(before) || isBinary(after)) throw withoutHunks(path);
  return hunksBetween(before, after);
}

function withoutHunks(path: string): UnsupportedError {
  return new UnsupportedError(`${displayPath(path)} has no hunks.`, {
    hint: "Only changes of text files have: approve or reject it as a whole.",
  });
}
