import type { CheckpointRecord } from "../core/checkpoint.ts";
import { messageOf } from "../core/errors/errors.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { Attention } from "../core/strategy.ts";
import { isUnfinished, type TransactionRecord } from "../core/transaction.ts";
import type { PlanSession } from "../sandboxes/access/plan-session.ts";
import type { AtomicCommit } from "./atomic-commit.ts";
import type { PlanClosing } from "./cleanup/plan-closing.ts";
import type { Outcome } from "./outcome.ts";

/** What recovery ended, and what it could not. */
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
  readonly direction: "commit" | "undo" | "restore" | "update" | "rollback";
  readonly attention: readonly (Attention & { readonly resource: string })[];
}

/** The result of resuming the unfinished checkpoints and restores of a plan. */
export interface ResumedCheckpoints {
  readonly restore: "finished" | "taken back" | undefined;
  /** Failures to remove something. */
  readonly warnings: readonly string[];
}

/** Resumes unfinished checkpoints and restores of a plan, whose claim the caller holds. */
export interface UnfinishedCheckpoints {
  resume(plan: PlanRecord): Promise<ResumedCheckpoints>;
}

export interface RecoveryParts {
  readonly session: PlanSession;
  readonly commit: AtomicCommit;
  readonly closing: PlanClosing;
  readonly checkpoints: UnfinishedCheckpoints;
}

/**
 * Ends what dead processes left unfinished, from the journal alone: without a decision it takes everything
 * back, with one it finishes everything. It takes over only what no living process owns. One failure does not
 * stop the rest. A second run, or a crash during a run, does no harm.
 */
export class Recovery {
  readonly #parts: RecoveryParts;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  async run(): Promise<RecoveryReport> {
    return await this.#resumeAll({ finished: [], undone: [], cleaned: [], pending: [] });
  }

  /** Continues a plan as a person decided, then everything else. */
  async settle(key: string, how: "commit" | "abort"): Promise<RecoveryReport> {
    const { session, commit } = this.#parts;
    const plan = await session.plans.find(key);
    const report: MutableReport = { finished: [], undone: [], cleaned: [], pending: [] };
    const outcome = await commit.settle(plan.id, how);
    // The loop below meets again what could not be finished.
    if (!isUnfinished(outcome.record)) sort(outcome, workOf(plan, outcome.record.direction), report);
    return await this.#resumeAll(report);
  }

  async #resumeAll(report: MutableReport): Promise<RecoveryReport> {
    const { store } = this.#parts.session;
    if (!(await store.hasUnfinishedWork())) return report;
    for (const transaction of await store.unfinishedTransactions())
      await this.#transaction(transaction, report);
    for (const plan of await store.unfinishedPlans()) await this.#plan(plan, report);
    return report;
  }

  async #transaction(transaction: TransactionRecord, report: MutableReport): Promise<void> {
    const { session, commit } = this.#parts;
    const { store } = session;
    const known = await store.plan(transaction.planId);
    if (known === undefined) return;
    const work = workOf(known, transaction.direction);
    await orPending(work, report, () =>
      session.plans.withOriginalsIfFree(known, async (_, owner) => {
        const now = await store.transaction(transaction.id);
        if (now === undefined || !isUnfinished(now)) return;
        if (now.phase === "in-doubt") {
          report.pending.push({ ...work, attention: [], why: doubtOf(now), inDoubt: true });
          return;
        }
        const outcome = await commit.takeOver(known, now, owner);
        sort(outcome, work, report);
        await this.#note(outcome, now);
      }),
    );
  }

  /**
   * The plan's history gets a line only for a change of the world: not for a removal, nor if nothing moved.
   */
  async #note({ record }: Outcome, before: TransactionRecord): Promise<void> {
    if (before.phase === "landed" || record.phase === before.phase) return;
    const details = { transaction: record.id, phase: record.phase };
    await this.#parts.session.history.note(record.planId, "recovered", details);
  }

  async #plan(plan: PlanRecord, report: MutableReport): Promise<void> {
    const { plans, sandboxes } = this.#parts.session;
    const work = workOf(plan, "commit");
    await orPending(work, report, () =>
      plans.ifFree(plan.id, async (found) => {
        const now = found === undefined ? undefined : await this.#checkpoints(found, report);
        if (now?.state === "adding") return await this.#takeJoinBack(now, report);
        if (now?.state === "creating" || now?.state === "closing") return await this.#close(now, report);
        if (now === undefined) return;
        const { failed } = await sandboxes.cleanupAbandoned(now);
        for (const { resource, message } of failed)
          report.pending.push({ ...work, attention: [], why: notRemoved(resource, message), inDoubt: false });
      }),
    );
  }

  async #takeJoinBack(plan: PlanRecord, report: MutableReport): Promise<void> {
    const { takeJoinBack } = await import("./cleanup/join-removal.ts");
    await takeJoinBack(this.#parts.session, plan);
    const names = (plan.joining ?? []).map(({ resource }) => resource.name).join(", ");
    report.cleaned.push({ planId: plan.id, what: `${names}, which had not joined a plan completely` });
  }

  /** Continues closing a plan. */
  async #close(plan: PlanRecord, report: MutableReport): Promise<void> {
    const { removed, remaining, warnings } = await this.#parts.closing.close(plan, { by: "recovery" });
    const kind = plan.state === "creating" ? "an unfinished plan" : "a cancelled plan";
    report.cleaned.push({
      planId: plan.id,
      what: `${kind} with ${removed.length} ${removed.length === 1 ? "sandbox" : "sandboxes"}`,
    });
    const whys = [...remaining.map(({ resource, message }) => notRemoved(resource, message)), ...warnings];
    for (const why of whys)
      report.pending.push({ ...workOf(plan, "commit"), attention: [], why, inDoubt: false });
  }

  /**
   * Returns the plan as it is afterwards; undefined after a failure. A plan that goes takes its checkpoints
   * along.
   */
  async #checkpoints(plan: PlanRecord, report: MutableReport): Promise<PlanRecord | undefined> {
    if (plan.state !== "open" && plan.state !== "restoring" && plan.state !== "updating") return plan;
    const all = plan.state === "updating" ? await this.#parts.session.store.checkpointsOf(plan.id) : [];
    const work = { ...workOf(plan, plan.state === "updating" ? stepOf(all) : "restore"), attention: [] };
    try {
      const { restore, warnings } = await this.#parts.checkpoints.resume(plan);
      if (restore !== undefined) report[restore === "finished" ? "finished" : "undone"].push(work);
      for (const why of warnings) report.pending.push({ ...work, why, inDoubt: false });
      return await this.#parts.session.store.plan(plan.id);
    } catch (thrown) {
      report.pending.push({ ...work, why: messageOf(thrown), inDoubt: false });
      return undefined;
    }
  }
}

/** Which step of Drydock itself was under way in the sandboxes of a plan, by the checkpoint before it. */
function stepOf(checkpoints: readonly CheckpointRecord[]): "update" | "rollback" {
  const before = checkpoints.find(({ state }) => state === "returning")?.before;
  return before === "plan rollback" ? "rollback" : "update";
}

/** The unfinished work of a plan. */
type PlanWork = Omit<RecoveredPlan, "attention">;

function workOf({ id, name }: PlanRecord, direction: RecoveredPlan["direction"]): PlanWork {
  return { planId: id, planName: name, direction };
}

/** A plan that can't be recovered stops neither the others nor the command that met it. */
async function orPending(work: PlanWork, report: MutableReport, resume: () => Promise<void>): Promise<void> {
  try {
    await resume();
  } catch (thrown) {
    report.pending.push({ ...work, attention: [], why: messageOf(thrown), inDoubt: false });
  }
}

function notRemoved(resource: string, message: string): string {
  return `${resource} could not be removed: ${message}`;
}

type MutableReport = { -readonly [key in keyof RecoveryReport]: RecoveryReport[key][number][] };

function sort(outcome: Outcome, work: PlanWork, report: MutableReport): void {
  const { record, unfinished, warnings } = outcome;
  const attention = record.participants.flatMap(({ resource, attention: items }) =>
    (items ?? []).map((item) => ({ resource, ...item })),
  );
  const recovered = { ...work, attention };
  if (record.phase === "done") report.finished.push(recovered);
  else if (record.phase === "aborted") report.undone.push(recovered);
  else if (record.phase === "in-doubt")
    report.pending.push({ ...recovered, why: doubtOf(record), inDoubt: true });
  else
    report.pending.push({
      ...recovered,
      why: [...unfinished.map(({ resource, message }) => `${resource}: ${message}`), ...warnings].join("; "),
      inDoubt: false,
    });
}

function doubtOf(record: TransactionRecord): string {
  const participant = record.participants.find(
    ({ kind, status }) => kind === "irreversible" && status === "started",
  );
  return `it is unknown whether ${participant?.resource ?? "a resource"} landed: its commit had started, and its strategy can't tell`;
}
