import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { PlanDiff } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import { lastResult } from "../rivals/drydock-process.ts";
import { IMAGE_FILE_SYSTEMS, whyNoImages } from "../support/file-systems.ts";
import { IS_LONG } from "../support/long-form.ts";
import { makeSubvolume } from "../support/subvolumes.ts";
import { Disk, FOLDERS, type RestartedDisk, type Site } from "./disk.ts";

const noImages = whyNoImages();
const rooted = noImages === undefined ? { timeout: 170_000 } : { skip: noImages };

/**
 * Of a restore: before it is decided that the plan goes back, in the middle of the first sandbox, between the
 * two, and when all is said to be done.
 */
const MOMENTS = [
  "checkpoint.flush:2",
  "checkpoint.begin-restore:1",
  "checkpoint.flush-restored:1",
  "checkpoint.end-restore:1",
  "checkpoint.flush-restored:2",
  "checkpoint.end-restore:2",
  "checkpoint.remove:1",
] as const;
/** Where a sandbox has been emptied and not yet filled, and where its base becomes another one. */
const OWN: { readonly [strategy: string]: readonly string[] } = {
  filesystem_copy: ["restore.remove:2", "copy.baseline:1"],
  overlay: ["checkpoint.restore:2", "overlay.note-base:1"],
};
/** In a short run: on both sides of the decision, and when all is said to be done. */
const SHORT: readonly string[] = ["checkpoint.flush:2", "checkpoint.end-restore:1", "checkpoint.remove:1"];
const PLACES = [
  ...["filesystem_copy", "overlay"].flatMap((strategy) =>
    IMAGE_FILE_SYSTEMS.map((kind) => ({ strategy, kind })),
  ),
  { strategy: "snapshot", kind: "btrfs" } as const,
].filter(({ kind }) => IS_LONG || kind === "ext4");

/** What a folder holds before the plan, at its checkpoint, and later. */
const STATES = {
  base: { both: "base", early: "base", late: "base" },
  saved: { both: "saved", late: "base", "new/file": "saved" },
  later: { both: "later", early: "later", "new/other": "later" },
  /** As `saved`, and one file changed since. */
  savedAgain: { both: "later", late: "base", "new/file": "saved" },
} as const;
type StateName = keyof typeof STATES;

describe("A power cut", () => {
  for (const { strategy, kind } of PLACES) {
    it(`[C6] after a checkpoint of ${strategy} on ${kind} takes nothing of it`, rooted, async () => {
      await using disk = new Disk(kind);
      await assertKept(disk, strategy);
    });

    it(
      `[C6] in a restore of ${strategy} on ${kind} leaves all as it was or all as it had been`,
      rooted,
      async () => {
        await using disk = new Disk(kind);
        const sides = new Set<StateName>();
        for (const moment of momentsOf(strategy)) sides.add(await sideAfter(disk, strategy, moment));
        assert.deepEqual([...sides].sort(), ["later", "saved"], "both were seen");
      },
    );
  }

  it("[C6] does harm with the flushes switched off: so these tests can tell", rooted, async () => {
    await assertHarm((disk) => assertKept(disk, "overlay", "checkpoint.flush=skip"));
    await assertHarm((disk) =>
      sideAfter(disk, "overlay", "checkpoint.remove:1", "checkpoint.flush-restored=skip"),
    );
  });
});

function momentsOf(strategy: string): readonly string[] {
  return IS_LONG
    ? [...MOMENTS, ...(OWN[strategy] ?? [])]
    : MOMENTS.filter((moment) => SHORT.includes(moment));
}

/** On one of the file systems at least. */
async function assertHarm(check: (disk: Disk) => Promise<unknown>): Promise<void> {
  for (const kind of IMAGE_FILE_SYSTEMS) {
    await using disk = new Disk(kind);
    try {
      await check(disk);
    } catch (thrown) {
      if (thrown instanceof assert.AssertionError) return;
      throw thrown;
    }
  }
  assert.fail("without the flush nothing was lost, so nothing is proved by the other tests");
}

/**
 * What a checkpoint holds lands, whatever became of the work in the sandbox. It shares files with the
 * checkpoint before.
 */
async function assertKept(disk: Disk, strategy: string, more = ""): Promise<void> {
  const site = disk.newSite();
  const { id } = await planIn("saved", site, strategy);
  await withDrydock(site, async ({ plans, checkpoints }) => {
    await checkpoints.checkpoint(id);
    for (const folder of FOLDERS)
      writeFileSync(join(await plans.path(id, folder), "both"), contentOf("later"));
  });
  const call = ["checkpoint", id, { label: "kept" }] as const;
  using restarted = await disk.cutPower(site, { call, at: "store.close:1", more, somebodyFlushes: true });
  const { problems } = await restarted.run([
    ["restore", id, "kept"],
    ["apply", id],
  ]);
  assert.deepEqual(problems, []);
  for (const folder of FOLDERS) assertState(restarted, folder, "savedAgain", "after the checkpoint");
}

/**
 * Which of the two states the whole plan is in after a power cut at this moment of a restore; what then lands
 * is that.
 */
async function sideAfter(disk: Disk, strategy: string, at: string, more = ""): Promise<StateName> {
  const site = disk.newSite();
  const { id, checkpoint, digests } = await planWithCheckpoint(site, strategy);
  const call = ["restore", id, checkpoint] as const;
  using restarted = await disk.cutPower(site, { call, at, more, somebodyFlushes: true });
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

async function planWithCheckpoint(site: Site, strategy: string) {
  const { id, digest } = await planIn("saved", site, strategy);
  return await withDrydock(site, async (drydock) => {
    const { id: checkpoint } = await drydock.checkpoints.checkpoint(id);
    const digests = new Map<string, StateName>([[digest, "saved"]]);
    digests.set(await bringTo("later", drydock, id), "later");
    return { id, checkpoint, digests };
  });
}

async function planIn(state: StateName, site: Site, strategy: string) {
  for (const folder of FOLDERS) {
    (strategy === "snapshot" ? makeSubvolume : mkdirSync)(join(site.base, folder));
    become(join(site.base, folder), "base");
  }
  return await withDrydock(site, async (drydock) => {
    const resources = FOLDERS.map((name) => ({ name, location: join(site.base, name), strategy }));
    const { id } = await drydock.plans.create({ resources });
    return { id, digest: await bringTo(state, drydock, id) };
  });
}

/** Gives the digest of what would land then. */
async function bringTo(state: StateName, { plans }: Services, id: string): Promise<string> {
  for (const folder of FOLDERS) become(await plans.path(id, folder), state);
  return (await plans.diff(id)).digest;
}

async function withDrydock<T>(
  { base, stateDir }: Site,
  action: (drydock: Services) => Promise<T>,
): Promise<T> {
  const drydock = await openServices({ stateDir, cwd: base, environment: {} });
  try {
    return await action(drydock);
  } finally {
    await drydock.close();
  }
}

function become(folder: string, state: StateName): void {
  for (const name of ["both", "early", "late", "new"])
    rmSync(join(folder, name), { recursive: true, force: true });
  for (const [name, of] of Object.entries(STATES[state])) {
    if (name.startsWith("new/")) mkdirSync(join(folder, "new"));
    writeFileSync(join(folder, name), contentOf(of));
  }
}

function contentOf(of: string): string {
  return `${of}\n`.repeat(2000);
}

function assertState(
  disk: RestartedDisk,
  folder: (typeof FOLDERS)[number],
  state: StateName,
  at: string,
): void {
  const wanted: { readonly [name: string]: string } = STATES[state];
  for (const name of ["both", "early", "late", "new/file", "new/other"]) {
    const path = join(disk.original(folder), name);
    const found = existsSync(path) ? readFileSync(path, "utf8") : undefined;
    const content = wanted[name] === undefined ? undefined : contentOf(wanted[name]);
    assert.ok(found === content, `${at}: ${folder}/${name} is not as ${state}: ${found?.slice(0, 20)}`);
  }
}
