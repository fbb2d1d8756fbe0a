import { SandboxConflictError, UsageError } from "../core/errors/errors.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { Session } from "../sandboxes/access/session.ts";
import type { HistoryEntry } from "../store/store.ts";
import type { Approval, ApproveOptions, ReviewState } from "./review/approval-views.ts";

/**
 * Approvals: the word of a person that exactly what has a certain digest may land.
 *
 * An approval is an entry of the plan's history and nothing else, so the log tells who gave it, when and in
 * which way, also after the plan has landed. It binds by the digest: when a sandbox or an original moves, the
 * digest moves, and the approval is void. Only the last approval of a plan counts.
 */
const APPROVED = "approved";

export async function recordApproval(
  { history, store }: Session,
  planId: string,
  { digest, allow = [], via = "library" }: ApproveOptions,
): Promise<Approval> {
  const entry = history.entry(planId, APPROVED, { digest, via, allow: [...allow] });
  await store.write([entry], "ordered");
  return approvalIn(entry.record);
}

const REVIEW_ASKED = "review asked";

/** Records that a review of this digest is wanted, unless that is the last one recorded. */
export async function noteReviewAsked(
  { history, store }: Session,
  planId: string,
  asked: { readonly digest: string; readonly message?: string },
): Promise<void> {
  const last = (await store.lastEntry(planId, [REVIEW_ASKED]))?.entry.details;
  if (last?.["digest"] !== asked.digest || last["message"] !== asked.message)
    await history.note(planId, REVIEW_ASKED, { ...asked });
}

/** The last approval of a plan. */
export async function lastApproval({ store }: Session, planId: string): Promise<Approval | undefined> {
  const last = await store.lastEntry(planId, [APPROVED]);
  return last === undefined ? undefined : approvalIn(last.entry);
}

/**
 * How far the review of a plan is. A request for a review of what has a verdict already is no new one: agents
 * ask again to see the verdict.
 */
export async function reviewState({ store }: Session, planId: string): Promise<ReviewState | undefined> {
  const asked = await store.lastEntry(planId, [REVIEW_ASKED]);
  const verdict = await store.lastEntry(planId, [APPROVED, "changes asked"]);
  const isAnswered =
    verdict !== undefined &&
    (asked === undefined ||
      asked.seq < verdict.seq ||
      asked.entry.details["digest"] === verdict.entry.details["digest"]);
  if (!isAnswered) return asked && "asked";
  return verdict.entry.event === APPROVED ? APPROVED : "changes asked";
}

function approvalIn({ planId, at, actor, details }: HistoryEntry): Approval {
  const { digest, via, allow } = details;
  return {
    ...{ planId, at, actor },
    ...{ digest: String(digest), via: String(via) },
    allow: Array.isArray(allow) ? allow.map(String) : [],
  };
}

/** The changes that would land are not those that a person saw. */
export function movedOn(approval: Approval | undefined): SandboxConflictError {
  const seen =
    approval === undefined
      ? "reviewed: the digest differs."
      : `approved by ${approval.actor} at ${approval.at}: that approval is void.`;
  return new SandboxConflictError([], {
    message: `What would land now is not what was ${seen}`,
    code: "DIGEST_DIFFERS",
  });
}

export function notApproved(plan: PlanRecord): UsageError {
  return new UsageError(`The plan ${plan.name} is not approved.`, {
    hint: "A person looks at its diff and approves it.",
    code: "NOT_APPROVED",
  });
}
