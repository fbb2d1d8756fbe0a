import type { RemainingSandbox } from "../commit/cleanup/plan-closing.ts";
import type { Change, ChangeKind, ChangeOperation, DiffStats } from "../core/change.ts";
import type { PlanLabels, PlanState } from "../core/plan.ts";
import type { AwaitedHost } from "../core/resource/awaited-host.ts";
import type { SandboxState } from "../core/sandbox-states.ts";
import type { LastingResource } from "../core/transaction.ts";
import type { LimitName } from "../core/values/limits.ts";
import type { PlanLogEntry } from "../core/values/plan-events.ts";
import type { DeniedRequest } from "../core/values/run-policy.ts";
import type { LandedView } from "./landing-views.ts";
import type { WantedLabels } from "./plan-labels.ts";
import type { ReviewState } from "./review/approval-views.ts";

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
  readonly labels?: PlanLabels;
  /** For a plan that is not over: a review that it waits for, or the last verdict. */
  readonly review?: ReviewState;
  /** The detached command that was started last in it; not in lists of plans. */
  readonly detached?: DetachedView;
  /** For a plan with a landing: until when the last one can be undone, or why it can't. */
  readonly undo?:
    | {
        readonly until: string;
        /** What no undo can take back: it stays as it landed, if the undo is told to leave it. */
        readonly leaving?: readonly string[];
      }
    | { readonly not: string };
  /** For an undone plan: what stays as it landed. */
  readonly stays?: readonly LastingResource[];
  /** For a plan that was made on another host of the fleet: that host. */
  readonly host?: string;
  /** For a plan over hosts that is being applied or undone: the hosts for which it waits. */
  readonly waits?: readonly AwaitedHost[];
  readonly resources: readonly PlanResourceView[];
  /**
   * For a plan that was just cancelled: sandboxes that can't be removed here, because their strategy is gone.
   */
  readonly left?: readonly RemainingSandbox[];
  /** For a plan that was just cancelled: other failures to remove something. The next start tries again. */
  readonly warnings?: readonly string[];
}

/** A detached command: it runs, has ended, or was killed together with the process that keeps it. */
export interface DetachedView {
  /** Its id in the history of the plan. */
  readonly exec: string;
  readonly command: string;
  readonly state: "running" | "ended" | "killed";
  /** UTC, ISO 8601. */
  readonly since: string;
  /** While it runs: the process that keeps it. */
  readonly pid?: number;
  /** If it has ended and was not killed. UTC, ISO 8601. */
  readonly endedAt?: string;
  readonly exitCode?: number;
  /** The signal that ended it, as a shell tells it: by an exit code above 128. */
  readonly signal?: string;
  readonly durationMs?: number;
  /** It was ended by request, or with its plan. */
  readonly aborted?: true;
  /** The limit that it met. */
  readonly limit?: LimitName;
  /** What it was not allowed to reach. */
  readonly denied?: readonly DeniedRequest[];
  /** How the `run` ended that started it, if otherwise than the command: it could not land, for example. */
  readonly run?: RunEnd;
}

/** The exit code of a `run`, and what it said at its end. */
export interface RunEnd {
  readonly exitCode: number;
  readonly said: string;
}

export interface PlanResourceView {
  readonly name: string;
  readonly type: string;
  readonly location: string;
  /** The resource of the plan that contains it. */
  readonly parent?: string;
  /** The resource of the plan whose sandbox it shares, if it has none of its own. */
  readonly sharesSandboxOf?: string;
  readonly strategy: string;
  /** The reason for its strategy. */
  readonly why: string;
  readonly status: SandboxState;
  /** Why its sandbox can't be used. */
  readonly error?: string;
  /** The machine was restarted since the sandbox was made: work that was not on disk may be missing. */
  readonly restarted?: true;
  /** Notes on the sandbox for the user: how long it lasts, what it can't do. */
  readonly notes?: readonly string[];
  /**
   * Links that lead out of it, some of them: a program at `path` follows these, and changes what is there.
   */
  readonly linksOut?: readonly { readonly path: string; readonly target: string }[];
  /**
   * Where programs find the sandbox now; null if it is gone, or visible only to programs that run inside.
   */
  readonly path: string | null;
}

export interface PlanDiff {
  readonly planId: string;
  /** Covers everything that would land and its base; `apply` can be told to land exactly this. */
  readonly digest: string;
  readonly stats: DiffStats;
  readonly changes: readonly PlanChange[];
  /** The additions among the changes that are renames, each together with the deletion at its old path. */
  readonly renames: readonly PlanRename[];
  /** The self-running files among the changes. */
  readonly selfRunning: readonly SelfRunningChange[];
  /** For an applied plan: these changes have landed. */
  readonly landed?: LandedView;
  /** With `checkpoint`: these changes are those of a saved state. */
  readonly saved?: SavedView;
}

/** A checkpoint that a diff looks into. */
export interface SavedView {
  readonly checkpoint: CheckpointView;
  /** Resources of which nothing is listed, because their strategy does not tell what a checkpoint holds. */
  readonly unlisted: readonly string[];
  /** How many changes are others now than then. Only the first thousand of them are listed. */
  readonly since: {
    readonly new: number;
    readonly changed: number;
    readonly gone: number;
    readonly changes: readonly SinceChange[];
  };
}

/** A change that is not what it was in a checkpoint. */
export interface SinceChange {
  readonly resource: string;
  readonly path: string;
  readonly kind: ChangeKind;
  /** Only now (`new`), only then (`gone`), or now and then, but not the same (`changed`). */
  readonly since: "new" | "changed" | "gone";
}

/** An entry that is deleted at one path and added at another, with the same content, mode and owner. */
export interface PlanRename {
  readonly resource: string;
  readonly from: string;
  readonly to: string;
  readonly kind: ChangeKind;
  /** For a folder: how many entries are in it, all of them unchanged. */
  readonly entries?: number;
}

/** A change of a file that a tool runs, or takes commands from, by itself. */
export interface SelfRunningChange {
  readonly resource: string;
  readonly path: string;
  readonly operation: ChangeOperation;
  /** The tool that runs it: "git", "VS Code". */
  readonly tool: string;
  /** Completes the sentence "TOOL …". */
  readonly why: string;
  /**
   * It lands only if `apply` allows it. Deletions, and files that the configuration allows, land without
   * that.
   */
  readonly needsWord: boolean;
}

export interface PlanChange extends Change {
  /** The resource's name. */
  readonly resource: string;
}

/** One resource of a new plan, as the user gave it. */
export interface ResourceRequest {
  /** Default: the last name of the location. */
  readonly name?: string;
  /** A path or a URL, or the name of a resource in the config. */
  readonly location: string;
  /** Default: detected. */
  readonly type?: string;
  /** Default: chosen by Drydock; `why` says how. */
  readonly strategy?: string;
  /**
   * The initial content of the sandbox of a git checkout: `head`, the default, or `checkout`, the files as
   * they are.
   */
  readonly from?: string;
}

export interface CreatePlanOptions {
  readonly resources: readonly ResourceRequest[];
  /** Another open plan must not have it. Default: made from the name of the first resource. */
  readonly name?: string;
  /** What the plan can be found by. */
  readonly labels?: PlanLabels;
  readonly readOnly?: boolean;
  /** The user's word that the plan may hold resources whose changes can't be undone. */
  readonly allowIrreversible?: boolean;
  /**
   * Omit what only programs outside of `run` need to find the sandboxes, such as a mount. `path` makes it on
   * demand.
   */
  readonly withoutPaths?: boolean;
}

/** Resources that join an open plan. */
export interface AddOptions
  extends Pick<CreatePlanOptions, "resources" | "allowIrreversible" | "withoutPaths"> {}

export interface ListPlansOptions {
  /** Also applied, undone and cancelled plans. */
  readonly all?: boolean;
  /** Only plans that have all of these labels: with this value, or with any (`true`). */
  readonly labels?: WantedLabels;
  /** At most so many, the newest. Default: all of them. */
  readonly limit?: number;
}

export interface CheckpointOptions {
  /** The name of the checkpoint. */
  readonly label?: string;
}

export interface DiffOptions {
  /** Show only changes at or below these paths. */
  readonly paths?: readonly string[];
  /** Show what this checkpoint holds: its id, a unique prefix of it, or its label. */
  readonly checkpoint?: string;
  /** Report what needs the user's word beyond these patterns. */
  readonly allow?: readonly string[];
  /**
   * Takes each change when it is found. The result then lists none: a large diff need not fit into memory.
   */
  readonly onChange?: (change: PlanChange) => void;
}

export interface PatchOptions extends Omit<DiffOptions, "onChange"> {
  /** Called with the diff of the patch, before its first piece. */
  readonly onDiff?: (diff: PlanDiff) => void;
  /** Say of files that are not text only that they differ. Git does not take such a patch. */
  readonly onlyText?: boolean;
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
  /** The size of its files; earlier checkpoints may share some of them. */
  readonly bytes: number;
}

export interface CheckpointResult extends CheckpointView {
  readonly planId: string;
  /** Failures to remove checkpoints that are no longer kept; the next start tries again. */
  readonly warnings: readonly string[];
}

export interface RestoreResult {
  readonly planId: string;
  readonly checkpoint: CheckpointView;
  /** The ids of the later checkpoints, which the restore dropped. */
  readonly dropped: readonly string[];
  readonly warnings: readonly string[];
}

/** The history of a plan. */
export interface PlanLog {
  readonly planId: string;
  readonly name: string;
  readonly state: PlanState;
  /** Oldest first. */
  readonly entries: readonly PlanLogEntry[];
}

/** Which events to tell. */
export interface EventsOptions {
  /** Only those of one plan. Default: of all. */
  readonly plan?: string;
  /**
   * Only those behind this event: its `cursor`. `now`: only those that are still to come. Default: from the
   * beginning.
   */
  readonly after?: string;
  /** Aborting it ends the events. */
  readonly signal?: AbortSignal;
}

/** A leftover: something that Drydock made and no plan needs any more. */
export interface CleanupItem {
  /** "folder", "mount", "run folder", "undo record", "times", "lock", or what a strategy calls it. */
  readonly kind: string;
  /** Empty if it belongs to no plan. */
  readonly planId: string;
  /** A path, or another location that a strategy gave. */
  readonly location: string;
  /** Null if it is unknown. */
  readonly ageSeconds: number | null;
  readonly bytes?: number;
  /** Why it is not needed. */
  readonly reason: string;
  /** It may hold the only copy of work that was not applied, so only `force` removes it. */
  readonly holdsWork?: true;
}

export interface CleanupOptions {
  /** Keep items that are younger. */
  readonly olderThanMs?: number;
  /** Only report what would be removed. */
  readonly dryRun?: boolean;
  /** Also remove leftovers that may hold the only copy of a user's work. */
  readonly force?: boolean;
  /** Also remove undo records that are at least this old, although their plans could still be undone. */
  readonly undoOlderThanMs?: number;
}

/** Something that a plan has in the world. */
export interface PlanPlace {
  /** `folder`, `mount`, `branch`, `transaction`, `run folder`, `scratch`, `passwords`, `command` … */
  readonly kind: string;
  /** A path, or the name that the thing has where it is. */
  readonly location: string;
  /** The resource that it is for. */
  readonly resource?: string;
  readonly bytes?: number;
}

/** An open plan that nobody has used for long. */
export interface IdlePlan {
  readonly planId: string;
  readonly name: string;
  /** When something happened to it last, and by whom. UTC, ISO 8601. */
  readonly lastUsed: string;
  readonly by: string;
  /** The size of its sandboxes and scratch. */
  readonly bytes: number;
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
  /** Includes those of open plans. */
  readonly sandboxes: { readonly count: number; readonly bytes: number };
  /** Applied plans that can still be undone. */
  readonly undoRecords: { readonly count: number; readonly bytes: number };
  readonly leftovers: { readonly count: number; readonly bytes: number };
}
