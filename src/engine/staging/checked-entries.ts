import { SandboxConflictError } from "../../core/errors/errors.ts";
import type { TreeEntry } from "../changes/change-set.ts";
import { Conflicts } from "../checks/conflicts.ts";
import { Obstacles, type Unlocks } from "../checks/obstacles.ts";
import { type PackedIdentity, packIdentity } from "../manifest/manifest-entries.ts";
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
  readonly unlocks: Unlocks;
  readonly count: number;
  readonly #entries: Iterable<TreeEntry>;
  readonly #before: readonly (PackedIdentity | undefined | typeof DROPS_OUT)[];

  /**
   * Checks every entry once: for conflicts, for obstacles, and for how to stage it. Throws
   * `SandboxConflictError` with all conflicts, or else the first obstacle.
   */
  constructor(input: StagingInput, survey: Survey) {
    using conflicts = new Conflicts(input);
    const obstacles = new Obstacles(input.original);
    const before: (PackedIdentity | undefined | typeof DROPS_OUT)[] = [];
    let obstacle: { readonly thrown: unknown } | undefined;
    let count = 0;
    for (const entry of input.changes.entries) {
      const judged = mayLand(entry, input) ? conflicts.judge(entry) : "done";
      if (judged === "done" || judged === "conflict") {
        before.push(DROPS_OUT);
        continue;
      }
      const now = judged === "nothing" ? undefined : judged;
      before.push(now === undefined ? undefined : packIdentity(now));
      const slot = count;
      count += 1;
      if (conflicts.found.length > 0 || obstacle !== undefined) continue;
      obstacle = failureOf(() => obstacles.judge(entry, now));
      if (obstacle === undefined && comesIn(entry)) survey.look(entry, slot);
    }
    if (conflicts.found.length > 0) throw new SandboxConflictError(conflicts.found);
    if (obstacle !== undefined) throw obstacle.thrown;
    this.unlocks = obstacles.unlocks;
    this.count = count;
    this.#entries = input.changes.entries;
    this.#before = before;
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
