import type { PlanReviews } from "../../../plans/review/plan-reviews.ts";
import type { ReviewedChange, ReviewPage } from "../../../plans/review/review-views.ts";

/** The changes of a plan at or below these paths, or all, from all pages. */
export async function* everyChange(
  reviews: Pick<PlanReviews, "changes">,
  plan: string,
  paths: readonly string[] = [],
): AsyncGenerator<ReviewedChange> {
  let cursor: string | undefined;
  do {
    const page: ReviewPage = await reviews.changes(plan, {
      ...{ paths, limit: 10_000 },
      ...(cursor !== undefined && { cursor }),
    });
    yield* page.changes;
    cursor = page.next;
  } while (cursor !== undefined);
}
