import { SandboxConflictError } from "../../core/errors/errors.ts";
import type { Facts } from "../../system/calls/facts.ts";
import { RowStore } from "../../system/data/row-store.ts";
import type { TreeEntry } from "../changes/change-set.ts";
import { FactsPacker } from "../changes/packed-facts.ts";
import type { Rows } from "../changes/rows.ts";
import { Conflicts, type JudgedEntry } from "../checks/conflicts.ts";
import { Obstacles, type Unlocks } from "../checks/obstacles.ts";
import type { RenamedPaths } from "../manifest/renamed-paths.ts";
import type { Steps } from "../work/pace.ts";
import { comesIn, type RenamingInput, type StagingInput } from "./staging-input.ts";
import type { Survey } from "./survey.ts";

interface Failure {
  readonly thrown: unknown;
}

interface FoundEntry {
  readonly entry: TreeEntry;
  readonly slot: number;
}

/** An entry that still has to land. */
export class CheckedEntry {
  readonly entry: TreeEntry;
  readonly slot: number;
  /** For a folder that is renamed: its new path. */
  readonly renamedTo: string | undefined;
  /** Whether something of the sandbox goes into the slot. */
  readonly comesIn: boolean;
  /** Whether it is a folder that is there already, with another name. */
  readonly isRenamed: boolean;
  readonly #facts: FactsPacker;
  readonly #row: Buffer;

  constructor(found: FoundEntry, renames: RenamedPaths, facts: FactsPacker, row: Buffer) {
    const { entry, slot } = found;
    this.entry = entry;
    this.slot = slot;
    this.renamedTo = renames.newPathOf(entry.path);
    this.isRenamed = renames.oldPathOf(entry.path) !== undefined && entry.operation === "add";
    this.comesIn = comesIn(entry) && !this.isRenamed;
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
const WHILE = "changed in the original while it was compared";

/**
 * The entries of a change set that still have to land, after all were checked. Keeps only the original's
 * facts of each; the rest is read again from the change set, in order.
 */
export class CheckedEntries implements Iterable<CheckedEntry> {
  readonly #entries: Rows<TreeEntry>;
  readonly #renames: RenamedPaths;
  readonly #facts = new FactsPacker();
  /** A row for each entry. */
  readonly #before = new RowStore();
  #unlocks: Unlocks = [];
  #count = 0;

  private constructor({ changes, renames }: RenamingInput) {
    this.#entries = changes.entries;
    this.#renames = renames;
  }

  /**
   * Checks every entry once: for conflicts, for obstacles, and for how to stage it. Throws
   * `SandboxConflictError` with all conflicts, or else the first obstacle.
   */
  static *check(input: RenamingInput, survey: Survey): Steps<CheckedEntries> {
    const checked = new CheckedEntries(input);
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

  *#check(input: RenamingInput, survey: Survey): Steps {
    using conflicts = new Conflicts(input);
    const obstacles = new Obstacles(input.original);
    let obstacle: Failure | undefined;
    for (const entry of this.#entries) {
      const judged = mayLand(entry, input) ? this.#judge(entry, input, conflicts) : "done";
      this.#before.add(this.#packed(judged));
      if (judged !== "done" && judged !== "conflict") {
        if (conflicts.found.length === 0 && obstacle === undefined)
          obstacle = this.#prepare(entry, judged, { obstacles, survey });
        this.#count += 1;
      }
      yield 1;
    }
    if (conflicts.found.length > 0) throw new SandboxConflictError(conflicts.found);
    if (obstacle !== undefined) throw obstacle.thrown;
    this.#unlocks = obstacles.unlocks;
  }

  /** Looks for obstacles, and at how the entry is staged. Returns the obstacle, if there is one. */
  #prepare(
    entry: TreeEntry,
    judged: Facts | "nothing",
    { obstacles, survey }: { readonly obstacles: Obstacles; readonly survey: Survey },
  ): Failure | undefined {
    const now = judged === "nothing" ? undefined : judged;
    const obstacle = this.#isInRenamed(entry) ? undefined : failureOf(() => obstacles.judge(entry, now));
    const isStaged = comesIn(entry) && !this.#isRenamed(entry);
    if (obstacle === undefined && isStaged) survey.look(entry, this.#count);
    return obstacle;
  }

  #judge(entry: TreeEntry, { original }: StagingInput, conflicts: Conflicts): JudgedEntry {
    const { path, before } = entry;
    // The folder that they are in is judged with all its contents, and obstacles were looked for before.
    if (this.#isInRenamed(entry)) {
      const now = original.factsBelow(this.#renames.before(path));
      return (now === undefined) === (before === undefined)
        ? (now ?? "nothing")
        : conflicts.add(entry, WHILE);
    }
    const judged = conflicts.judge(entry);
    const isPart = this.#isRenamed(entry) || this.#renames.newPathOf(path) !== undefined;
    return judged === "done" && isPart ? conflicts.add(entry, WHILE) : judged;
  }

  #isRenamed({ path, operation }: TreeEntry): boolean {
    return operation === "add" && this.#renames.oldPathOf(path) !== undefined;
  }

  #isInRenamed(entry: TreeEntry): boolean {
    return !this.#isRenamed(entry) && this.#renames.before(entry.path) !== entry.path;
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
      yield new CheckedEntry({ entry, slot }, this.#renames, this.#facts, row);
      slot += 1;
    }
  }
}

function mayLand(entry: TreeEntry, { rules }: StagingInput): boolean {
  return entry.after === undefined || rules.lands(entry.path, entry.after);
}

/** Returns an error instead of throwing it, because a conflict found later takes precedence. */
function failureOf(action: () => void): Failure | undefined {
  try {
    action();
    return undefined;
  } catch (thrown) {
    return { thrown };
  }
}
