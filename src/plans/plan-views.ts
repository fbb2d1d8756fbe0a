import type { Change, DiffStats } from "../core/change.ts";
import type { PlanState } from "../core/plan.ts";
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
  readonly resources: readonly PlanResourceView[];
}

export interface PlanResourceView {
  readonly name: string;
  readonly type: string;
  readonly location: string;
  readonly strategy: string;
  /** Why it got that strategy. */
  readonly why: string;
  readonly status: SandboxState;
  /** Why its sandbox can't be used. */
  readonly error?: string;
  /** The machine was restarted since the sandbox was made: work in it that was not on disk may be missing. */
  readonly restarted?: true;
  /** Where programs find the sandbox now; null if it is gone, or is shown only to programs that are run inside. */
  readonly path: string | null;
}

export interface PlanDiff {
  readonly planId: string;
  /** Over everything that would land and what it is based on; `apply` can be told to land only exactly this. */
  readonly digest: string;
  readonly stats: DiffStats;
  readonly changes: readonly PlanChange[];
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
  /** What the user should know, for example that atomicity does not hold for a resource that is worked on in place. */
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
}

export interface CreatePlanOptions {
  readonly resources: readonly ResourceRequest[];
  readonly name?: string;
  readonly readOnly?: boolean;
  /** The user's word that the plan may hold what can't be undone. */
  readonly allowIrreversible?: boolean;
  /** Leave out what only programs outside of `run` need to find the sandboxes, such as a mount. `path` makes it when it is asked for. */
  readonly withoutPaths?: boolean;
}

export interface ApplyOptions {
  readonly message?: string;
  /** Land only if `diff` still gives this digest. */
  readonly digest?: string;
  /** Do everything up to the decision, then take it back. */
  readonly dryRun?: boolean;
  readonly allowIrreversible?: boolean;
  /** Also land sandboxes from before a restart of the machine, though work in them that was not on disk may be missing. */
  readonly afterRestart?: boolean;
}
