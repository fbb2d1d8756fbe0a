import type { PlanRecord, PlanState } from "../core/plan.ts";
import type { SandboxRecord } from "../core/sandbox.ts";
import { moveSandbox, type SandboxState } from "../core/sandbox-states.ts";
import type { Participant, TransactionRecord } from "../core/transaction.ts";
import type { Durability, Store, StoreChange } from "../store/store.ts";

/**
 * Writes the journal. Each save of a transaction moves the plan and the sandboxes in the same write, so that
 * no reader and no crash ever sees them disagree.
 */
export class Journal {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async save(
    transaction: TransactionRecord,
    durability: Durability,
    history: readonly StoreChange[] = [],
  ): Promise<void> {
    await this.#store.write(await this.changes(transaction, history), durability);
  }

  /** What `save` writes. */
  async changes(
    transaction: TransactionRecord,
    history: readonly StoreChange[] = [],
  ): Promise<readonly StoreChange[]> {
    const changes: StoreChange[] = [{ put: "transaction", record: transaction }, ...history];
    const plan = await this.#store.plan(transaction.planId);
    if (plan !== undefined) changes.push(...planChanges(plan, transaction));
    for (const participant of transaction.participants) {
      const sandbox = await this.#store.sandbox(participant.ref.sandboxId);
      if (sandbox === undefined) continue;
      const state = sandboxState(sandbox.state, participant, transaction);
      if (state === sandbox.state) continue;
      changes.push({ put: "sandbox", record: { ...sandbox, state: move(sandbox, state) } });
    }
    return changes;
  }
}

/** A sandbox with new work is ACTIVE, though no call told us: programs write to its path. */
function move({ ref, state }: SandboxRecord, to: SandboxState): SandboxState {
  const holdsWork =
    (to === "PREPARED" && state !== "CREATED") || (to === "COMMITTED" && state !== "PREPARED");
  const from = holdsWork ? moveSandbox(ref.sandboxId, state, "ACTIVE") : state;
  return moveSandbox(ref.sandboxId, from, to);
}

function planChanges(plan: PlanRecord, transaction: TransactionRecord): StoreChange[] {
  const record = planDuring(plan, transaction);
  return record.state === plan.state && record.message === plan.message ? [] : [{ put: "plan", record }];
}

/** The plan during this state of its journal. */
export function planDuring(plan: PlanRecord, transaction: TransactionRecord): PlanRecord {
  const state = planState(transaction);
  const message =
    transaction.direction === "commit" && state === "applied" ? transaction.message : plan.message;
  const { message: _, ...rest } = plan;
  return { ...rest, state, ...(message !== undefined && { message }) };
}

function planState({ direction, phase, staysIn }: TransactionRecord): PlanState {
  const isCommit = direction === "commit";
  if (phase === "landed" || phase === "done") return staysIn ?? (isCommit ? "applied" : "undone");
  if (phase === "aborted") return isCommit ? "open" : (staysIn ?? "applied");
  return isCommit ? "applying" : "undoing";
}

/**
 * The state of a sandbox for the status of its participant. An undo finds sandboxes COMMITTED, or long gone.
 */
function sandboxState(
  now: SandboxState,
  { status, kind }: Participant,
  { direction, phase, staysIn }: TransactionRecord,
): SandboxState {
  if (now === "CLEANED_UP" || now === "ERRORED") return now;
  const holdsRest = staysIn === "open";
  if (direction === "undo")
    return status === "committed" && phase !== "aborted" && !holdsRest ? "ROLLED_BACK" : now;
  if (status === "prepared") return kind === "two-phase" ? "PREPARED" : now;
  if (status === "committed") return holdsRest ? "ACTIVE" : "COMMITTED";
  if (status === "not-undone") return now;
  // A sandbox that takes part in a commit is in use; one that was never used and has nothing to land stays
  // so.
  return now === "CREATED" && status !== "started" ? now : "ACTIVE";
}
