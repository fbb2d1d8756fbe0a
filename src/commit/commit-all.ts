import type { ExactPart } from "../core/change.ts";
import type { PlanState } from "../core/plan.ts";
import type { Attention } from "../core/strategy.ts";
import type { LastingResource } from "../core/transaction.ts";

/** How the sandboxes of a plan land. */
export interface CommitAllOptions {
  readonly message?: string;
  /** One commit takes the place of those that were made in git checkouts. */
  readonly squash?: boolean;
  readonly allowIrreversible?: boolean;
  /** Also land sandboxes from before a restart of the machine. */
  readonly afterRestart?: boolean;
  /** `[RESOURCE:]PATTERN` each: files that may land although tools run them by themselves. */
  readonly allow?: readonly string[];
  /** Stop right before the decision and take everything back. */
  readonly dryRun?: boolean;
  /** Called once no other process can work on the plan, before anything is prepared; throws to refuse. */
  readonly review?: () => Promise<void>;
  /**
   * Called after `review`: returns the part that lands. The plan then stays open. Absent: everything lands.
   */
  readonly choose?: () => Promise<readonly ChosenPaths[]>;
}

/** The paths of a resource that land, by patterns (path-patterns.ts). */
export interface ChosenPaths {
  /** The name of the resource. */
  readonly resource: string;
  readonly only: readonly string[];
  /** Exactly these changes land; `only` is then for people to read. */
  readonly exactly?: ExactPart;
}

export interface UndoOptions {
  /**
   * The names of resources that may stay as they landed, because no undo can take them back. Everything else
   * is taken back.
   */
  readonly leave?: readonly string[];
}

/** The result of a commit or an undo. */
export interface CommitAllResult {
  /** The state of the plan now. */
  readonly state: PlanState;
  /** The message of its last apply. */
  readonly message?: string;
  readonly participants: readonly {
    readonly resource: string;
    readonly strategy: string;
    readonly outcome: "committed" | "unchanged";
    readonly changes: number;
  }[];
  /** For an undo: what stays as it landed. */
  readonly stays?: readonly LastingResource[];
  readonly attention: readonly (Attention & { readonly resource: string })[];
  readonly warnings: readonly string[];
}
