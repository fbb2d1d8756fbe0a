import type { AbandonReport } from "../commit/cleanup/abandonment.ts";
import type { RecoveryReport } from "../commit/recovery.ts";
import type { Change } from "../core/change.ts";
import type { SandboxRecord } from "../core/sandbox.ts";
import type { StatementResult } from "../core/values/query.ts";
import type {
  ApplyOptions,
  ApplyResult,
  CheckpointOptions,
  CheckpointResult,
  CheckpointView,
  CreatePlanOptions,
  DiffOptions,
  ListPlansOptions,
  PatchOptions,
  PlanDiff,
  PlanLog,
  PlanView,
  RestoreResult,
} from "../plans/plan-views.ts";
import type { ExecRequest, ExecResult } from "../run/exec.ts";
import type { SweepReport } from "../sandboxes/sweep-report.ts";

/** All plans of a state directory. */
export interface Plans {
  /**
   * Makes a plan and its sandboxes, all of them or none. Everything that can be refused is refused before
   * anything is made.
   */
  create(options: CreatePlanOptions): Promise<Plan>;
  /** The plan of this id, of an id that begins so, or of this name; also one that is over. */
  open(plan: string): Promise<Plan>;
  /** Open plans, the oldest first; with `all` those that are over, too. */
  list(options?: ListPlansOptions): Promise<readonly PlanView[]>;
}

/** Work in the sandbox of one resource of a plan. The original is untouched by all of it. */
export interface ResourceHandle {
  /** Where programs find the sandbox: a folder, a file or a connection URL. */
  path(): Promise<string>;
  /** The content of one file, as it is in the sandbox. */
  read(path: string): Promise<Uint8Array>;
  /** Writes one file in the sandbox, making missing folders. A text is written as UTF-8. */
  write(path: string, content: string | Uint8Array): Promise<Change>;
  /**
   * Runs statements in the sandbox of a database, and returns what each gave; in a read-only plan only those
   * that change nothing.
   */
  sql(script: string): Promise<readonly StatementResult[]>;
  /**
   * The record of the sandbox, which is made if it is not there. The same one however often it is asked for.
   */
  sandbox(): Promise<SandboxRecord>;
}

/**
 * A plan: isolated work on one or more resources, which lands as a whole or not at all. What a plan inherits
 * from `ResourceHandle` is for a plan with one resource; `resource` gives one of several.
 */
export interface Plan extends ResourceHandle {
  readonly id: string;
  readonly name: string;
  /** One of the resources of the plan. A name that the plan does not have is refused when it is used. */
  resource(name: string): ResourceHandle;
  /** What the plan is now: its state, its resources and their sandboxes. */
  show(): Promise<PlanView>;

  /** Runs a command inside the sandboxes, each in the place of its original. */
  exec(request: ExecRequest): Promise<ExecResult>;

  /**
   * What would change. The digest is over all of it, also where `paths` narrows what is shown. `allow` is
   * what an apply would be told.
   */
  diff(options?: DiffOptions): Promise<PlanDiff>;
  /** The changes as unified text, one piece per path, under the resource's name where there are several. */
  patch(options?: PatchOptions): AsyncIterable<string>;

  /**
   * Lands everything, or nothing; with `only` the part that is meant, all of it or nothing, and the plan
   * stays open with the rest. Fails by `AtomicCommitError`.
   */
  apply(options?: ApplyOptions): Promise<ApplyResult>;
  /**
   * Takes the last landing back, all of it or nothing. An open plan, of which parts have landed, stays open.
   * Fails by `AtomicCommitError`.
   */
  undo(): Promise<ApplyResult>;
  /** Throws the work away and keeps the plan open. */
  rollback(): Promise<PlanView>;
  /** Throws the work away and closes the plan. */
  cancel(): Promise<PlanView>;

  /**
   * Saves all sandboxes at once. One with a label is kept until a restore, a rollback or a landing drops it.
   */
  checkpoint(options?: CheckpointOptions): Promise<CheckpointResult>;
  /** The checkpoints that can be restored, the oldest first. */
  checkpoints(): Promise<readonly CheckpointView[]>;
  /**
   * Brings every sandbox back to a checkpoint, by its id, a unique prefix of it, or its label: all of them,
   * or none. Those that were made after it are dropped.
   */
  restore(checkpoint: string): Promise<RestoreResult>;

  /** Everything that happened to the plan, the oldest first. */
  log(): Promise<PlanLog>;
  /** Settles by a person's word what is in doubt: it did land, or it did not. */
  settle(how: "commit" | "abort"): Promise<RecoveryReport>;
  /** Ends the plan by a person's word, whatever can't be settled of it, and says what may be left. */
  abandon(): Promise<AbandonReport>;

  /** What can be done to all sandboxes of the plan, one by one. */
  readonly sandboxes: PlanSweeps;
}

/** Each goes on after a failure, and lists what it could not do. */
export interface PlanSweeps {
  /** Throws the work of every sandbox away; where it had landed, the original is restored. */
  rollback(): Promise<SweepReport>;
  /** Removes every sandbox, and keeps the plan. */
  remove(): Promise<SweepReport>;
  /** Removes sandboxes whose creation died with its process. */
  removeAbandoned(): Promise<SweepReport>;
}
