import type { AtomicCommit } from "../commit/atomic-commit.ts";
import type { CommitAllOptions, CommitAllResult } from "../commit/commit-all.ts";
import { messageOf } from "../core/errors/errors.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { SandboxRecord } from "../core/sandbox.ts";
import type { PlanSession } from "../sandboxes/access/plan-session.ts";
import { resourceOf } from "../sandboxes/plan-sandboxes.ts";
import type { SweepReport } from "../sandboxes/sweep-report.ts";

/**
 * The sandboxes of plans, for programs. Every call claims the plan first, so any number of processes may call
 * at once. A failure does not stop the rest of a call; the report lists it.
 */
export class SandboxManager {
  readonly #session: PlanSession;
  readonly #commit: AtomicCommit;

  constructor(session: PlanSession, commit: AtomicCommit) {
    this.#session = session;
    this.#commit = commit;
  }

  /**
   * The sandbox of a resource of a plan, without a name of the only one; made if it is missing. Every call
   * returns the same one.
   */
  async getOrCreate(planId: string, resource?: string): Promise<SandboxRecord> {
    return await this.#session.plans.claimed(planId, (plan) =>
      this.#session.sandboxes.getOrCreate(plan, resourceOf(plan, resource)),
    );
  }

  /** Lands everything, or nothing. Fails only by `AtomicCommitError`. */
  async commitAll(planId: string, options: CommitAllOptions = {}): Promise<CommitAllResult> {
    return await this.#commit.commitAll(planId, options);
  }

  /** Throws the work of every sandbox away, and restores originals where it had landed. */
  async rollbackAll(planId: string): Promise<SweepReport> {
    const plan = await this.#session.plans.find(planId);
    if (plan.state === "applied") return await this.#undo(plan);
    return await this.#session.plans.claimed(planId, (found) => this.#session.sandboxes.rollbackAll(found));
  }

  /** Takes back together what landed together. */
  async #undo(plan: PlanRecord): Promise<SweepReport> {
    const resources = plan.resources.map(({ resource }) => resource.name);
    try {
      await this.#commit.undo(plan.id);
      return { done: resources, failed: [] };
    } catch (cause) {
      return {
        done: [],
        failed: resources.map((resource) => ({ resource, message: messageOf(cause), cause })),
      };
    }
  }

  /** Removes every sandbox. */
  async cleanupAll(planId: string): Promise<SweepReport> {
    return await this.#session.plans.claimed(planId, (plan) => this.#session.sandboxes.cleanupAll(plan));
  }

  /** Removes sandboxes whose creation died with its process. */
  async cleanupAbandoned(planId: string): Promise<SweepReport> {
    return await this.#session.plans.claimed(planId, (plan) =>
      this.#session.sandboxes.cleanupAbandoned(plan),
    );
  }
}
