import { removeTree } from "../files/remove-tree.ts";
import { namesIn } from "../system/existence.ts";
import { failpoint } from "../system/failpoints.ts";
import { Folder } from "../system/folder.ts";

const POINTS = {
  make: failpoint("runs.make"),
  remove: failpoint("runs.remove"),
  uses: failpoint("use.make"),
};
const PLAN_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

const RUNS = "runs";
const USES = "uses";

/**
 * `runs/` in the state directory: what belongs to commands that run inside plans. `runs/PLAN/` has what was written outside the plan's resources
 * (`scratch/`), and what is needed to start them; it goes when the plan is over. `uses/` has the commands that are inside (uses.ts).
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

  /** The folder of the commands that are inside of any plan; made if it is not there. */
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

  /** The plans in which commands ran and of which something is left. */
  plans(): readonly string[] {
    // Every command asks this, and most would have no other need of system calls, which take a while to load.
    return namesIn(`${this.#stateDir}/${RUNS}`).filter((name) => PLAN_ID.test(name));
  }

  /** Removes what is left of a plan that is over. */
  remove(planId: string): void {
    using state = Folder.open(this.#stateDir);
    using runs = state.openBelowIfThere(RUNS);
    if (runs !== undefined) removeTree(POINTS.remove, runs, planId);
  }
}
