import { SandboxConflictError } from "../../core/errors/errors.ts";
import type { TreeEntry } from "../changes/change-set.ts";
import { Conflicts, type JudgedEntry } from "../checks/conflicts.ts";
import { Obstacles, type Unlocks } from "../checks/obstacles.ts";
import { type PackedIdentity, packIdentity } from "../manifest/manifest-entries.ts";
import type { Steps } from "../work/pace.ts";
import { comesIn, type StagingInput } from "./staging-input.ts";
import type { Survey } from "./survey.ts";

/** An entry that still has to land. */
export interface LeftEntry {
  readonly entry: TreeEntry;
  readonly slot: number;
  /** The original's entry now. */
  readonly before: PackedIdentity | undefined;
}

/** The original has the outcome already, or the entry may not land. */
const DROPS_OUT = -1;

/**
 * The entries of a change set that still have to land, after all were checked. Keeps only the original's
 * identity of each; the rest is read again from the change set, in order.
 */
export class CheckedEntries implements Iterable<LeftEntry> {
  readonly #entries: Iterable<TreeEntry>;
  readonly #before: (PackedIdentity | undefined | typeof DROPS_OUT)[] = [];
  #unlocks: Unlocks = [];
  #count = 0;

  private constructor(entries: Iterable<TreeEntry>) {
    this.#entries = entries;
  }

  /**
   * Checks every entry once: for conflicts, for obstacles, and for how to stage it. Throws
   * `SandboxConflictError` with all conflicts, or else the first obstacle.
   */
  static *check(input: StagingInput, survey: Survey): Steps<CheckedEntries> {
    const checked = new CheckedEntries(input.changes.entries);
    yield* checked.#check(input, survey);
    return checked;
  }

  /** The folders to open up for the landing. */
  get unlocks(): Unlocks {
    return this.#unlocks;
  }

  get count(): number {
    return this.#count;
  }

  *#check(input: StagingInput, survey: Survey): Steps {
    using conflicts = new Conflicts(input);
    const obstacles = new Obstacles(input.original);
    let obstacle: { readonly thrown: unknown } | undefined;
    for (const entry of this.#entries) {
      const judged = mayLand(entry, input) ? conflicts.judge(entry) : "done";
      const slot = this.#note(judged);
      if (slot !== undefined && conflicts.found.length === 0 && obstacle === undefined) {
        obstacle = failureOf(() => obstacles.judge(entry, typeof judged === "string" ? undefined : judged));
        if (obstacle === undefined && comesIn(entry)) survey.look(entry, slot);
      }
      yield 1;
    }
    if (conflicts.found.length > 0) throw new SandboxConflictError(conflicts.found);
    if (obstacle !== undefined) throw obstacle.thrown;
    this.#unlocks = obstacles.unlocks;
  }

  /** Returns the entry's slot, if it still has to land. */
  #note(judged: JudgedEntry): number | undefined {
    if (judged === "done" || judged === "conflict") {
      this.#before.push(DROPS_OUT);
      return undefined;
    }
    this.#before.push(judged === "nothing" ? undefined : packIdentity(judged));
    this.#count += 1;
    return this.#count - 1;
  }

  *[Symbol.iterator](): Generator<LeftEntry> {
    let at = 0;
    let slot = 0;
    for (const entry of this.#entries) {
      const before = this.#before[at];
      at += 1;
      if (before === DROPS_OUT) continue;
      yield { entry, slot, before };
      slot += 1;
    }
  }
}

function mayLand(entry: TreeEntry, { rules }: StagingInput): boolean {
  return entry.after === undefined || rules.lands(entry.path, entry.after);
}

/** Returns an error instead of throwing it, because a conflict found later takes precedence. */
function failureOf(action: () => void): { readonly thrown: unknown } | undefined {
  try {
    action();
    return undefined;
  } catch (thrown) {
    return { thrown };
  }
}
