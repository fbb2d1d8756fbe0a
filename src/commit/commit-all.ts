import type { PlanState } from "../core/plan.ts";
import type { Attention } from "../core/strategy.ts";

/** How the sandboxes of a plan land. */
export interface CommitAllOptions {
  readonly message?: string;
  readonly allowIrreversible?: boolean;
  /** Also land sandboxes from before a restart of the machine. */
  readonly afterRestart?: boolean;
  /** `[RESOURCE:]PATTERN` each: what may land though tools run it by themselves. */
  readonly allow?: readonly string[];
  /** Stop right before the decision and take everything back. */
  readonly dryRun?: boolean;
  /** Asked once no other process can work on the plan, before anything is prepared; throws to refuse. */
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

/** What a commit or an undo did. */
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
  readonly attention: readonly (Attention & { readonly resource: string })[];
  readonly warnings: readonly string[];
}
