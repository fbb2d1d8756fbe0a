import { UsageError } from "../../core/errors/errors.ts";
import { displayPath, isAtOrBelow, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { PlanRecord } from "../../core/plan.ts";
import { NO_WORDS } from "../../core/self-running/protected-paths.ts";
import type { PlanSandboxes } from "../../sandboxes/plan-sandboxes.ts";
import { movedOn } from "../approvals.ts";
import { ChangesDigest, eachChange } from "../plan-changes.ts";
import type { PlanChange } from "../plan-views.ts";
import { changeDigest } from "./change-digests.ts";
import type { ReviewTarget, ReviewTargets } from "./review-views.ts";

/** The changes that a reviewer means, each by its digest, and the hunks. */
export interface MeantChanges {
  readonly digests: ReadonlySet<string>;
  readonly hunks: readonly { readonly change: string; readonly hunk: string }[];
}

const DIGEST = /^[0-9a-f]{64}$/;
const HUNK = /^[0-9a-f]{16}(?:-\d{1,9})?$/;

/**
 * Finds the changes that a reviewer means. A target with a digest is taken as it is: a change that has moved
 * meanwhile has another digest, and what is said about the old one does not count for it. Only targets
 * without one need a diff, which must still be the one that the reviewer saw.
 */
export async function meantChanges(
  plan: PlanRecord,
  sandboxes: PlanSandboxes,
  { targets, digest }: ReviewTargets,
): Promise<MeantChanges> {
  targets.forEach(assertTarget);
  const whole = targets.filter(({ hunk }) => hunk === undefined);
  const found = new Set(whole.flatMap((target) => target.digest ?? []));
  const open = whole.filter((target) => target.digest === undefined);
  if (open.length > 0) await addFound(found, { plan, sandboxes, targets: open, digest });
  const hunks = targets.flatMap(({ digest: change, hunk }) =>
    change === undefined || hunk === undefined ? [] : [{ change, hunk }],
  );
  return { digests: found, hunks };
}

interface Search {
  readonly plan: PlanRecord;
  readonly sandboxes: PlanSandboxes;
  readonly targets: readonly ReviewTarget[];
  readonly digest: string | undefined;
}

async function addFound(found: Set<string>, { plan, sandboxes, targets, digest }: Search): Promise<void> {
  if (digest === undefined)
    throw new UsageError("A folder or resource is meant as a diff showed it.", {
      hint: "Give `digest`, that of the diff.",
      code: "BAD_ARGUMENT",
    });
  const all = new ChangesDigest();
  const unmet = new Set(targets);
  await eachChange(plan, sandboxes, NO_WORDS, (change) => {
    all.add(change);
    const meant = targets.filter((target) => isMeant(target, change));
    for (const target of meant) unmet.delete(target);
    if (meant.length > 0) found.add(changeDigest(change));
  });
  if (all.end() !== digest) throw movedOn(undefined);
  for (const { resource = "", path = ROOT_PATH } of unmet)
    throw new UsageError(`The plan changes nothing at ${displayPath(`${resource}:${path}`)}.`, {
      hint: "See the diff of the plan.",
      code: "NO_MATCH",
    });
}

function isMeant({ resource, path = ROOT_PATH }: ReviewTarget, change: PlanChange): boolean {
  return (resource ?? change.resource) === change.resource && isAtOrBelow(change.path, path);
}

function assertTarget({ digest, hunk }: ReviewTarget): void {
  if (digest !== undefined && !DIGEST.test(digest)) throw notKnown("digest of a change");
  if (hunk === undefined) return;
  if (!HUNK.test(hunk)) throw notKnown("id of a hunk");
  if (digest === undefined) throw notKnown("hunk without the digest of its change");
}

function notKnown(what: string): UsageError {
  return new UsageError(`There is no such ${what}.`, {
    hint: "Give those that the list of changes has.",
    code: "BAD_ARGUMENT",
  });
}
