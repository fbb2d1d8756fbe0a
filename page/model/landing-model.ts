import { signal } from "@preact/signals";
import type { CheckResult } from "../../src/core/values/checks.ts";
import { CallError } from "../api/calls.ts";
import { apply, resolve, restore, takeOutRejected, undo, update } from "../api/server.ts";
import type { Progress, Resolution } from "../api/types.ts";
import { counted } from "../text/amounts.ts";

/** A path that the plan and another writer changed. */
export interface Conflict {
  readonly resource: string;
  readonly path: string;
  /** Why it can't land. */
  readonly why: string;
  /** What became of it, once it is settled. */
  readonly outcome?: string;
}

/** The plan that it is about. */
interface Landing {
  readonly id: string;
  load(): Promise<void>;
}

const MARKED = "both sides changed the same lines, which are marked in the sandbox now";
const OUTCOMES: { readonly [how in Resolution]: string } = {
  ours: "the plan has its own version, which takes the place of the other when it lands",
  theirs: "is as in the original; the plan no longer changes it",
  "keep-both": "is as in the original",
};

/** A landing of the plan: how far it is, what stands against it, and the ways out. */
export class LandingModel {
  /** What is done at present; null while nothing is known of it. */
  readonly progress = signal<Progress | null | undefined>(undefined);
  readonly conflicts = signal<readonly Conflict[]>([]);
  /** The check that failed, with its output. */
  readonly check = signal<CheckResult | undefined>(undefined);
  /** The checkpoint that takes the last step out of conflicts back. */
  readonly wayBack = signal<string | undefined>(undefined);
  readonly #plan: Landing;

  constructor(plan: Landing) {
    this.#plan = plan;
  }

  /** Lands changes. Says what came of it; what stands against it is shown. */
  async land(options: Parameters<typeof apply>[1]): Promise<string> {
    this.forget();
    const landed = await this.#long((onProgress) => apply(this.#plan.id, options, onProgress));
    return landed.attention.length === 0
      ? "It has landed."
      : "It has landed; some of it needs your attention.";
  }

  /** Takes the landing back, but for what can't be taken back. */
  async undo(leave: readonly string[]): Promise<string> {
    await this.#long((onProgress) => undo(this.#plan.id, leave, onProgress));
    return leave.length === 0 ? "It is undone." : `It is undone. As they landed stay: ${leave.join(", ")}.`;
  }

  /** Takes out of the plan what the reviewers reject. */
  async takeOutRejected(): Promise<string> {
    const { part } = await this.#long((onProgress) => takeOutRejected(this.#plan.id, onProgress));
    return `${counted(part?.changes ?? 0, "change")} taken out of the plan. A checkpoint brings back what went.`;
  }

  /** Merges what other writers changed, as far as that is possible. The rest stays in conflict. */
  async update(): Promise<string> {
    const found = await this.#long((onProgress) => update(this.#plan.id, onProgress));
    const { merged, marked, unmerged, checkpoint } = found;
    const left = [...marked.map((path) => ({ ...path, why: MARKED })), ...unmerged];
    const settled = merged.map((path) => ({
      ...path,
      why: "",
      outcome: "merged: the plan has both changes",
    }));
    this.conflicts.value = [...left, ...settled];
    this.wayBack.value = checkpoint;
    if (left.length === 0) return `${counted(merged.length, "path")} merged. Look again, and land it.`;
    return `${counted(merged.length, "path")} merged; ${counted(left.length, "path needs", "paths need")} your word.`;
  }

  /** Settles one conflict by the user's word. */
  async resolve(conflict: Conflict, how: Resolution): Promise<void> {
    const { beside, checkpoint } = await this.#long(() => resolve(this.#plan.id, conflict, how));
    const outcome = `${OUTCOMES[how]}${beside === undefined ? "" : `; the plan's version is ${beside}`}`;
    this.conflicts.value = this.conflicts.value.map((each) =>
      each === conflict ? { ...each, outcome } : each,
    );
    this.wayBack.value = checkpoint;
  }

  /** Takes the last update or word back. */
  async goBack(): Promise<string> {
    const checkpoint = this.wayBack.value;
    if (checkpoint !== undefined) await this.#long(() => restore(this.#plan.id, checkpoint));
    this.forget();
    return "The sandboxes are as they were before. Land again to see what stands against it.";
  }

  forget(): void {
    this.conflicts.value = [];
    this.check.value = undefined;
    this.wayBack.value = undefined;
  }

  /** Makes a step that moves the plan, and reads the plan again before anything is said of the step. */
  async #long<T>(work: (onProgress: (progress: Progress) => void) => Promise<T>): Promise<T> {
    this.progress.value = null;
    try {
      return await work((progress) => {
        this.progress.value = progress;
      });
    } catch (thrown) {
      if (thrown instanceof CallError) this.#take(thrown.problem?.details ?? {});
      throw thrown;
    } finally {
      await this.#plan.load();
      this.progress.value = undefined;
    }
  }

  #take({ conflicts, check }: { readonly [fact: string]: unknown }): void {
    if (Array.isArray(conflicts)) this.conflicts.value = conflicts as readonly Conflict[];
    if (check !== undefined) this.check.value = check as CheckResult;
  }
}
