import assert from "node:assert/strict";
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { UnsupportedError } from "../../src/core/errors/errors.ts";
import type { Services } from "../../src/services.ts";
import { compareSnapshots, snapshotTree } from "../../src/testing/tree/tree-snapshot.ts";
import { Workshop } from "../commit/workshop.ts";
import { GitWorkshop } from "../git/git-workshop.ts";
import { type ImageFileSystem, mountImage, whyNoImages } from "../support/file-systems.ts";
import { makeSubvolume } from "../support/subvolumes.ts";

const MIB = 1024 * 1024;
/** Long enough to be noticed, and read in a minute should that ever happen again. */
const LARGE = 4 * 1024 * MIB;
const STRATEGIES: readonly (readonly [strategy: string, fileSystem: ImageFileSystem])[] = [
  ["overlay", "ext4"],
  ["filesystem_copy", "ext4"],
  ["copy_on_write", "xfs"],
  ["snapshot", "btrfs"],
];

/** How many bytes this process reads, from wherever, while it does this. */
async function bytesRead(action: () => Promise<void>): Promise<number> {
  const total = () => Number(/^rchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "latin1"))?.[1]);
  const before = total();
  await action();
  return total() - before;
}

/** Writes a few bytes into a file, and makes it large. */
function writeSparse(path: string, text: string, at: number): void {
  const fd = openSync(path, "a+");
  closeSync(fd);
  const edited = openSync(path, "r+");
  try {
    writeSync(edited, text, at);
    ftruncateSync(edited, LARGE);
  } finally {
    closeSync(edited);
  }
}

/** Looks at the changes in every way there is; gives what there is to see of each. */
async function look(drydock: Services, plan: string): Promise<readonly string[]> {
  let patch = "";
  for await (const part of drydock.plans.patch(plan)) patch += part;
  assert.match(patch, /fresh/);
  const { changes } = await drydock.plans.diff(plan);
  return changes.map(({ path, operation, after }) => `${operation} ${path} ${after?.size ?? ""}`.trim());
}

describe("a large file that holds next to nothing", () => {
  for (const [strategy, fileSystem] of STRATEGIES) {
    it(`[A8] is shown, saved, brought back, landed and taken back by ${strategy} at the cost of its data`, {
      skip: whyNoImages() ?? false,
    }, async () => {
      using image = mountImage(fileSystem, { megabytes: 320 });
      const makeOriginal = fileSystem === "btrfs" ? makeSubvolume : mkdirSync;
      await using shop = new Workshop({ parent: image.path, makeOriginal });
      for (const name of ["same", "touched", "changed"]) writeSparse(shop.at(`a/${name}`), "old", LARGE / 2);
      const before = snapshotTree(shop.at("a"));
      const read = await bytesRead(async () => {
        const drydock = await shop.open();
        const { id } = await drydock.plans.create({ resources: [{ location: "a", strategy }] });
        const inside = await drydock.plans.path(id);
        const { mtime } = statSync(join(inside, "touched"));
        writeSparse(join(inside, "touched"), "old", LARGE / 2);
        writeSparse(join(inside, "changed"), "new", LARGE - 100);
        writeSparse(join(inside, "fresh"), "text", 0);
        assert.ok(mtime < statSync(join(inside, "touched")).mtime);
        const shown = [`modified changed ${LARGE}`, `added fresh ${LARGE}`, `modified touched ${LARGE}`];
        assert.deepEqual(await look(drydock, id), shown);
        await assert.rejects(drydock.plans.read(id, "a", "fresh"), /too much to be read at once/);
        const checkpoint = await drydock.checkpoints.checkpoint(id);
        truncateSync(join(inside, "changed"), 10);
        await drydock.checkpoints.restore(id, checkpoint.id);
        assert.deepEqual(await look(drydock, id), shown);
        await drydock.plans.apply(id);
        for (const name of ["changed", "fresh"]) assert.equal(statSync(shop.at(`a/${name}`)).size, LARGE);
        await drydock.plans.undo(id);
      });
      assert.ok(read < 128 * MIB, `${read} bytes were read`);
      assert.deepEqual(compareSnapshots(snapshotTree(shop.at("a")), before), []);
    });
  }

  it("[G3] is refused by git_worktree, because git reads a hole as data", async () => {
    await using shop = new GitWorkshop();
    const { drydock, id } = await shop.plan({ resources: [{ location: "app", strategy: "git_worktree" }] });
    const sandbox = await drydock.plans.path(id);
    writeSparse(join(sandbox, "large"), "text", 0);
    await assert.rejects(drydock.plans.diff(id), (thrown) => {
      assert.ok(thrown instanceof UnsupportedError);
      assert.match(thrown.message, /large has more than a gigabyte of holes, which git would read/);
      return true;
    });
    truncateSync(join(sandbox, "large"), 64 * MIB);
    const { changes } = await drydock.plans.diff(id);
    assert.deepEqual(
      changes.map(({ path, after }) => [path, after?.size]),
      [["large", 64 * MIB]],
    );
    await drydock.plans.apply(id);
  });
});
