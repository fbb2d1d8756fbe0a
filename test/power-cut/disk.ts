import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openDrydock, type PlanView, type RecoveryReport } from "../../src/index.ts";
import { DrydockProcess, lastResult, runProcess } from "../rivals/drydock-process.ts";
import { type ImageFileSystem, mountImage } from "../support/file-systems.ts";
import { mountsBelow, removeFolder, unmount } from "../support/remove-folder.ts";

const FOLDERS = ["a", "b"] as const;

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
  async cutPowerAt(moment: string, more: string): Promise<{ side: string; problems: string[] }> {
    this.#round += 1;
    const base = join(this.#path, String(this.#round));
    const stateDir = join(base, "state");
    const plan = await this.#plan(base, stateDir);
    execFileSync("sync", ["-f", this.#path]);
    const failpoint = [`${moment}=stop`, more].filter((part) => part !== "").join();
    await using child = new DrydockProcess({ stateDir, calls: [["apply", plan.id]] }, { failpoint });
    await child.mustStop();
    const snapshot = `${this.#image}.snapshot`;
    execFileSync("cp", ["--reflink=always", this.#image, snapshot]);
    child.signal("SIGKILL");
    await child.ends();
    // No mount survives a power cut.
    for (const point of mountsBelow(base)) unmount(point);
    try {
      return await this.#restart(snapshot, stateDir, plan, base);
    } finally {
      rmSync(snapshot, { force: true });
      removeFolder(base);
    }
  }

  async #plan(base: string, stateDir: string): Promise<PlanView> {
    for (const folder of FOLDERS) {
      mkdirSync(join(base, folder), { recursive: true });
      this.#originals.make(join(base, folder));
    }
    const drydock = await openDrydock({ stateDir, cwd: base, environment: {} });
    const { file = "", strategy } = this.#originals;
    const resources = FOLDERS.map((name) => ({ name, location: join(base, name, file), strategy }));
    const plan = await drydock.plans.create({ resources });
    for (const folder of FOLDERS) this.#originals.change(await drydock.plans.path(plan.id, folder));
    await drydock.close();
    return plan;
  }

  /** Mounts the snapshot over the disk, where nobody else sees it, recovers, and looks. */
  async #restart(snapshot: string, stateDir: string, plan: PlanView, base: string) {
    const found = join(this.#host.path, "found");
    rmSync(found, { recursive: true, force: true });
    mkdirSync(found);
    const options = this.#kind === "xfs" ? "loop,nouuid" : "loop";
    const script = `mount -t ${this.#kind} -o ${options} "$1" "$2" && shift 2 && "$@"; code=$?; cp -a "$BASE/a" "$BASE/b" "$FOUND"; exit $code`;
    const wrapper = [
      "env",
      `BASE=${base}`,
      `FOUND=${found}`,
      "unshare",
      "-m",
      "sh",
      "-c",
      script,
      "sh",
      snapshot,
      this.#path,
    ];
    const end = await runProcess({ stateDir, calls: [["show", plan.id], ["recover"], ["show", plan.id]] }, { wrapper });
    const problems: string[] = [];
    if (end.code !== 0 || end.answers.some((answer) => "error" in answer))
      return { side: "broken", problems: [`recovery failed: ${end.stderr} ${JSON.stringify(end.answers)}`] };
    const report = (end.answers[0] as { result: RecoveryReport }).result;
    if (report.pending.length > 0) problems.push(`pending: ${JSON.stringify(report.pending)}`);
    const side = lastResult<PlanView>(end).state === "applied" ? "new" : "old";
    for (const folder of FOLDERS) problems.push(...this.#originals.differences(join(found, folder), side));
    return { side, problems };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    execFileSync("umount", ["--lazy", this.#path]);
    this.#host.remove();
  }
}
