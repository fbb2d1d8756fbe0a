import type { PlanRecord } from "../../core/plan.ts";
import type { ChangedRows } from "../../core/values/changed-rows.ts";
import { type PlanSandboxes, resourceOf } from "../../sandboxes/plan-sandboxes.ts";
import { pageAt, staleCursor } from "../diff-page.ts";
import { assertMay } from "../resources/restrictions.ts";
import type { ChangeAddress } from "./change-content.ts";

/** How many rows a page has, unless the caller wants another number, and how many at most. */
const PAGE = 100;
const LARGEST_PAGE = 1000;

/** A page of the changed rows at a path of the diff: a table, one row, or another object of a database. */
export interface ChangedRowsOptions extends ChangeAddress {
  /** Goes on after an earlier page: its `next`. Refused once the rows are others (`STALE_CURSOR`). */
  readonly cursor?: string;
  /** The most rows of a page. Default: 100; at most 1,000. A page of large rows has fewer. */
  readonly limit?: number;
}

export interface ChangedRowsPage extends ChangedRows {
  readonly planId: string;
  /** The cursor of the next page; absent on the last one. */
  readonly next?: string;
}

export async function changedRows(
  plan: PlanRecord,
  sandboxes: PlanSandboxes,
  { resource, path, cursor, limit = PAGE }: ChangedRowsOptions,
): Promise<ChangedRowsPage> {
  assertMay(resourceOf(plan, resource), "read");
  const { record, strategy, pathOf } = await sandboxes.usable(plan, resource, "look");
  const { digest, offset } = pageAt(cursor);
  const range = { offset, limit: Math.min(limit, LARGEST_PAGE) };
  const found = await strategy.changedRows(record.ref, pathOf(path), range);
  if (cursor !== undefined && digest !== found.digest) throw staleCursor();
  const to = offset + found.rows.length;
  return { planId: plan.id, ...found, ...(to < found.total && { next: `${found.digest} ${to}` }) };
}
