import { UsageError } from "../core/errors/errors.ts";
import type { DiffOptions, PlanChange, PlanDiff } from "./plan-views.ts";

const PAGE = 1000;

/** Which page of a diff. */
export interface DiffPageOptions extends Omit<DiffOptions, "onChange"> {
  /** Goes on after an earlier page: its `next`. Refused once the changes are others (`STALE_CURSOR`). */
  readonly cursor?: string;
  /** The most changes of a page. Default: 1,000. */
  readonly limit?: number;
}

/** A page of the changes that would land. Digest and statistics are of all of them. */
export interface DiffPage extends PlanDiff {
  /** The cursor of the next page; absent on the last one. */
  readonly next?: string;
}

/** What makes a diff: the plans, as this file sees them. */
interface Diffing {
  diff(plan: string | undefined, options: DiffOptions): Promise<PlanDiff>;
}

/** A page of what the plan would change. `take` gets every change, and whether it is on the page. */
export async function diffPage(
  plans: Diffing,
  plan: string | undefined,
  { cursor, limit = PAGE, ...options }: DiffPageOptions,
  take?: (change: PlanChange, isShown: boolean) => void,
): Promise<DiffPage> {
  const { digest, offset: from } = pageAt(cursor);
  const to = from + limit;
  const changes: PlanChange[] = [];
  let count = 0;
  const onChange = (change: PlanChange) => {
    const isShown = count >= from && count < to;
    if (isShown) changes.push(change);
    take?.(change, isShown);
    count += 1;
  };
  const diff = await plans.diff(plan, { ...options, onChange });
  if (cursor !== undefined && digest !== diff.digest) throw staleCursor();
  return { ...diff, changes, ...(count > to && { next: `${diff.digest} ${to}` }) };
}

/** The place that a cursor stands for: how much comes before, and the digest of all that there was. */
export function pageAt(cursor: string | undefined): { readonly digest?: string; readonly offset: number } {
  const [, digest, offset = "0"] = /^(\S+) (\d{1,15})$/.exec(cursor ?? "") ?? [];
  return { ...(digest !== undefined && { digest }), offset: Number(offset) };
}

export function staleCursor(): UsageError {
  return new UsageError("The changes are no longer those of the earlier pages.", {
    hint: "Ask for the first page again.",
    code: "STALE_CURSOR",
  });
}
