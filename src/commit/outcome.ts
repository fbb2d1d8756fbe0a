import { messageOf } from "../core/errors/errors.ts";
import type { TransactionRecord } from "../core/transaction.ts";
import { participantAt } from "./transaction-parts.ts";

/** How a run of the coordinator ended. */
export interface Outcome {
  readonly record: TransactionRecord;
  /** The participants that recovery has to go on with. */
  readonly unfinished: readonly { readonly resource: string; readonly message: string }[];
  readonly warnings: readonly string[];
  readonly cause?: unknown;
}

/**
 * Does a batch, one participant after the other. One that fails does not stop the others; recovery
 * goes on with it.
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

/** Recovery has to go on with something, so this run ends. */
export function isStuck({ unfinished, warnings }: Outcome): boolean {
  return unfinished.length > 0 || warnings.length > 0;
}

/** How a run ends by a failure that is about no participant. */
export function stuckBy(thrown: unknown): Partial<Outcome> {
  return { unfinished: [{ resource: "", message: messageOf(thrown) }], cause: thrown };
}
