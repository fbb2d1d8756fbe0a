import { messageOf } from "../core/errors/errors.ts";
import type { TransactionRecord } from "../core/transaction.ts";
import { participantAt } from "./transaction-parts.ts";

/** The end of a run of the coordinator. */
export interface Outcome {
  readonly record: TransactionRecord;
  /** The participants with which recovery has to go on. */
  readonly unfinished: readonly { readonly resource: string; readonly message: string }[];
  readonly warnings: readonly string[];
  readonly cause?: unknown;
}

/**
 * Runs a batch, one participant after the other. A failure does not stop the others; recovery goes on with
 * it.
 */
export async function forAll(
  { record: start, cause: before }: Outcome,
  indexes: readonly number[],
  action: (record: TransactionRecord, index: number) => Promise<Pick<Outcome, "record" | "cause">>,
): Promise<Partial<Outcome>> {
  let record = start;
  let cause = before;
  const unfinished: { resource: string; message: string }[] = [];
  for (const index of indexes) {
    try {
      const done = await action(record, index);
      record = done.record;
      cause ??= done.cause;
    } catch (thrown) {
      cause ??= thrown;
      unfinished.push({ resource: participantAt(record, index).resource, message: messageOf(thrown) });
    }
  }
  return { record, unfinished, cause };
}

/** Recovery has to go on, so this run ends. */
export function isStuck({ unfinished, warnings }: Outcome): boolean {
  return unfinished.length > 0 || warnings.length > 0;
}

/** The end of a run by a failure that concerns no participant. */
export function stuckBy(thrown: unknown): Partial<Outcome> {
  return { unfinished: [{ resource: "", message: messageOf(thrown) }], cause: thrown };
}
