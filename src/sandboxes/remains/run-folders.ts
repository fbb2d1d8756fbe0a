import { removeTree } from "../../engine/tree/remove-tree.ts";
import { Folder } from "../../system/calls/folder.ts";
import { namesIn } from "../../system/data/existence.ts";
import { failpoint } from "../../system/failpoints.ts";

const POINTS = {
  make: failpoint("runs.make"),
  remove: failpoint("runs.remove"),
  uses: failpoint("use.make"),
};
const PLAN_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

const RUNS = "runs";
const USES = "uses";

/**
 * Folders in the state directory that belong to commands inside plans. `runs/PLAN/` has what they wrote
 * outside the plan's resources (`scratch/`) and what it takes to start them; it goes when the plan is over.
 * `uses/` lists the commands that are running (uses.ts).
 */
export class RunFolders {
  readonly #stateDir: string;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  /** The folder of all runs; made if it is not there. */
  all(): Folder {
    using state = Folder.open(this.#stateDir);
    return state.ensureFolder(POINTS.make, RUNS);
  }

  /** The folder of a plan; made if it is not there. */
  of(planId: string): Folder {
    using runs = this.all();
    return runs.ensureFolder(POINTS.make, planId);
  }

  /** The folder of the commands that are inside any plan; made if it is not there. */
  uses(): Folder {
    using state = Folder.open(this.#stateDir);
    return state.ensureFolder(POINTS.uses, USES);
  }

  usesIfThere(): Folder | undefined {
    using state = Folder.open(this.#stateDir);
    return state.openBelowIfThere(USES);
  }

  /** The names in it, without system calls of our own: see `plans`. */
  useNames(): readonly string[] {
    return namesIn(`${this.#stateDir}/${USES}`);
  }

  /** The plans that have a folder here. */
  plans(): readonly string[] {
    // Every command asks this, and most need no other system calls, which take a while to load.
    return namesIn(`${this.#stateDir}/${RUNS}`).filter((name) => PLAN_ID.test(name));
  }

  /** Removes the folder of a plan that is over. */
  remove(planId: string): void {
    using state = Folder.open(this.#stateDir);
    using runs = state.openBelowIfThere(RUNS);
    if (runs !== undefined) removeTree(POINTS.remove, runs, planId);
  }
}
