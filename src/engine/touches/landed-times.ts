import { type Facts, type Identity, sameIdentity, sameTime, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";

/**
 * What a sandbox has landed in parts, as it was left: to the rest of its work, and to nobody else's, that is
 * as old as the original it began with. One that was changed since has another change time. An undo brings
 * back what an earlier landing had left, so of one inode all are remembered.
 *
 * Format of the file `left` in the workspace: JSON, a list of { ino, btime, ctime }. As large as what has
 * landed.
 */
interface LandedTime extends Identity {
  readonly ctime: Time;
}

const WRITE = failpoint("left.write");
const FILE = "left";
/** Before any T0. */
const LONG_AGO: Time = [0, 0];

export class LandedTimes {
  readonly #workspace: Folder;
  #known: ReadonlyMap<number, readonly LandedTime[]> | undefined;

  constructor(workspace: Folder) {
    this.#workspace = workspace;
  }

  /** The facts with the change time that counts, on top of another such rule. */
  over(asBefore: (facts: Facts) => Facts): (facts: Facts) => Facts {
    return (facts) => {
      const seen = asBefore(facts);
      return this.#isOurs(seen) ? { ...seen, ctime: LONG_AGO } : seen;
    };
  }

  /** Remembers these as they are now. */
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
