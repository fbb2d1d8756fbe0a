import { SandboxConflictError } from "../../core/errors/errors.ts";
import type { Facts } from "../../system/calls/facts.ts";
import { RowStore } from "../../system/data/row-store.ts";
import type { TreeEntry } from "../changes/change-set.ts";
import { FactsPacker } from "../changes/packed-facts.ts";
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
  readonly #facts: FactsPacker;
  readonly #row: Buffer;

  constructor(entry: TreeEntry, slot: number, facts: FactsPacker, row: Buffer) {
    this.entry = entry;
    this.slot = slot;
    this.#facts = facts;
    this.#row = row;
  }

  /** The original's entry now. Every access unpacks it. */
  get before(): Facts | undefined {
    return this.#row[0] === THERE ? this.#facts.unpackNow(this.#row.subarray(1)) : undefined;
  }
}

/**
 * The first byte of a row: the entry drops out, because the original has the outcome already or because it
 * may not land; nothing is there in the original; or the facts of what is there follow.
 */
const [DROPS_OUT, NOTHING, THERE] = [0, 1, 2];

/**
 * The entries of a change set that still have to land, after all were checked. Keeps only the original's
 * facts of each; the rest is read again from the change set, in order.
 */
export class CheckedEntries implements Iterable<CheckedEntry> {
  readonly #entries: Rows<TreeEntry>;
  readonly #facts = new FactsPacker();
  /** A row for each entry. */
  readonly #before = new RowStore();
  #unlocks: Unlocks = [];
  #count = 0;

  private constructor(entries: Rows<TreeEntry>) {
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
      this.#before.add(this.#packed(judged));
      if (judged !== "done" && judged !== "conflict") {
        if (conflicts.found.length === 0 && obstacle === undefined) {
          obstacle = failureOf(() => obstacles.judge(entry, typeof judged === "string" ? undefined : judged));
          if (obstacle === undefined && comesIn(entry)) survey.look(entry, this.#count);
        }
        this.#count += 1;
      }
      yield 1;
    }
    if (conflicts.found.length > 0) throw new SandboxConflictError(conflicts.found);
    if (obstacle !== undefined) throw obstacle.thrown;
    this.#unlocks = obstacles.unlocks;
  }

  #packed(judged: JudgedEntry): Buffer {
    if (judged === "done" || judged === "conflict") return Buffer.of(DROPS_OUT);
    if (judged === "nothing") return Buffer.of(NOTHING);
    return Buffer.concat([Buffer.of(THERE), this.#facts.packNow(judged)]);
  }

  *[Symbol.iterator](): Generator<CheckedEntry> {
    const rows = this.#before.rows();
    let slot = 0;
    for (const entry of this.#entries) {
      const row = rows.next().value as Buffer;
      if (row[0] === DROPS_OUT) continue;
      yield new CheckedEntry(entry, slot, this.#facts, row);
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
