import { escapeLiteral } from "pg";
import type { Look } from "../protocol/gate-checks.ts";
import type { Registration } from "../protocol/registration.ts";
import type { PostgresRecords } from "../store/postgres-store.ts";
import { milliseconds } from "./call-queue.ts";
import { is } from "./hosts.ts";
import { ROW, type TransactionRows } from "./transaction-rows.ts";

const text = escapeLiteral;

/**
 * What a host sees of a call's work in the database, in one statement. It tells how much the host has noted.
 * Undefined: these are not the words of its last start.
 */
export async function lookAt(
  { records, rows }: { readonly records: PostgresRecords; readonly rows: TransactionRows },
  { host, from }: { readonly host: string; readonly from: Registration },
  of: { readonly work: string; readonly plan: string; readonly holders: readonly string[] },
): Promise<Look | undefined> {
  const holders = `ARRAY[${of.holders.map(text).join(", ")}]::text[]`;
  const [[now, heard, claimant, over, ...row] = []] = await records.run(
    `WITH heard AS (
      UPDATE hosts SET notes = greatest(notes, ${from.notes}) WHERE ${is(host, from)} RETURNING name
    )
    SELECT ${milliseconds("clock_timestamp()")}, (SELECT count(*) FROM heard),
      (SELECT owner_id FROM claims WHERE key = ${text(`plan:${of.plan}`)} LIMIT 1),
      (SELECT coalesce(json_agg(work), '[]') FROM unnest(${holders}) AS work WHERE NOT EXISTS
        (SELECT FROM transactions t WHERE t.id = work AND t.phase NOT IN ('done', 'aborted'))),
      found.* FROM (SELECT) one LEFT JOIN (SELECT ${ROW} WHERE f.id = ${text(of.work)}) found ON true`,
  );
  if (heard !== "1") return undefined;
  return {
    now: Number(now),
    row: row[0] === null ? undefined : rows.rowFrom(row),
    claimant: claimant ?? undefined,
    over: new Set(JSON.parse(over ?? "[]") as string[]),
  };
}
