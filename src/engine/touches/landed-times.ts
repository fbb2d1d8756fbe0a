import { type Facts, type Identity, sameIdentity, sameTime, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";

/**
 * The change times that a sandbox's landed parts have in the original. To the rest of the same sandbox's
 * work, an entry with such a time counts as old as the original; other sandboxes see its real time. A later
 * change by another writer gives the entry another change time. An undo brings entries of earlier landings
 * back, so all times of an inode are kept.
 *
 * Format of the file `left` in the workspace: JSON, a list of { ino, btime, ctime }. It grows with the
 * entries that have landed.
 */
interface LandedTime extends Identity {
  readonly ctime: Time;
}

const WRITE = failpoint("left.write");
const FILE = "left";
/** A time before every T0. */
const LONG_AGO: Time = [0, 0];

export class LandedTimes {
  readonly #workspace: Folder;
  #known: ReadonlyMap<number, readonly LandedTime[]> | undefined;

  constructor(workspace: Folder) {
    this.#workspace = workspace;
  }

  /** Applies `asBefore`, then gives the entries of our landed parts a change time before every T0. */
  over(asBefore: (facts: Facts) => Facts): (facts: Facts) => Facts {
    return (facts) => {
      const seen = asBefore(facts);
      return this.#isOurs(seen) ? { ...seen, ctime: LONG_AGO } : seen;
    };
  }

  /** Remembers the change times that these entries have now. */
  remember(fresh: readonly Facts[]): void {
    if (fresh.length === 0) return;
    const all = new Map(this.#load());
    for (const { ino, btime, ctime } of fresh.filter((facts) => !this.#isOurs(facts)))
      all.set(ino, [...(all.get(ino) ?? []), { ino, btime, ctime }]);
    this.#known = all;
    const bytes = Buffer.from(JSON.stringify([...all.values()].flat()));
    writeWhole(WRITE, this.#workspace, FILE, bytes, "flushed");
  }

  #isOurs(facts: Facts): boolean {
    const left = this.#load().get(facts.ino) ?? [];
    return left.some((known) => sameIdentity(facts, known) && sameTime(facts.ctime, known.ctime));
  }

  #load(): ReadonlyMap<number, readonly LandedTime[]> {
    if (this.#known === undefined) {
      const bytes = readWhole(this.#workspace, FILE);
      const items = bytes === undefined ? [] : (parsed<readonly LandedTime[]>(bytes) ?? []);
      this.#known = Map.groupBy(items, ({ ino }) => ino);
    }
    return this.#known;
  }
}
