import { messageOf, UsageError } from "../core/errors.ts";
import type { PlanRecord, PlanState } from "../core/plan.ts";
import type { SandboxRecord } from "../core/sandbox.ts";
import type { Store } from "../store/store.ts";
import { type Claims, planKey } from "./claims.ts";
import { type PlanSandboxes, resourceOf } from "./plan-sandboxes.ts";
import type { SweepReport } from "./sweep-report.ts";

/** How the sandboxes of a plan land; given from outside, because it is made of sandboxes itself. */
export interface PlanCommitter {
  commitAll(planId: string, options: CommitAllOptions): Promise<CommitAllResult>;
  /** Takes the last landing of a plan back. */
  undo(planId: string): Promise<CommitAllResult>;
}

export interface CommitAllOptions {
  readonly message?: string;
  readonly allowIrreversible?: boolean;
  /** Also land sandboxes from before a restart of the machine. */
  readonly afterRestart?: boolean;
  /** `[RESOURCE:]PATTERN` each: what may land though tools run it by themselves. */
  readonly allow?: readonly string[];
  /** Stop right before the decision and take everything back. */
  readonly dryRun?: boolean;
  /** Asked once nobody else can work on the plan, before anything is prepared; throws to refuse. */
  readonly review?: () => Promise<void>;
  /** Asked after that: what is to land, if not everything. The plan then stays open. */
  readonly choose?: () => Promise<readonly ChosenPaths[]>;
}

/** What of a resource is to land, by patterns as of path-patterns.ts. */
export interface ChosenPaths {
  /** Its name. */
  readonly resource: string;
  readonly only: readonly string[];
}

export interface CommitAllResult {
  /** What the plan is now. */
  readonly state: PlanState;
  /** The message of its last apply. */
  readonly message?: string;
  readonly participants: readonly {
    readonly resource: string;
    readonly strategy: string;
    readonly outcome: "committed" | "unchanged";
    readonly changes: number;
  }[];
  readonly attention: readonly {
    readonly resource: string;
    readonly path: string;
    readonly message: string;
    readonly keptAt?: string;
  }[];
  readonly warnings: readonly string[];
}

export interface ManagerParts {
  readonly store: Store;
  readonly claims: Claims;
  readonly sandboxes: PlanSandboxes;
  readonly committer: PlanCommitter;
}

/**
 * The sandboxes of plans, by plan, for programs: every call claims the plan first, so that any number of processes may call at once. Each goes
 * on after a failure and lists what it could not do.
 */
export class SandboxManager {
  readonly #parts: ManagerParts;

  constructor(parts: ManagerParts) {
    this.#parts = parts;
  }

  /** The sandbox of a resource of a plan; made if it is not there. The same one however often it is asked for. */
  async getOrCreate(planId: string, resource?: string): Promise<SandboxRecord> {
    return await this.#claimed(planId, (plan) => this.#parts.sandboxes.getOrCreate(plan, resourceOf(plan, resource)));
  }

  /** Lands everything, or nothing. Fails only by `AtomicCommitError`. */
  async commitAll(planId: string, options: CommitAllOptions = {}): Promise<CommitAllResult> {
    return await this.#parts.committer.commitAll(planId, options);
  }

  /** Throws the work of every sandbox away; where it had landed, the original is restored. */
  async rollbackAll(planId: string): Promise<SweepReport> {
    const plan = await this.#parts.store.plan(planId);
    if (plan?.state === "applied") return await this.#undo(plan);
    return await this.#claimed(planId, (found) => this.#parts.sandboxes.rollbackAll(found));
  }

  /** What has landed together is taken back together. */
  async #undo(plan: PlanRecord): Promise<SweepReport> {
    const resources = plan.resources.map(({ resource }) => resource.name);
    try {
      await this.#parts.committer.undo(plan.id);
      return { done: resources, failed: [] };
    } catch (cause) {
      return { done: [], failed: resources.map((resource) => ({ resource, message: messageOf(cause), cause })) };
    }
  }

  /** Removes every sandbox. */
  async cleanupAll(planId: string): Promise<SweepReport> {
    return await this.#claimed(planId, (plan) => this.#parts.sandboxes.cleanupAll(plan));
  }

  /** Removes sandboxes whose creation died with its process. */
  async cleanupAbandoned(planId: string): Promise<SweepReport> {
    return await this.#claimed(planId, (plan) => this.#parts.sandboxes.cleanupAbandoned(plan));
  }

  async #claimed<T>(planId: string, action: (plan: PlanRecord) => Promise<T>): Promise<T> {
    const { store, claims } = this.#parts;
    return await claims.holding([planKey(planId)], `The plan ${planId}`, async () => {
      const plan = await store.plan(planId);
      if (plan === undefined) {
        throw new UsageError(`There is no plan ${planId}.`, {
          hint: "List plans with 'drydock plan list --all'.",
          code: "UNKNOWN_PLAN",
        });
      }
      return await action(plan);
    });
  }
}
