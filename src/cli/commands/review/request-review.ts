import type { ReviewRequest, ReviewRequestOptions } from "../../../plans/review/approval-views.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";

/** Asks a person to review exactly what would land now. */
export async function requestReview(
  context: CommandContext,
  plan: string | undefined,
  { message }: ReviewRequestOptions,
): Promise<void> {
  const options = message === undefined ? {} : { message };
  const request = await openToChange(context, plan, (drydock) => drydock.plans.requestReview(plan, options));
  context.result(request, () => requestLines(request));
}

function* requestLines({ planId, digest, approval }: ReviewRequest): Generator<string> {
  yield `Asked for a review of ${planId} with digest ${digest}.`;
  yield approval?.digest === digest
    ? "It is approved already."
    : `It is answered with: drydock review ${planId}`;
}
