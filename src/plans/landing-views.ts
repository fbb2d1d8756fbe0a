import type { PlanState } from "../core/plan.ts";
import type { Attention } from "../core/strategy.ts";
import type { LastingResource } from "../core/transaction.ts";

export interface ApplyOptions {
  /** Recorded with the plan, and the message of commits that the apply makes. */
  readonly message?: string;
  /**
   * For git checkouts: one commit takes the place of those made inside, on the branch that is checked
   * out. Its message is `message`, or theirs joined.
   */
  readonly squash?: boolean;
  /** Land only if `diff` still gives this digest. */
  readonly digest?: string;
  /** Land only what the last approval of the plan covers, with the files that it allows. */
  readonly approved?: boolean;
  /**
   * Land exactly the changes, and hunks of changes, that are approved by votes as they are now; the rest
   * stays in the plan, which stays open. If all are approved, the plan lands as a whole.
   */
  readonly approvedPart?: boolean;
  /**
   * Land only the paths that these choose, `[RESOURCE:]PATTERN` each; the rest stays in the plan, which stays
   * open. In a pattern `*` stands for characters of a name, `**` for names; a chosen path includes everything
   * below it. For folders and files only.
   */
  readonly only?: readonly string[];
  /**
   * Files that may land although tools run them by themselves (git hooks, editor tasks), `[RESOURCE:]PATTERN`
   * each, in addition to those that the configuration allows.
   */
  readonly allow?: readonly string[];
  /**
   * Commands that must succeed inside the sandboxes first, each as a shell takes it, in addition to `checks:`
   * of the configuration. What they write does not land.
   */
  readonly check?: readonly string[];
  /** Whether the checks of the configuration run. Default: yes. */
  readonly checks?: boolean;
  /**
   * First merge what other writers changed at the plan's paths meanwhile, as `update` does. Lands only if
   * everything could be merged.
   */
  readonly update?: boolean;
  /** Do everything up to the decision, then take it back. */
  readonly dryRun?: boolean;
  readonly allowIrreversible?: boolean;
  /**
   * Also land sandboxes from before a restart of the machine, though work that was not on disk may be
   * missing.
   */
  readonly afterRestart?: boolean;
}

/** An apply that lands what comes back from a diff editor. */
export interface InteractiveOptions extends ApplyOptions {
  readonly editor?: DiffEditor;
}

/** A program in which a person chooses and edits what lands. */
export interface DiffEditor {
  /** Shows the changes, and returns when the person is done. `false` if nothing is to land. */
  edit(handed: HandedChanges): Promise<boolean>;
  /** Called with files that the editor added to `after`, and that do not land. */
  onIgnored(paths: readonly string[]): void;
}

/** What a diff editor gets. */
export interface HandedChanges {
  /** A folder with everything that changes, as the originals have it. */
  readonly before: string;
  /** The same as the plan has it. What is here afterwards lands. */
  readonly after: string;
  /** The files in them. */
  readonly paths: readonly string[];
  /** How many changes can't be shown this way. They stay in the plan. */
  readonly unshown: number;
}

export interface ApplyResult {
  readonly planId: string;
  readonly state: PlanState;
  readonly message?: string;
  readonly participants: readonly ParticipantResult[];
  /** For an undo: what stays as it landed, because no undo can take it back. */
  readonly stays?: readonly LastingResource[];
  /** What a person should look at although it landed; the command then exits with 4. */
  readonly attention: readonly (Attention & { readonly resource: string })[];
  /**
   * Warnings for the user, for example that atomicity does not hold for a resource that is worked on in
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

/** A plan with a landing that was not undone. */
export interface LandedPlan {
  readonly id: string;
  readonly name: string;
  /** UTC, ISO 8601. */
  readonly landedAt: string;
}

/** The landings of an applied plan. */
export interface LandedView {
  /** UTC, ISO 8601: when the last of them landed. */
  readonly at: string;
  /** How many changes more each resource got, of which no list is kept. */
  readonly unlisted: readonly { readonly resource: string; readonly changes: number }[];
}
