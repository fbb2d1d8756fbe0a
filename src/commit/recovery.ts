import { messageOf } from "../core/errors.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { Attention } from "../core/strategy.ts";
import type { TransactionRecord } from "../core/transaction.ts";
import { type Claims, originalKey, planKey } from "../sandboxes/claims.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { HistoryEntry, Store } from "../store/store.ts";
import type { AtomicCommit } from "./atomic-commit.ts";
import type { Outcome } from "./coordinator.ts";
import type { PlanClosing } from "./plan-closing.ts";

/** What recovery settled, and what it could not. */
export interface RecoveryReport {
  readonly finished: readonly RecoveredPlan[];
  readonly undone: readonly RecoveredPlan[];
  readonly cleaned: readonly { readonly planId: string; readonly what: string }[];
  /** Still pending or in doubt; blocks only its own plan and originals. */
  readonly pending: readonly (RecoveredPlan & { readonly why: string; readonly inDoubt: boolean })[];
}

export interface RecoveredPlan {
  readonly planId: string;
  readonly planName: string;
  readonly direction: "commit" | "undo" | "restore";
  readonly attention: readonly (Attention & { readonly resource: string })[];
}

/** What became of checkpoints and restores of a plan that a dead process had left. */
export interface SettledCheckpoints {
  readonly restore: "finished" | "taken back" | undefined;
  /** What could not be removed. */
  readonly warnings: readonly string[];
}

export interface RecoveryParts {
  readonly store: Store;
  readonly claims: Claims;
  readonly sandboxes: PlanSandboxes;
  readonly commit: AtomicCommit;
  readonly closing: PlanClosing;
  /** Goes on with what is left of checkpoints and restores of a plan, whose claim the caller holds. */
  readonly settleCheckpoints: (plan: PlanRecord) => Promise<SettledCheckpoints>;
  readonly history: (planId: string, event: string, details: HistoryEntry["details"]) => HistoryEntry;
}

/**
 * Settles what dead processes left, from the journal alone: no decision → undo everything; decision → finish everything. It takes over only
 * what has no living owner, one thing that fails does not stop the others, and running it again, or dying in it, does no harm.
 */
export class Recovery {
  readonly #parts: RecoveryParts;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  async run(): Promise<RecoveryReport> {
    return await this.#settleTheRest({ finished: [], undone: [], cleaned: [], pending: [] });
  }

  /** Goes on with a plan as a person has decided, then with what else is left. */
  async settle(plan: PlanRecord, how: "commit" | "abort"): Promise<RecoveryReport> {
    const report: MutableReport = { finished: [], undone: [], cleaned: [], pending: [] };
    const outcome = await this.#parts.commit.settle(plan.id, how);
    const { phase, direction } = outcome.record;
    // What could not be settled is met again below.
    if (phase === "done" || phase === "aborted")
      sort(outcome, { planId: plan.id, planName: plan.name, direction }, report);
    return await this.#settleTheRest(report);
  }

  async #settleTheRest(report: MutableReport): Promise<RecoveryReport> {
    const { store } = this.#parts;
    if (!(await store.hasUnfinishedWork())) return report;
    for (const transaction of await store.unfinishedTransactions()) await this.#transaction(transaction, report);
    for (const plan of await store.unsettledPlans()) await this.#plan(plan, report);
    return report;
  }

  async #transaction(transaction: TransactionRecord, report: MutableReport): Promise<void> {
    const { store, claims, commit } = this.#parts;
    const plan = await store.plan(transaction.planId);
    if (plan === undefined) return;
    const keys = [planKey(plan.id), ...plan.resources.map(({ resource }) => originalKey(resource.location))];
    const place = { planId: plan.id, planName: plan.name, direction: transaction.direction };
    await orPending(place, report, () =>
      claims.ifFree(keys, async (owner) => {
        const now = await store.transaction(transaction.id);
        if (now === undefined || now.phase === "done" || now.phase === "aborted") return;
        if (now.phase === "in-doubt") {
          report.pending.push({ ...place, attention: [], why: doubtOf(now), inDoubt: true });
          return;
        }
        const outcome = await commit.takeOver(now, owner);
        sort(outcome, place, report);
        await this.#note(outcome, now);
      }),
    );
  }

  /** Only what changed the world is worth a line in the plan's history: not a removal that goes on, nor what came no further. */
  async #note({ record }: Outcome, before: TransactionRecord): Promise<void> {
    if (before.phase === "landed" || record.phase === before.phase) return;
    const entry = this.#parts.history(record.planId, "recovered", { transaction: record.id, phase: record.phase });
    await this.#parts.store.write([{ put: "history", record: entry }], "ordered");
  }

  async #plan(plan: PlanRecord, report: MutableReport): Promise<void> {
    const { claims, sandboxes, store } = this.#parts;
    const place = { planId: plan.id, planName: plan.name, direction: "commit" as const };
    await orPending(place, report, () =>
      claims.ifFree([planKey(plan.id)], async () => {
        const found = await store.plan(plan.id);
        const now = found === undefined ? undefined : await this.#checkpoints(found, report);
        if (now?.state === "creating" || now?.state === "closing") return await this.#close(now, report);
        if (now === undefined) return;
        const { failed } = await sandboxes.cleanupAbandoned(now);
        for (const { resource, message } of failed)
          report.pending.push({ ...place, attention: [], why: notRemoved(resource, message), inDoubt: false });
      }),
    );
  }

  /** Goes on with what was given up. */
  async #close(plan: PlanRecord, report: MutableReport): Promise<void> {
    const { removed, left, warnings } = await this.#parts.closing.close(plan, { by: "recovery" });
    const kind = plan.state === "creating" ? "an unfinished plan" : "a cancelled plan";
    report.cleaned.push({ planId: plan.id, what: `${kind} with ${removed.length} sandboxes` });
    const place = { planId: plan.id, planName: plan.name, direction: "commit" as const, attention: [], inDoubt: false };
    for (const { resource, message } of left) report.pending.push({ ...place, why: notRemoved(resource, message) });
    for (const why of warnings) report.pending.push({ ...place, why });
  }

  /** Returns the plan as it is afterwards; undefined if it could not be settled. A plan that goes takes its checkpoints along. */
  async #checkpoints(plan: PlanRecord, report: MutableReport): Promise<PlanRecord | undefined> {
    if (plan.state !== "open" && plan.state !== "restoring") return plan;
    const place = { planId: plan.id, planName: plan.name, direction: "restore" as const, attention: [] };
    try {
      const { restore, warnings } = await this.#parts.settleCheckpoints(plan);
      if (restore !== undefined) report[restore === "finished" ? "finished" : "undone"].push(place);
      for (const why of warnings) report.pending.push({ ...place, why, inDoubt: false });
      return await this.#parts.store.plan(plan.id);
    } catch (thrown) {
      report.pending.push({ ...place, why: messageOf(thrown), inDoubt: false });
      return undefined;
    }
  }
}

/** What can't be settled stops neither the others nor the command that met it. */
async function orPending(
  place: Omit<RecoveredPlan, "attention">,
  report: MutableReport,
  settle: () => Promise<void>,
): Promise<void> {
  try {
    await settle();
  } catch (thrown) {
    report.pending.push({ ...place, attention: [], why: messageOf(thrown), inDoubt: false });
  }
}

function notRemoved(resource: string, message: string): string {
  return `${resource} could not be removed: ${message}`;
}

type MutableReport = { -readonly [key in keyof RecoveryReport]: RecoveryReport[key][number][] };

function sort(outcome: Outcome, place: Omit<RecoveredPlan, "attention">, report: MutableReport): void {
  const { record, unfinished, warnings } = outcome;
  const attention = record.participants.flatMap(({ resource, attention: items }) =>
    (items ?? []).map((item) => ({ resource, ...item })),
  );
  const recovered = { ...place, attention };
  if (record.phase === "done") report.finished.push(recovered);
  else if (record.phase === "aborted") report.undone.push(recovered);
  else if (record.phase === "in-doubt") report.pending.push({ ...recovered, why: doubtOf(record), inDoubt: true });
  else
    report.pending.push({
      ...recovered,
      why: [...unfinished.map(({ resource, message }) => `${resource}: ${message}`), ...warnings].join("; "),
      inDoubt: false,
    });
}

function doubtOf(record: TransactionRecord): string {
  const participant = record.participants.find(({ kind, status }) => kind === "irreversible" && status === "started");
  return `nobody knows whether ${participant?.resource ?? "a resource"} landed: its commit had started and can't be asked`;
}
