import { removeTree } from "../../engine/tree/remove-tree.ts";
import { Folder } from "../../system/calls/folder.ts";
import { namesIn } from "../../system/data/existence.ts";
import { failpoint } from "../../system/failpoints.ts";
import { placeElsewhere, removeElsewhere } from "../scratch/scratch-place.ts";
import type { KnownPlace } from "./known-places.ts";

const POINTS = {
  make: failpoint("runs.make"),
  remove: failpoint("runs.remove"),
  uses: failpoint("use.make"),
};
const PLAN_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

const RUNS = "runs";
const USES = "uses";

/**
 * The folders of commands in the state directory. `runs/PLAN/` holds what the commands of a plan wrote
 * outside its resources (scratch/scratch-place.ts) and what starting them takes; it goes when the plan is
 * over. `uses/` lists the running commands (uses.ts).
 */
export class RunFolders {
  readonly #stateDir: string;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  /** The folder of all runs; made if it is missing. */
  all(): Folder {
    using state = Folder.open(this.#stateDir);
    return state.ensureFolder(POINTS.make, RUNS);
  }

  /** The folder of a plan; made if it is missing. */
  of(planId: string): Folder {
    using runs = this.all();
    return runs.ensureFolder(POINTS.make, planId);
  }

  /** The folder of a plan, if it has one. */
  ifThere(planId: string): Folder | undefined {
    using state = Folder.open(this.#stateDir);
    return state.openBelowIfThere(`${RUNS}/${planId}`);
  }

  /** The folder of the running commands; made if it is missing. */
  uses(): Folder {
    using state = Folder.open(this.#stateDir);
    return state.ensureFolder(POINTS.uses, USES);
  }

  usesIfThere(): Folder | undefined {
    using state = Folder.open(this.#stateDir);
    return state.openBelowIfThere(USES);
  }

  /** The names in it, read without our own system calls: see `plans`. */
  useNames(): readonly string[] {
    return namesIn(`${this.#stateDir}/${USES}`);
  }

  /** The plans that have a folder here. */
  plans(): readonly string[] {
    // Every command asks this, and most need no system calls of ours, which take a while to load.
    return namesIn(`${this.#stateDir}/${RUNS}`).filter((name) => PLAN_ID.test(name));
  }

  /** The folders of all plans for scratch elsewhere. No other plan's command may look into them. */
  scratchElsewhere(): readonly string[] {
    using runs = this.all();
    return this.plans().flatMap((planId) => {
      using plan = runs.openBelowIfThere(planId);
      return (plan && placeElsewhere(plan)) ?? [];
    });
  }

  /** What the commands of a plan have on disk. */
  placesOf(planId: string): readonly KnownPlace[] {
    using plan = this.ifThere(planId);
    if (plan === undefined) return [];
    const elsewhere = placeElsewhere(plan);
    return [
      { kind: "run folder", location: plan.path },
      ...(elsewhere === undefined ? [] : [{ kind: "scratch", location: elsewhere }]),
    ];
  }

  /** Removes the folder of a plan that is over. */
  remove(planId: string): void {
    using state = Folder.open(this.#stateDir);
    using runs = state.openBelowIfThere(RUNS);
    using plan = runs?.openBelowIfThere(planId);
    if (plan !== undefined) removeElsewhere(plan);
    if (runs !== undefined) removeTree(POINTS.remove, runs, planId);
  }
}
