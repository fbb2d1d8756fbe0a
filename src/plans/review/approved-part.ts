import type { ChosenPaths } from "../../commit/commit-all.ts";
import type { ExactPart } from "../../core/change.ts";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { PlanRecord } from "../../core/plan.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { digestOf } from "../plan-changes.ts";
import type { PlanChange } from "../plan-views.ts";
import { changeDigest } from "./change-digests.ts";
import { hunksOf } from "./change-hunks.ts";
import { ReviewRecord } from "./review-record.ts";
import type { Vote } from "./review-views.ts";

/** The part of a plan that lands because reviewers voted for it: exactly that, and nothing beside it. */
export interface ApprovedPart {
  /** The changes of which all or some hunks land. */
  readonly landing: readonly PlanChange[];
  readonly chosen: readonly ChosenPaths[];
  /** If everything that the plan changes is approved: the digest of that. */
  readonly whole?: string;
}

/** How many paths the history names of a part. */
const MOST_NAMED = 1000;

/** The approved changes among these, which are all of the plan. Refuses if there are none. */
export async function approvedPart(
  session: PlanSession,
  plan: PlanRecord,
  changes: readonly PlanChange[],
): Promise<ApprovedPart> {
  const chosen = await votedChanges(session, plan, changes, "approved");
  if (chosen.length === 0)
    throw new UsageError(`No change of the plan ${plan.name} is approved as it is now.`, {
      hint: "A person looks at its changes and approves those that may land.",
      code: "NOT_APPROVED",
    });
  const isWhole = chosen.length === changes.length && chosen.every(({ hunks }) => hunks === undefined);
  const landing = chosen.map(({ change }) => change);
  if (!isWhole) assertNoObjects(landing);
  const byResource = [...Map.groupBy(chosen, ({ change }) => change.resource)];
  return {
    landing,
    chosen: byResource.map(([resource, some]) => chosenOf(resource, some)),
    ...(isWhole && { whole: digestOf(changes) }),
  };
}

/** A change that has a vote, or the hunks of it that have. */
export interface VotedChange {
  readonly change: PlanChange;
  readonly hunks?: readonly string[];
}

/** Those among the changes of a plan that have this vote as they are now, as a whole or in some hunks. */
export async function votedChanges(
  session: PlanSession,
  plan: PlanRecord,
  changes: readonly PlanChange[],
  vote: Vote,
): Promise<readonly VotedChange[]> {
  const record = new ReviewRecord(await session.store.history(plan.id));
  const found: VotedChange[] = [];
  for (const change of changes) {
    const { vote: whole, hunks: votes = {} } = record.of(changeDigest(change), "");
    if (!Object.values(votes).some((each) => each !== whole)) {
      if (whole === vote) found.push({ change });
      continue;
    }
    const hunks = await hunksOf(session.sandboxes, plan, change);
    const chosen = hunks.filter(({ id }) => (votes[id] ?? whole) === vote).map(({ id }) => id);
    if (chosen.length === hunks.length) found.push({ change });
    else if (chosen.length > 0) found.push({ change, hunks: chosen });
  }
  return found;
}

function chosenOf(resource: string, chosen: readonly VotedChange[]): ChosenPaths {
  const exactly = exactPart(chosen);
  return { resource, only: exactly.paths.slice(0, MOST_NAMED), exactly };
}

/** The changes of one resource as a part. */
export function exactPart(chosen: readonly VotedChange[]): ExactPart {
  const paths = chosen.map(({ change }) => change.path);
  const inHunks = chosen.flatMap(({ change, hunks }) =>
    hunks === undefined ? [] : [[change.path, hunks] as const],
  );
  return { paths, ...(inHunks.length > 0 && { hunks: Object.fromEntries(inHunks) }) };
}

/** Commits and refs of a checkout land only with all of it. */
function assertNoObjects(landing: readonly PlanChange[]): void {
  const object = landing.find(({ kind }) => kind === "object");
  if (object === undefined) return;
  throw new UsageError(`${displayPath(object.path)} of ${object.resource} can't land without the rest.`, {
    hint: "Commits land when all changes of the plan are approved. Take the vote on them back, or approve the rest.",
    code: "NO_PARTS",
  });
}
