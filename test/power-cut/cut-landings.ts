import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { PlanDiff, PlanView } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import { lastResult } from "../rivals/drydock-process.ts";
import type { ImageFileSystem } from "../support/file-systems.ts";
import { type Cover, Disk, FOLDERS, type RestartedDisk, type Site } from "./disk.ts";

interface Part {
  readonly only: readonly string[];
  /** The paths that are left to land in each folder. */
  readonly left: { readonly before: readonly string[]; readonly after: readonly string[] };
  /** What is not as it should be in a folder when the part has landed. */
  differences(folder: string): string[];
}

/** What a plan is over, once in each of two folders. */
export interface Originals {
  readonly strategy: string;
  /** The original in the folder. Default: the folder itself. */
  readonly file?: string;
  make(folder: string): void;
  /** What the plan does, at the path of its sandbox. */
  change(path: string): void;
  /** What is not as it should be in a folder, on this side of the decision. */
  differences(folder: string, side: "old" | "new"): string[];
  /** Only a part lands when the power is cut, and the rest after that. */
  readonly part?: Part;
  /** All of it has landed, and is taken back when the power is cut. */
  readonly isUndone?: boolean;
  /** What is between Drydock and the disk. Default: nothing. */
  readonly cover?: Cover;
  /** Makes the folder of an original. Default: a plain one. */
  readonly makeFolder?: (path: string) => void;
}

/** What is found after a power cut: on which side of the decision, and what is not as it should be there. */
export interface AfterCut {
  readonly side: string;
  readonly problems: readonly string[];
}

/** Landings of a plan, there or back, each of which meets a power cut. */
export class CutLandings {
  readonly #disk: Disk;
  readonly #originals: Originals;

  constructor(kind: ImageFileSystem, originals: Originals) {
    this.#disk = new Disk(kind, originals.cover);
    this.#originals = originals;
  }

  /** One landing in fresh folders, one power cut in it, one recovery. */
  async cutPowerAt(moment: string, more: string): Promise<AfterCut> {
    const site = this.#disk.newSite((base) => this.#make(base));
    const { plan, work } = await this.#plan(site);
    const { part, isUndone } = this.#originals;
    const apply = ["apply", plan.id, ...(part === undefined ? [] : [{ only: part.only }])] as const;
    const call = isUndone === true ? (["undo", plan.id] as const) : apply;
    const somebodyFlushes = part !== undefined || moment.startsWith("stage.");
    using disk = await this.#disk.cutPower(site, { call, at: moment, more, somebodyFlushes });
    if (isUndone === true) return await this.#restartAfterUndo(disk, plan);
    return part === undefined
      ? await this.#restart(disk, plan, work)
      : await this.#restartOverPart(disk, plan, part);
  }

  #make(base: string): void {
    for (const folder of FOLDERS) {
      (this.#originals.makeFolder ?? mkdirSync)(join(base, folder));
      this.#originals.make(join(base, folder));
    }
  }

  /** A plan with its work done, and what that is. */
  async #plan({
    base,
    stateDir,
  }: Site): Promise<{ readonly plan: PlanView; readonly work: readonly string[] }> {
    const drydock = await openServices({ stateDir, cwd: base, environment: {} });
    const { file = "", strategy } = this.#originals;
    const resources = FOLDERS.map((name) => ({ name, location: join(base, name, file), strategy }));
    const plan = await drydock.plans.create({ resources });
    for (const folder of FOLDERS) this.#originals.change(await drydock.plans.path(plan.id, folder));
    const work = changesOf(await drydock.plans.diff(plan.id));
    if (this.#originals.isUndone === true) await drydock.plans.apply(plan.id);
    await drydock.close();
    return { plan, work };
  }

  /** Recovers, and looks. If nothing has landed, all of the work, which was on disk, is still in the plan. */
  async #restart(disk: RestartedDisk, { id }: PlanView, work: readonly string[]): Promise<AfterCut> {
    const { end, problems } = await disk.run([["show", id], ["recover"], ["show", id]]);
    if (end === undefined) return { side: "broken", problems };
    const side = lastResult<PlanView>(end).state === "applied" ? "new" : "old";
    const found = [...problems, ...this.#differencesFrom(disk, side)];
    if (side === "new" || found.length > 0) return { side, problems: found };
    const look = await disk.run([
      ["show", id],
      ["diff", id],
    ]);
    if (look.end === undefined) return { side, problems: look.problems };
    const left = changesOf(lastResult<PlanDiff>(look.end));
    return { side, problems: isDeepStrictEqual(left, work) ? [] : [`left to land: ${left.join(", ")}`] };
  }

  /** What has not been taken back can be, now. */
  async #restartAfterUndo(disk: RestartedDisk, { id }: PlanView): Promise<AfterCut> {
    const { end, problems } = await disk.run([["show", id], ["recover"], ["show", id]]);
    if (end === undefined) return { side: "broken", problems };
    const side = lastResult<PlanView>(end).state === "undone" ? "old" : "new";
    const found = [...problems, ...this.#differencesFrom(disk, side)];
    if (side === "old" || found.length > 0) return { side, problems: found };
    const again = await disk.run([["undo", id]]);
    return { side, problems: [...again.problems, ...this.#differencesFrom(disk, "old")] };
  }

  /** The same with a plan that stays open, of which the rest lands afterwards. */
  async #restartOverPart(disk: RestartedDisk, { id }: PlanView, part: Part): Promise<AfterCut> {
    const first = await disk.run([["show", id], ["recover"], ["diff", id]]);
    if (first.end === undefined) return { side: "broken", problems: first.problems };
    const left = pathsOf(lastResult<PlanDiff>(first.end));
    const [before, after] = [part.left.before, part.left.after].map((paths) =>
      FOLDERS.flatMap((folder) => paths.map((path) => `${folder}:${path}`)),
    );
    const side = isDeepStrictEqual(left, after) ? "new" : "old";
    const found =
      side === "new"
        ? FOLDERS.flatMap((folder) => part.differences(disk.original(folder)))
        : this.#differencesFrom(disk, side);
    const problems = [...first.problems, ...found];
    if (side === "old" && !isDeepStrictEqual(left, before)) problems.push(`left to land: ${left.join(", ")}`);
    if (side === "old" || problems.length > 0) return { side, problems };
    const rest = await disk.run([["apply", id]]);
    return { side, problems: [...problems, ...rest.problems, ...this.#differencesFrom(disk, "new")] };
  }

  #differencesFrom(disk: RestartedDisk, side: "old" | "new"): string[] {
    return FOLDERS.flatMap((folder) => this.#originals.differences(disk.original(folder), side));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#disk[Symbol.asyncDispose]();
  }
}

function changesOf({ changes }: PlanDiff): string[] {
  return changes.map(({ resource, path, operation }) => `${operation} ${resource}:${path}`);
}

function pathsOf({ changes }: PlanDiff): string[] {
  return changes.map(({ resource, path }) => `${resource}:${path}`);
}
