import { execFileSync } from "node:child_process";
import { closeSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { openDrydock, type PlanDiff, type PlanView, type RecoveryReport } from "../../src/index.ts";
import type { ChildTask } from "../rivals/drydock-child.ts";
import { DrydockProcess, lastResult, type ProcessEnd, runProcess } from "../rivals/drydock-process.ts";
import { type ImageFileSystem, mountImage } from "../support/file-systems.ts";
import { mountsBelow, removeFolder, unmount } from "../support/remove-folder.ts";
import { removeWithSubvolumes } from "../support/subvolumes.ts";

const FOLDERS = ["a", "b"] as const;

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
  /** Makes the folder of an original. Default: a plain one. */
  readonly makeFolder?: (path: string) => void;
}

/** What is found after a power cut: on which side of the decision, and what is not as it should be there. */
export interface AfterCut {
  readonly side: string;
  readonly problems: readonly string[];
}

/**
 * A power cut, as the disk sees it: the image of the file system on which everything lives, state directory and originals, is itself a file
 * on a file system that can copy it in an instant (reflink). The copy, taken while an apply stands still, holds what had reached the disk
 * and nothing else. It is mounted over the same place, in a mount namespace of its own, and Drydock starts there as after a reboot.
 */
export class Disk {
  readonly #host = mountImage("xfs", { megabytes: 700 });
  readonly #image = join(this.#host.path, "disk.img");
  readonly #kind: ImageFileSystem;
  readonly #originals: Originals;
  readonly #path = join(this.#host.path, "mounted");
  readonly #found = join(this.#host.path, "found");
  #round = 0;

  constructor(kind: ImageFileSystem, originals: Originals) {
    this.#kind = kind;
    this.#originals = originals;
    const template = mountImage(kind);
    execFileSync("umount", [template.path]);
    execFileSync("cp", ["--sparse=always", template.image, this.#image]);
    template.remove();
    mkdirSync(this.#path);
    execFileSync("mount", ["-t", kind, "-o", "loop", this.#image, this.#path]);
  }

  /** One apply in fresh folders, one power cut in it, one recovery. */
  async cutPowerAt(moment: string, more: string): Promise<AfterCut> {
    this.#round += 1;
    const base = join(this.#path, String(this.#round));
    const stateDir = join(base, "state");
    const { plan, work } = await this.#plan(base, stateDir);
    execFileSync("sync", ["-f", this.#path]);
    const failpoint = [`${moment}=stop`, more].filter((part) => part !== "").join();
    const { part } = this.#originals;
    const apply = ["apply", plan.id, ...(part === undefined ? [] : [{ only: part.only }])] as const;
    await using child = new DrydockProcess({ stateDir, calls: [apply] }, { failpoint });
    await child.mustStop();
    if (part !== undefined || moment.startsWith("stage.")) somebodyFlushes(join(base, "another-file"));
    const snapshot = `${this.#image}.snapshot`;
    execFileSync("cp", ["--reflink=always", this.#image, snapshot]);
    child.signal("SIGKILL");
    await child.ends();
    // No mount survives a power cut.
    for (const point of mountsBelow(base)) unmount(point);
    try {
      if (part === undefined) return await this.#restart(snapshot, stateDir, plan, work, base);
      return await this.#restartOverPart(snapshot, stateDir, plan, base, part);
    } finally {
      rmSync(snapshot, { force: true });
      if (this.#originals.makeFolder === undefined) removeFolder(base);
      else removeWithSubvolumes(base);
    }
  }

  /** A plan with its work done, and what that is. */
  async #plan(base: string, stateDir: string): Promise<{ readonly plan: PlanView; readonly work: readonly string[] }> {
    for (const folder of FOLDERS) {
      mkdirSync(base, { recursive: true });
      (this.#originals.makeFolder ?? mkdirSync)(join(base, folder));
      this.#originals.make(join(base, folder));
    }
    const drydock = await openDrydock({ stateDir, cwd: base, environment: {} });
    const { file = "", strategy } = this.#originals;
    const resources = FOLDERS.map((name) => ({ name, location: join(base, name, file), strategy }));
    const plan = await drydock.plans.create({ resources });
    for (const folder of FOLDERS) this.#originals.change(await drydock.plans.path(plan.id, folder));
    const work = changesOf(await drydock.plans.diff(plan.id));
    await drydock.close();
    return { plan, work };
  }

  /** Recovers, and looks. If nothing has landed, all of the work, which was on disk, is still in the plan. */
  async #restart(
    snapshot: string,
    stateDir: string,
    plan: PlanView,
    work: readonly string[],
    base: string,
  ): Promise<AfterCut> {
    const calls = [["show", plan.id], ["recover"], ["show", plan.id]] as const;
    const { end, problems } = await this.#runOn(snapshot, base, { stateDir, calls });
    if (end === undefined) return { side: "broken", problems };
    const side = lastResult<PlanView>(end).state === "applied" ? "new" : "old";
    const found = [...problems, ...this.#differencesFrom(side)];
    if (side === "new" || found.length > 0) return { side, problems: found };
    const look = await this.#runOn(snapshot, base, {
      stateDir,
      calls: [
        ["show", plan.id],
        ["diff", plan.id],
      ],
    });
    if (look.end === undefined) return { side, problems: look.problems };
    const left = changesOf(lastResult<PlanDiff>(look.end));
    return { side, problems: isDeepStrictEqual(left, work) ? [] : [`left to land: ${left.join(", ")}`] };
  }

  /** The same with a plan that stays open, of which the rest lands afterwards. */
  async #restartOverPart(
    snapshot: string,
    stateDir: string,
    plan: PlanView,
    base: string,
    part: Part,
  ): Promise<AfterCut> {
    const first = await this.#runOn(snapshot, base, {
      stateDir,
      calls: [["show", plan.id], ["recover"], ["diff", plan.id]],
    });
    if (first.end === undefined) return { side: "broken", problems: first.problems };
    const left = pathsOf(lastResult<PlanDiff>(first.end));
    const [before, after] = [part.left.before, part.left.after].map((paths) =>
      FOLDERS.flatMap((folder) => paths.map((path) => `${folder}:${path}`)),
    );
    const side = isDeepStrictEqual(left, after) ? "new" : "old";
    const found = this.#differences((folder) =>
      side === "new" ? part.differences(folder) : this.#originals.differences(folder, side),
    );
    const problems = [...first.problems, ...found];
    if (side === "old" && !isDeepStrictEqual(left, before)) problems.push(`left to land: ${left.join(", ")}`);
    if (side === "old" || problems.length > 0) return { side, problems };
    const rest = await this.#runOn(snapshot, base, { stateDir, calls: [["apply", plan.id]] });
    return { side, problems: [...problems, ...rest.problems, ...this.#differencesFrom("new")] };
  }

  /** Mounts the snapshot over the disk, where nobody else sees it, and makes these calls there. What is in the originals then is in `#found`. */
  async #runOn(
    snapshot: string,
    base: string,
    task: ChildTask,
  ): Promise<{ readonly end?: ProcessEnd; readonly problems: readonly string[] }> {
    rmSync(this.#found, { recursive: true, force: true });
    mkdirSync(this.#found);
    const options = this.#kind === "xfs" ? "loop,nouuid" : "loop";
    const script = `mount -t ${this.#kind} -o ${options} "$1" "$2" && shift 2 && "$@"; code=$?; cp -a "$BASE/a" "$BASE/b" "$FOUND"; exit $code`;
    const wrapper = [
      "env",
      `BASE=${base}`,
      `FOUND=${this.#found}`,
      "unshare",
      "-m",
      "sh",
      "-c",
      script,
      "sh",
      snapshot,
      this.#path,
    ];
    const end = await runProcess(task, { wrapper });
    if (end.code !== 0 || end.answers.some((answer) => "error" in answer))
      return { problems: [`recovery failed: ${end.stderr} ${JSON.stringify(end.answers)}`] };
    const report = (end.answers[0] as { result: RecoveryReport }).result;
    return { end, problems: report.pending.length > 0 ? [`pending: ${JSON.stringify(report.pending)}`] : [] };
  }

  #differencesFrom(side: "old" | "new"): string[] {
    return this.#differences((folder) => this.#originals.differences(folder, side));
  }

  #differences(of: (folder: string) => readonly string[]): string[] {
    return FOLDERS.flatMap((folder) => of(join(this.#found, folder)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    execFileSync("umount", ["--lazy", this.#path]);
    this.#host.remove();
  }
}

function changesOf({ changes }: PlanDiff): string[] {
  return changes.map(({ resource, path, operation }) => `${operation} ${resource}:${path}`);
}

function pathsOf({ changes }: PlanDiff): string[] {
  return changes.map(({ resource, path }) => `${resource}:${path}`);
}

/** With something of somebody else's the file system may write down what was renamed, and not yet what is in it. */
function somebodyFlushes(path: string): void {
  const fd = openSync(path, "w");
  try {
    writeSync(fd, "somebody else's\n");
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
