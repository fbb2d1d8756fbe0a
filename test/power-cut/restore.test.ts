import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openDrydock, type PlanDiff } from "../../src/index.ts";
import { IS_LONG } from "../crash/points.ts";
import { lastResult } from "../rivals/drydock-process.ts";
import { IMAGE_FILE_SYSTEMS, type ImageFileSystem, whyNoImages } from "../support/file-systems.ts";
import { makeSubvolume } from "../support/subvolumes.ts";
import { Disk, FOLDERS, type RestartedDisk, type Site } from "./disk.ts";

const noImages = whyNoImages();
const rooted = noImages === undefined ? { timeout: 170_000 } : { skip: noImages };

/** Before it is decided that the plan goes back, in the middle of the first sandbox, between the two, and when all is said to be done. */
const MOMENTS = [
  "checkpoint.flush:2",
  "checkpoint.begin-restore:1",
  "checkpoint.flush-restored:1",
  "checkpoint.end-restore:1",
  "checkpoint.flush-restored:2",
  "checkpoint.end-restore:2",
  "checkpoint.remove:1",
] as const;
/** Where one of them has been emptied and not yet filled. */
const OWN: { readonly [strategy: string]: readonly string[] } = {
  filesystem_copy: ["restore.remove:2", "copy.baseline:1"],
  overlay: ["checkpoint.restore:2", "overlay.note-base:1"],
  snapshot: [],
};
/** In a short run: on both sides of the decision, and when all is said to be done. */
const SHORT: readonly string[] = ["checkpoint.flush:2", "checkpoint.end-restore:1", "checkpoint.remove:1"];
const PLACES = [
  ...["filesystem_copy", "overlay"].flatMap((strategy) => IMAGE_FILE_SYSTEMS.map((kind) => ({ strategy, kind }))),
  { strategy: "snapshot", kind: "btrfs" } as const,
].filter(({ kind }) => IS_LONG || kind === "ext4");

/** What a folder holds before the plan, at its checkpoint, and later. */
const STATES = {
  base: { both: "base", early: "base", late: "base" },
  saved: { both: "saved", late: "base", "new/file": "saved" },
  later: { both: "later", early: "later", "new/other": "later" },
} as const;
type StateName = keyof typeof STATES;

describe("A power cut while a plan goes back to a checkpoint", () => {
  for (const { strategy, kind } of PLACES)
    it(
      `[C6] with ${strategy} on ${kind} leaves all sandboxes as they were or all as they had been`,
      rooted,
      async () => {
        await using disk = new Disk(kind);
        const sides = new Set<StateName>();
        for (const moment of momentsOf(strategy)) sides.add(await sideAfter(disk, strategy, moment));
        assert.deepEqual([...sides].sort(), ["later", "saved"], "both were seen");
      },
    );

  it("[C6] would not, with the flush switched off: so this test can tell", rooted, async () => {
    const lost = await Promise.all(IMAGE_FILE_SYSTEMS.map(losesWithoutFlush));
    assert.ok(lost.includes(true), "without the flush nothing was lost, so nothing is proved by the other tests");
  });
});

function momentsOf(strategy: string): readonly string[] {
  return IS_LONG ? [...MOMENTS, ...(OWN[strategy] ?? [])] : MOMENTS.filter((moment) => SHORT.includes(moment));
}

async function losesWithoutFlush(kind: ImageFileSystem): Promise<boolean> {
  await using disk = new Disk(kind);
  const more = "checkpoint.flush-restored=skip";
  return await sideAfter(disk, "overlay", "checkpoint.remove:1", more).then(
    () => false,
    (thrown) => thrown instanceof assert.AssertionError,
  );
}

/** Which of the two states the whole plan is in after a power cut at this moment; what then lands is that. */
async function sideAfter(disk: Disk, strategy: string, at: string, more?: string): Promise<StateName> {
  const site = disk.newSite();
  const { id, checkpoint, digests } = await planWithCheckpoint(site, strategy);
  const moment = { call: ["restore", id, checkpoint] as const, at, somebodyFlushes: true };
  using restarted = await disk.cutPower(site, { ...moment, ...(more !== undefined && { more }) });
  const { end, problems } = await restarted.run([["diff", id]]);
  assert.deepEqual(problems, [], at);
  assert.ok(end !== undefined);
  const { digest, changes } = lastResult<PlanDiff>(end);
  const side = digests.get(digest);
  assert.ok(side !== undefined, `${at}: neither as it was nor as it had been: ${JSON.stringify(changes)}`);
  assert.deepEqual((await restarted.run([["apply", id]])).problems, [], at);
  for (const folder of FOLDERS) assertState(restarted, folder, side, at);
  return side;
}

async function planWithCheckpoint({ base, stateDir }: Site, strategy: string) {
  for (const folder of FOLDERS) {
    (strategy === "snapshot" ? makeSubvolume : mkdirSync)(join(base, folder));
    become(join(base, folder), "base");
  }
  const drydock = await openDrydock({ stateDir, cwd: base, environment: {} });
  try {
    const resources = FOLDERS.map((name) => ({ name, location: join(base, name), strategy }));
    const { id } = await drydock.plans.create({ resources });
    const digests = new Map<string, StateName>();
    const all = async (state: StateName) => {
      for (const folder of FOLDERS) become(await drydock.plans.path(id, folder), state);
      digests.set((await drydock.plans.diff(id)).digest, state);
    };
    await all("saved");
    const { id: checkpoint } = await drydock.checkpoints.checkpoint(id);
    await all("later");
    return { id, checkpoint, digests };
  } finally {
    await drydock.close();
  }
}

function become(folder: string, state: StateName): void {
  for (const name of ["both", "early", "late", "new"]) rmSync(join(folder, name), { recursive: true, force: true });
  for (const [name, of] of Object.entries(STATES[state])) {
    if (name.startsWith("new/")) mkdirSync(join(folder, "new"));
    writeFileSync(join(folder, name), contentOf(of));
  }
}

function contentOf(of: string): string {
  return `${of}\n`.repeat(2000);
}

function assertState(disk: RestartedDisk, folder: (typeof FOLDERS)[number], state: StateName, at: string): void {
  const wanted: { readonly [name: string]: string } = STATES[state];
  for (const name of ["both", "early", "late", "new/file", "new/other"]) {
    const path = join(disk.original(folder), name);
    const found = existsSync(path) ? readFileSync(path, "utf8") : undefined;
    const content = wanted[name] === undefined ? undefined : contentOf(wanted[name]);
    assert.ok(found === content, `${at}: ${folder}/${name} is not as ${state}: ${found?.slice(0, 20)}`);
  }
}
