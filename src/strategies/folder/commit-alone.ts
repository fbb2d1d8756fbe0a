import type { SandboxRef } from "../../core/sandbox.ts";
import type {
  CommitResult,
  PreparedCommit,
  Transaction,
  TwoPhaseSandboxStrategy,
} from "../../core/strategy.ts";
import { newId } from "../../system/state/new-id.ts";

/** Lands the work of one sandbox alone, in a transaction of its own that no journal records. */
export async function commitAlone(strategy: TwoPhaseSandboxStrategy, ref: SandboxRef): Promise<CommitResult> {
  const transaction: Transaction = { id: `alone-${newId()}`, planId: ref.planId, direction: "commit" };
  const orTakeBack = async <T>(action: () => Promise<T>): Promise<T> => {
    try {
      return await action();
    } catch (thrown) {
      await strategy.rollbackPrepared(ref, transaction);
      throw thrown;
    }
  };
  const prepared: PreparedCommit | null = await orTakeBack(() => strategy.prepare(ref, transaction));
  if (prepared === null) return { changes: 0, attention: [] };
  return await orTakeBack(() => strategy.commitPrepared(ref, transaction, prepared));
}
