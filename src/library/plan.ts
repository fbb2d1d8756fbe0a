import type { AbandonReport } from "../commit/cleanup/abandonment.ts";
import type { UndoOptions } from "../commit/commit-all.ts";
import type { RecoveryReport } from "../commit/recovery.ts";
import type { Change } from "../core/change.ts";
import type { SandboxRecord } from "../core/sandbox.ts";
import type { PlanEvent } from "../core/values/plan-events.ts";
import type { StatementResult } from "../core/values/query.ts";
import type { DiffPageOptions } from "../plans/diff-page.ts";
import type { ApplyOptions, ApplyResult } from "../plans/landing-views.ts";
import type {
  AddOptions,
  CheckpointOptions,
  CheckpointResult,
  CheckpointView,
  CreatePlanOptions,
  DiffOptions,
  EventsOptions,
  ListPlansOptions,
  PatchOptions,
  PlanDiff,
  PlanLog,
  PlanView,
  RestoreResult,
} from "../plans/plan-views.ts";
import type {
  Approval,
  ApproveOptions,
  ReviewRequest,
  ReviewRequestOptions,
} from "../plans/review/approval-views.ts";
import type { ChangeAddress, ChangeSideAddress } from "../plans/review/change-content.ts";
import type { ChangedRowsOptions, ChangedRowsPage } from "../plans/review/changed-rows.ts";
import type {
  ChangesAskedRequest,
  CommentEdit,
  CommentRequest,
  PlanReview,
  ReviewComment,
  ReviewedHunks,
  ReviewPage,
  ReviewTargets,
  ReviewVerdict,
  TargetCount,
  VoteRequest,
} from "../plans/review/review-views.ts";
import type { ScratchList } from "../plans/scratch/plan-scratch.ts";
import type {
  ResolveOptions,
  ResolveResult,
  RollbackOptions,
  RollbackResult,
  UpdateResult,
} from "../plans/updates/update-views.ts";
import type { CaptureRequest, CaptureResult } from "../run/capture.ts";
import type { ExecRequest, ExecResult } from "../run/exec.ts";
import type { ExplainRequest, RunExplanation } from "../run/policy/explain.ts";
import type { SpawnedCommand, SpawnRequest } from "../run/spawn.ts";
import type { SweepReport } from "../sandboxes/sweep-report.ts";
import type { CallOptions } from "./call-options.ts";
import type { DetachedCommand, DetachOptions } from "./detached-command.ts";
import type { Workspace } from "./workspace.ts";

/** All plans of a state directory. */
export interface Plans {
  /** Makes a plan and its sandboxes, all or none. Checks everything before it makes anything. */
  create(options: CreatePlanOptions & CallOptions): Promise<Plan>;
  /** The plan with this id, a unique prefix of it, or this name; also one that is over. */
  open(plan: string): Promise<Plan>;
  /** Open plans, newest first; with `all` also those that are over. */
  list(options?: ListPlansOptions): Promise<readonly PlanView[]>;
}

/** Work in the sandbox of one resource of a plan. It never touches the original. */
export interface ResourceHandle {
  /** Where programs find the sandbox: a folder, a file or a connection URL. */
  path(options?: CallOptions): Promise<string>;
  /** The content of one file, as it is in the sandbox. */
  read(path: string, options?: CallOptions): Promise<Uint8Array>;
  /** Writes one file in the sandbox, making missing folders. A text is written as UTF-8. */
  write(path: string, content: string | Uint8Array, options?: CallOptions): Promise<Change>;
  /**
   * Runs statements in the sandbox of a database, and returns the result of each. A read-only plan allows
   * only those that change nothing.
   */
  sql(script: string, options?: CallOptions): Promise<readonly StatementResult[]>;
  /** The record of the sandbox, which is made if it is missing. */
  sandbox(): Promise<SandboxRecord>;
}

export interface CancelOptions {
  /** Ends the detached command that runs in the plan first. Default: the plan is then refused as busy. */
  readonly force?: boolean;
}

/**
 * A plan: isolated work on one or more resources, which lands as a whole or not at all. The methods of
 * `ResourceHandle` are for a plan with one resource; `resource` gives one of several.
 */
export interface Plan extends ResourceHandle {
  readonly id: string;
  readonly name: string;
  /** One of the resources of the plan. An unknown name is refused at its first use. */
  resource(name: string): ResourceHandle;
  /** Files, commands, checkpoints and the diff, for tools; of one of the resources, or of the only one. */
  workspace(resource?: string): Workspace;
  /** The present state of the plan, its resources and their sandboxes. */
  show(): Promise<PlanView>;

  /**
   * Takes more resources into the plan, all or none, with what its commands wrote there outside of the plan.
   * No command may run in it.
   */
  add(options: AddOptions & CallOptions): Promise<PlanView>;
  /** What the commands of the plan wrote outside of its resources. It never lands, and goes with the plan. */
  scratch(): Promise<ScratchList>;

  /** Runs a command inside the sandboxes, each in the place of its original. */
  exec(request: ExecRequest): Promise<ExecResult>;
  /** The same, with its output captured. A command that fails is no failure of the call. */
  run(request: CaptureRequest): Promise<CaptureResult>;
  /** Starts a command inside, and hands out its streams: pipes, or a terminal of its own. */
  spawn(request: SpawnRequest): Promise<SpawnedCommand>;
  /** What a command inside would be allowed, and which line or profile says so. Runs nothing. */
  explain(request?: ExplainRequest): Promise<RunExplanation>;
  /**
   * Starts a command inside that goes on without this program, at a terminal of its own. One at a time runs
   * in a plan.
   */
  detach(options: DetachOptions): Promise<DetachedCommand>;
  /** The detached commands that run inside, whichever program started them. */
  commands(): Promise<readonly DetachedCommand[]>;
  /** A detached command, also one that has ended. Default: the one that was started last. */
  command(exec?: string): Promise<DetachedCommand>;

  /**
   * The changes that would land. The digest covers all of them, even where `paths` narrows the list. `allow`
   * has the meaning that it has for an apply.
   */
  diff(options?: DiffOptions & CallOptions): Promise<PlanDiff>;
  /**
   * The changes as unified text, one piece for each path, under the resource's name if there are several.
   */
  patch(options?: PatchOptions & CallOptions): AsyncIterable<string>;

  /**
   * Lands everything or nothing; with `only`, all of the chosen part or nothing, and the plan stays open with
   * the rest. Fails by `AtomicCommitError`.
   */
  apply(options?: ApplyOptions & CallOptions): Promise<ApplyResult>;
  /**
   * Records a person's approval of exactly what would land now, if that still has this digest. `apply` with
   * `approved` lands that and nothing else.
   */
  approve(options: ApproveOptions): Promise<Approval>;
  /** Asks a person to review exactly what would land now, and tells whether there is an approval already. */
  requestReview(options?: ReviewRequestOptions): Promise<ReviewRequest>;
  /** The last approval. It is void once a diff gives another digest. */
  approval(): Promise<Approval | undefined>;
  /**
   * Takes the last landing back, as a whole or not at all. An open plan with landed parts stays open. Fails
   * by `AtomicCommitError`. What can't be taken back stays as it landed if `leave` names it.
   */
  undo(options?: UndoOptions & CallOptions): Promise<ApplyResult>;
  /**
   * Throws the work away and keeps the plan open. With `only` or `rejected`, only some of the changes, which
   * a checkpoint brings back.
   */
  rollback(options?: RollbackOptions & CallOptions): Promise<RollbackResult>;
  /** Throws the work away and closes the plan. */
  cancel(options?: CancelOptions & CallOptions): Promise<PlanView>;

  /**
   * Saves all sandboxes at once. A checkpoint with a label stays until a restore, a rollback or a landing
   * drops it.
   */
  checkpoint(options?: CheckpointOptions & CallOptions): Promise<CheckpointResult>;
  /** The checkpoints that can be restored, oldest first. */
  checkpoints(): Promise<readonly CheckpointView[]>;
  /**
   * Brings every sandbox back to a checkpoint, named by its id, a unique prefix of it, or its label: all of
   * them, or none. Later checkpoints are dropped.
   */
  restore(checkpoint: string, options?: CallOptions): Promise<RestoreResult>;

  /**
   * Merges into the plan what other writers changed at its paths meanwhile, and tells what it could not
   * merge. A checkpoint takes it back.
   */
  update(options?: CallOptions): Promise<UpdateResult>;
  /** Settles a path that an update marked or could not merge. A checkpoint takes it back. */
  resolve(options: ResolveOptions & CallOptions): Promise<ResolveResult>;

  /** The history of the plan, oldest first. */
  log(): Promise<PlanLog>;
  /** The same as it goes on: see `events` of Drydock. */
  events(options?: Omit<EventsOptions, "plan">): AsyncIterable<PlanEvent>;
  /** Settles a plan in doubt by a person's word: it did land, or it did not. */
  settle(how: "commit" | "abort"): Promise<RecoveryReport>;
  /** Ends the plan as it is by a person's word, and reports what may remain of it. */
  abandon(): Promise<AbandonReport>;

  /** What persons say about the changes before they land. */
  readonly review: Review;
  /** Operations on each sandbox of the plan. */
  readonly sandboxes: PlanSweeps;
}

/**
 * The review of a plan. Everything that is said is an entry of its history: it reaches every process by
 * `events`, and stays when the plan is over. Votes, looks and verdicts are the word of a person: record them
 * only when one gave it.
 */
export interface Review {
  /** The verdict and the comments. */
  show(): Promise<PlanReview>;
  /** A page of the changes, each with its digest, its votes, and whether this user has seen it. */
  changes(options?: DiffPageOptions & CallOptions): Promise<ReviewPage>;
  /** The hunks of the change of a text file, each with its vote; none if the change has no hunks. */
  hunks(place: ChangeAddress): Promise<ReviewedHunks>;
  /**
   * A page of the changed rows of a table, one changed row, or a changed definition of a database, by its
   * path in the diff. Long values are cut, and say so.
   */
  rows(options: ChangedRowsOptions): Promise<ChangedRowsPage>;
  /** The content of a file before or after its change. */
  content(place: ChangeSideAddress): Promise<Uint8Array>;
  /**
   * Approves or rejects changes, or takes that back. A vote counts as long as the change has its digest; a
   * folder or resource stands for the changes that are in it now.
   */
  vote(request: VoteRequest): Promise<TargetCount>;
  /** Records that this user has looked at changes. */
  look(request: ReviewTargets): Promise<TargetCount>;
  /** Says something about a line, a change, or the plan. */
  comment(request: CommentRequest): Promise<ReviewComment>;
  /** Says a comment in other words, or settles it. */
  editComment(comment: string, edit: CommentEdit): Promise<ReviewComment>;
  removeComment(comment: string): Promise<void>;
  /** Records that a person wants other changes than those with this digest. */
  askForChanges(request: ChangesAskedRequest): Promise<ReviewVerdict>;
}

/** Each operation goes on after a failure, and lists its failures. */
export interface PlanSweeps {
  /** Throws the work of every sandbox away, and restores originals where it had landed. */
  rollback(): Promise<SweepReport>;
  /** Removes every sandbox, and keeps the plan. */
  remove(): Promise<SweepReport>;
  /** Removes sandboxes whose creation died with its process. */
  removeAbandoned(): Promise<SweepReport>;
}
