import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openDrydock, type PlanView, type RecoveryReport } from "../../src/index.ts";
import { DrydockProcess, lastResult, runProcess } from "../rivals/drydock-process.ts";
import { IMAGE_FILE_SYSTEMS, type ImageFileSystem, mountImage, whyNoImages } from "../support/file-systems.ts";
import { mountsBelow, removeFolder, unmount } from "../support/remove-folder.ts";

/**
 * A power cut, as the disk sees it: the image of the file system on which everything lives, state directory and originals, is itself a file
 * on a file system that can copy it in an instant (reflink). The copy, taken while an apply stands still, holds what had reached the disk
 * and nothing else. It is mounted over the same place, in a mount namespace of its own, and Drydock starts there as after a reboot.
 */
const STRATEGIES = ["filesystem_copy", "overlay"] as const;
const FILES = 12;
const FLUSHES_OFF = "landings.flush-staged=skip,landings.flush-landed=skip";
const noImages = whyNoImages();
const rooted = noImages === undefined ? { timeout: 170_000 } : { skip: noImages };

/** Moments of an apply: durable points, and some in between. */
const MOMENTS = [
  "stage.take-out:1",
  "stage.manifest:1",
  "landings.flush-staged:1",
  "landings.flush-staged:2",
  "land.ballast:1",
  "land.exchange:1",
  `land.exchange:${FILES}`,
  `land.exchange:${FILES + 3}`,
  "land.remove:1",
  "landings.flush-landed:1",
  "landings.flush-landed:2",
  "cleanup.remove:1",
] as const;

describe("A power cut", () => {
  for (const [strategy, kind] of STRATEGIES.flatMap((each) => IMAGE_FILE_SYSTEMS.map((on) => [each, on] as const))) {
    it(
      `[A3] during an apply of ${strategy} on ${kind} leaves all old or all new, whatever the moment`,
      rooted,
      async () => {
        await using disk = new Disk(kind, strategy);
        const outcomes = new Set<string>();
        for (const moment of MOMENTS) {
          const outcome = await disk.cutPowerAt(moment, "");
          assert.deepEqual(outcome.problems, [], `${kind}, ${moment}`);
          outcomes.add(outcome.side);
        }
        assert.deepEqual([...outcomes].sort(), ["new", "old"], "both sides of the decision were seen");
      },
    );
  }

  for (const strategy of STRATEGIES)
    it(`[A3] would not for ${strategy}, with the flushes switched off: so this test can tell`, rooted, async () => {
      const problems: string[] = [];
      for (const kind of IMAGE_FILE_SYSTEMS) {
        await using disk = new Disk(kind, strategy);
        for (const moment of ["land.ballast:1", "land.exchange:1", "landings.flush-landed:1", "cleanup.remove:1"]) {
          const outcome = await disk.cutPowerAt(moment, FLUSHES_OFF);
          problems.push(...outcome.problems);
        }
        if (problems.length > 0) return;
      }
      assert.fail("without flushes nothing was lost, so nothing is proved by the other tests");
    });
});

/** A file system on a file system that can be copied in an instant. */
class Disk {
  readonly #host = mountImage("xfs", { megabytes: 700 });
  readonly #image = join(this.#host.path, "disk.img");
  readonly #kind: ImageFileSystem;
  readonly #strategy: string;
  readonly #path = join(this.#host.path, "mounted");
  #round = 0;

  constructor(kind: ImageFileSystem, strategy: string) {
    this.#kind = kind;
    this.#strategy = strategy;
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
    for (const folder of ["a", "b"]) {
      mkdirSync(join(base, folder), { recursive: true });
      for (let at = 0; at < FILES; at += 1) writeFileSync(join(base, folder, `file-${at}`), content("old", at));
      writeFileSync(join(base, folder, "goes"), "old\n");
    }
    const drydock = await openDrydock({ stateDir, cwd: base, environment: {} });
    const resources = ["a", "b"].map((location) => ({ location, strategy: this.#strategy }));
    const plan = await drydock.plans.create({ resources });
    for (const folder of ["a", "b"]) {
      const sandbox = await drydock.plans.path(plan.id, folder);
      for (let at = 0; at < FILES; at += 1) writeFileSync(join(sandbox, `file-${at}`), content("new", at));
      rmSync(join(sandbox, "goes"));
      mkdirSync(join(sandbox, "comes"));
      writeFileSync(join(sandbox, "comes", "file"), content("new", 99));
    }
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
    for (const folder of ["a", "b"]) problems.push(...differences(join(found, folder), side));
    return { side, problems };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    execFileSync("umount", ["--lazy", this.#path]);
    this.#host.remove();
  }
}

/** What is not as it should be on this side of the decision. */
function differences(folder: string, side: "old" | "new"): string[] {
  const wanted = new Map<string, string>();
  for (let at = 0; at < FILES; at += 1) wanted.set(`file-${at}`, content(side, at));
  if (side === "old") wanted.set("goes", "old\n");
  else wanted.set("comes/file", content("new", 99));
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name !== "comes");
  const problems = names.filter((name) => !wanted.has(name)).map((name) => `${name} should not be there`);
  for (const [name, text] of wanted) {
    if (!names.includes(name)) problems.push(`${name} is missing`);
    else if (readFileSync(join(folder, name), "utf8") !== text) problems.push(`${name} is not ${side}`);
  }
  return problems;
}

function content(side: "old" | "new", at: number): string {
  return `${side} ${at}\n`.repeat(2000);
}
