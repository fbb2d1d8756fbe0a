import { SandboxConflictError } from "../../core/errors/errors.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { TreeEntry } from "../changes/change-set.ts";
import { PackedFacts } from "../changes/packed-facts.ts";
import type { Rows } from "../changes/rows.ts";
import { Conflicts, type JudgedEntry } from "../checks/conflicts.ts";
import { Obstacles, type Unlocks } from "../checks/obstacles.ts";
import type { Steps } from "../work/pace.ts";
import { comesIn, type StagingInput } from "./staging-input.ts";
import type { Survey } from "./survey.ts";

/** An entry that still has to land. */
export class CheckedEntry {
  readonly entry: TreeEntry;
  readonly slot: number;
  readonly #facts: PackedFacts;
  readonly #position: number;

  constructor(entry: TreeEntry, slot: number, facts: PackedFacts, position: number) {
    this.entry = entry;
    this.slot = slot;
    this.#facts = facts;
    this.#position = position;
  }

  /** The original's entry now. Every access unpacks it. */
  get before(): Facts | undefined {
    return this.#position === NOTHING ? undefined : this.#facts.now(this.#position);
  }
}

/** Instead of a position in the packed facts: nothing is there in the original. */
const NOTHING = 0xffffffff;
/** The same: the original has the outcome already, or the entry may not land. */
const DROPS_OUT = 0xfffffffe;

/**
 * The entries of a change set that still have to land, after all were checked. Keeps only the original's
 * facts of each; the rest is read again from the change set, in order.
 */
export class CheckedEntries implements Iterable<CheckedEntry> {
  readonly #entries: Rows<TreeEntry>;
  readonly #facts = new PackedFacts();
  readonly #before: Uint32Array;
  #unlocks: Unlocks = [];
  #count = 0;

  private constructor(entries: Rows<TreeEntry>) {
    this.#entries = entries;
    this.#before = new Uint32Array(entries.length);
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
    let at = 0;
    for (const entry of this.#entries) {
      const judged = mayLand(entry, input) ? conflicts.judge(entry) : "done";
      this.#before[at] = this.#packed(judged);
      if (this.#before[at] !== DROPS_OUT) {
        if (conflicts.found.length === 0 && obstacle === undefined) {
          obstacle = failureOf(() => obstacles.judge(entry, typeof judged === "string" ? undefined : judged));
          if (obstacle === undefined && comesIn(entry)) survey.look(entry, this.#count);
        }
        this.#count += 1;
      }
      at += 1;
      yield 1;
    }
    if (conflicts.found.length > 0) throw new SandboxConflictError(conflicts.found);
    if (obstacle !== undefined) throw obstacle.thrown;
    this.#unlocks = obstacles.unlocks;
  }

  #packed(judged: JudgedEntry): number {
    if (judged === "done" || judged === "conflict") return DROPS_OUT;
    return judged === "nothing" ? NOTHING : this.#facts.addNow(judged);
  }

  *[Symbol.iterator](): Generator<CheckedEntry> {
    let at = 0;
    let slot = 0;
    for (const entry of this.#entries) {
      const position = this.#before[at] as number;
      at += 1;
      if (position === DROPS_OUT) continue;
      yield new CheckedEntry(entry, slot, this.#facts, position);
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
