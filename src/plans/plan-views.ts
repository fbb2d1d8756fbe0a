import type { RemainingSandbox } from "../commit/cleanup/plan-closing.ts";
import type { Change, ChangeOperation, DiffStats } from "../core/change.ts";
import type { PlanState } from "../core/plan.ts";
import type { PlainData } from "../core/resource/resource.ts";
import type { SandboxState } from "../core/sandbox-states.ts";
import type { Attention } from "../core/strategy.ts";

/** A plan as people and programs see it. The command line prints exactly these shapes with `--json`. */
export interface PlanView {
  readonly id: string;
  readonly name: string;
  readonly state: PlanState;
  readonly readOnly: boolean;
  /** UTC, ISO 8601. */
  readonly createdAt: string;
  /** The message of the last apply. */
  readonly message?: string;
  /** Of a plan of which something has landed: until when the last landing can be undone, or why it can't. */
  readonly undo?: { readonly until: string } | { readonly not: string };
  readonly resources: readonly PlanResourceView[];
  /**
   * Of a plan that was just cancelled: sandboxes that can't be removed here, because their strategy is gone.
   */
  readonly left?: readonly RemainingSandbox[];
  /** Of a plan that was just cancelled: what else could not be removed. The next start tries again. */
  readonly warnings?: readonly string[];
}

export interface PlanResourceView {
  readonly name: string;
  readonly type: string;
  readonly location: string;
  /** The resource of the plan that it is inside of. */
  readonly parent?: string;
  /** The resource of the plan in whose sandbox it is, if it has none of its own. */
  readonly sharesSandboxOf?: string;
  readonly strategy: string;
  /** Why it got that strategy. */
  readonly why: string;
  readonly status: SandboxState;
  /** Why its sandbox can't be used. */
  readonly error?: string;
  /** The machine was restarted since the sandbox was made: work in it that was not on disk may be missing. */
  readonly restarted?: true;
  /** What the user should know of the sandbox: how long it lasts, what can't be done with it. */
  readonly notes?: readonly string[];
  /**
   * Where programs find the sandbox now; null if it is gone, or is shown only to programs that are run
   * inside.
   */
  readonly path: string | null;
}

export interface PlanDiff {
  readonly planId: string;
  /**
   * Over everything that would land and what it is based on; `apply` can be told to land only exactly this.
   */
  readonly digest: string;
  readonly stats: DiffStats;
  readonly changes: readonly PlanChange[];
  /** What tools run by themselves among the changes. */
  readonly selfRunning: readonly SelfRunningChange[];
}

/** A change of a file that a tool runs, or takes commands from, by itself. */
export interface SelfRunningChange {
  readonly resource: string;
  readonly path: string;
  readonly operation: ChangeOperation;
  /** What runs it: "git", "VS Code". */
  readonly tool: string;
  /** Completes the sentence "TOOL …". */
  readonly why: string;
  /**
   * It lands only if `apply` is told that it may. What is deleted, and what the configuration allows, lands
   * without that.
   */
  readonly needsWord: boolean;
}

export interface PlanChange extends Change {
  /** The resource's name. */
  readonly resource: string;
}

export interface ApplyResult {
  readonly planId: string;
  readonly state: PlanState;
  readonly message?: string;
  readonly participants: readonly ParticipantResult[];
  /** What a person should look at although it landed; then the command exits with 4. */
  readonly attention: readonly (Attention & { readonly resource: string })[];
  /**
   * What the user should know, for example that atomicity does not hold for a resource that is worked on in
   * place.
   */
  readonly warnings: readonly string[];
}

export interface ParticipantResult {
  readonly resource: string;
  readonly strategy: string;
  readonly outcome: "committed" | "unchanged";
  readonly changes: number;
}

/** One resource of a new plan, as the user gave it. */
export interface ResourceRequest {
  /** Default: the last name of the location. */
  readonly name?: string;
  /** A path or a URL; or the name of a resource that the config declares. */
  readonly location: string;
  /** Default: detected. */
  readonly type?: string;
  /** Default: chosen, and `why` says how. */
  readonly strategy?: string;
  /**
   * What the sandbox of a git checkout begins with: `head`, the default, or `checkout`, the files as they
   * are.
   */
  readonly from?: string;
}

export interface CreatePlanOptions {
  readonly resources: readonly ResourceRequest[];
  readonly name?: string;
  readonly readOnly?: boolean;
  /** The user's word that the plan may hold what can't be undone. */
  readonly allowIrreversible?: boolean;
  /**
   * Leave out what only programs outside of `run` need to find the sandboxes, such as a mount. `path` makes
   * it when it is asked for.
   */
  readonly withoutPaths?: boolean;
}

export interface ListPlansOptions {
  /** Also those that are applied, undone or cancelled. */
  readonly all?: boolean;
}

export interface CheckpointOptions {
  /** What it is called. */
  readonly label?: string;
}

export interface DiffOptions {
  /** Show only what is at or below these. */
  readonly paths?: readonly string[];
  /** Say what still needs the user's word if `apply` is told this. */
  readonly allow?: readonly string[];
  /** Takes each change as it is found. The result then lists none: a large diff need not fit into memory. */
  readonly onChange?: (change: PlanChange) => void;
}

export interface PatchOptions extends Omit<DiffOptions, "onChange"> {
  /** Told of the diff that the patch is made from, before its first piece. */
  readonly onDiff?: (diff: PlanDiff) => void;
}

export interface ApplyOptions {
  readonly message?: string;
  /** Land only if `diff` still gives this digest. */
  readonly digest?: string;
  /**
   * Land only what is meant by these, `[RESOURCE:]PATTERN` each; the rest stays in the plan, which stays
   * open. In a pattern `*` stands for characters of a name, `**` for names; what is below a path that is
   * meant is meant too. Of folders and files only.
   */
  readonly only?: readonly string[];
  /**
   * What may land though tools run it by themselves (git hooks, editor tasks), `[RESOURCE:]PATTERN` each, in
   * addition to what the configuration allows.
   */
  readonly allow?: readonly string[];
  /** Do everything up to the decision, then take it back. */
  readonly dryRun?: boolean;
  readonly allowIrreversible?: boolean;
  /**
   * Also land sandboxes from before a restart of the machine, though work in them that was not on disk may be
   * missing.
   */
  readonly afterRestart?: boolean;
}

/** A saved state of a plan. */
export interface CheckpointView {
  readonly id: string;
  readonly label?: string;
  /** UTC, ISO 8601. */
  readonly createdAt: string;
  /** Drydock made it by itself, before a command. */
  readonly automatic: boolean;
  /** That command. */
  readonly before?: string;
  /** The size of the files that it holds, of which earlier checkpoints may hold the same. */
  readonly bytes: number;
}

export interface CheckpointResult extends CheckpointView {
  readonly planId: string;
  /** What could not be removed of checkpoints that are no longer kept; the next start tries again. */
  readonly warnings: readonly string[];
}

export interface RestoreResult {
  readonly planId: string;
  readonly checkpoint: CheckpointView;
  /** The ids of the checkpoints that were made after it, and are gone with what came after it. */
  readonly dropped: readonly string[];
  readonly warnings: readonly string[];
}

/** What happened to a plan. */
export interface PlanLog {
  readonly planId: string;
  readonly name: string;
  readonly state: PlanState;
  /** The oldest first. */
  readonly entries: readonly PlanLogEntry[];
}

export interface PlanLogEntry {
  /** UTC, ISO 8601. */
  readonly at: string;
  /** "name@host" of the user. */
  readonly actor: string;
  /** The process that did it. */
  readonly pid?: number;
  /**
   * `created`, `executed`, `checkpoint`, `restored`, `not restored`, `sealed` (a diff was shown, with this
   * digest), `rolled back`, `applied`, `not applied`, `part applied`, `undone`, `not undone`, `part undone`,
   * `last landing undone` (and parts that landed before are still there), `recovered`, `undo discarded`,
   * `cleaned up`, `cancelled`.
   */
  readonly event: string;
  readonly details: { readonly [key: string]: PlainData };
}

/** Something that Drydock made and that is not needed any more. */
export interface CleanupItem {
  /** "folder", "mount", "run folder", "undo record", "times", "lock", or what a strategy calls it. */
  readonly kind: string;
  /** Empty if it belongs to no plan. */
  readonly planId: string;
  /** A path, or where else a strategy says that it is. */
  readonly location: string;
  /** Null if it is unknown. */
  readonly ageSeconds: number | null;
  readonly bytes?: number;
  /** Why it is not needed. */
  readonly reason: string;
  /** It may hold the only copy of work that was not applied, so it is removed only by force. */
  readonly holdsWork?: true;
}

export interface CleanupOptions {
  /** Keep items that are younger. */
  readonly olderThanMs?: number;
  /** Only say what would be removed. */
  readonly dryRun?: boolean;
  /** Also remove what may hold the only copy of somebody's work. */
  readonly force?: boolean;
}

export interface PurgeResult {
  readonly dryRun: boolean;
  /** With `dryRun`: what would be removed. */
  readonly removed: readonly CleanupItem[];
  readonly kept: readonly (CleanupItem & { readonly why: string })[];
  readonly failed: readonly (CleanupItem & { readonly message: string })[];
}

export interface CleanupStatus {
  readonly stateDir: string;
  /** Those of open plans too. */
  readonly sandboxes: { readonly count: number; readonly bytes: number };
  /** Applied plans that can still be undone. */
  readonly undoRecords: { readonly count: number };
  readonly leftovers: { readonly count: number; readonly bytes: number };
}
