import { UsageError } from "../../../core/errors/errors.ts";
import { displayPath, joinPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import type { PlanReviews } from "../../../plans/review/plan-reviews.ts";
import type { CommentTarget, ReviewedChange } from "../../../plans/review/review-views.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { parsePathFilter } from "../../options/path-filter.ts";
import { commentPlace } from "../../render/plan/comment-place.ts";
import { everyChange } from "./every-change.ts";

interface Said {
  readonly text: string;
  /** PATH[:LINE]. Absent: it is about the plan. */
  readonly on: string | undefined;
}

/** Says something about a plan, or about one of its changes as it is now. */
export async function comment(
  context: CommandContext,
  plan: string | undefined,
  { text, on }: Said,
): Promise<void> {
  const made = await openToChange(context, plan, async (drydock) => {
    const { id } = await drydock.plans.find(plan);
    const reviews = await drydock.reviews();
    const target = on === undefined ? {} : await targetOf(reviews, id, on);
    return await reviews.comment(id, { text, ...target, via: "command line" });
  });
  context.result(made, () => [`Commented on ${commentPlace(made) ?? "the plan"}.`]);
}

/** The change that is meant. A name can end like a line does, so the plan's own paths come first. */
async function targetOf(
  reviews: Pick<PlanReviews, "changes">,
  plan: string,
  given: string,
): Promise<CommentTarget> {
  const [, before, line] = /^(.+):([1-9]\d{0,8})$/s.exec(given) ?? [];
  const meant = [given, ...(before === undefined ? [] : [before])].map(parsePathFilter);
  const changes: ReviewedChange[] = [];
  for await (const change of everyChange(reviews, plan, meant))
    if (meant.some((path) => isCalled(change, path))) changes.push(change);
  const [whole = given, part] = meant;
  const named = changes.filter((change) => isCalled(change, whole));
  if (named.length > 0 || part === undefined) return theOnly(named, whole);
  return { ...theOnly(changes, part), line: Number(line) };
}

/** Paths are relative to a resource, or begin with its name, as for 'plan diff'. */
function isCalled({ resource, path }: ReviewedChange, given: string): boolean {
  return path === given || (path === ROOT_PATH ? resource : joinPath(resource, path)) === given;
}

function theOnly(changes: readonly ReviewedChange[], given: string): CommentTarget {
  const [change, ...others] = changes;
  if (change === undefined)
    throw new UsageError(`The plan does not change ${displayPath(given)}.`, {
      hint: "Give a path as 'drydock plan diff' lists it, or leave --on out to comment on the plan.",
      code: "NO_MATCH",
    });
  if (others.length > 0)
    throw new UsageError(`The plan changes ${displayPath(given)} in several resources.`, {
      hint: `Begin it with the name of one: ${changes.map(({ resource }) => displayPath(resource)).join(", ")}.`,
      code: "NO_MATCH",
    });
  const { resource, path, digest } = change;
  return { resource, path, digest };
}
