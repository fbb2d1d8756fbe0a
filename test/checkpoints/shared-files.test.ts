import assert from "node:assert/strict";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import type { Services } from "../../src/services.ts";
import { Workshop } from "../commit/workshop.ts";

const isRoot = process.geteuid?.() === 0;
const OLD = new Date("2020-01-01T00:00:00Z");

/** A plan with work in it: two folders with a file of the same size and time, and a large file. */
class Work {
  readonly #drydock: Services;
  readonly id: string;
  readonly path: string;

  private constructor(drydock: Services, id: string, path: string) {
    this.#drydock = drydock;
    this.id = id;
    this.path = path;
  }

  static async in(drydock: Services, strategy: string): Promise<Work> {
    const { id } = await drydock.plans.create({ resources: [{ location: "a", strategy }] });
    const work = new Work(drydock, id, await drydock.plans.path(id, "a"));
    for (const name of ["one", "two"]) {
      mkdirSync(work.at(name));
      work.write(`${name}/file`, name);
    }
    work.write("large", "large".repeat(100_000));
    work.write("old.txt", "new of a\n");
    return work;
  }

  at(name: string): string {
    return join(this.path, name);
  }

  /** Writes into the file that is there, and gives it the same time as ever. */
  write(name: string, text: string): void {
    writeFileSync(this.at(name), text);
    utimesSync(this.at(name), OLD, OLD);
  }

  async save(): Promise<string> {
    return (await this.#drydock.checkpoints.checkpoint(this.id)).id;
  }

  /** The file of a checkpoint. */
  saved(checkpoint: string, name: string): string {
    return join(dirname(this.path), "checkpoints", checkpoint, "tree", name);
  }

  async textAfterRestore(checkpoint: string, name: string): Promise<string> {
    await this.#drydock.checkpoints.restore(this.id, checkpoint);
    return Buffer.from(await this.#drydock.plans.read(this.id, "a", name)).toString();
  }
}

function inode(path: string): number {
  return lstatSync(path).ino;
}

function inodesBelow(folder: string): readonly number[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => inode(join(entry.parentPath, entry.name)));
}

describe("checkpoints of a plan share files", () => {
  for (const { strategy, skip } of [
    { strategy: "filesystem_copy", skip: false },
    { strategy: "overlay", skip: !isRoot },
  ]) {
    it(`[C6][C7] of ${strategy} that did not change in between, and only those`, { skip }, async () => {
      await using shop = new Workshop();
      const drydock = await shop.open();
      const work = await Work.in(drydock, strategy);
      const first = await work.save();
      work.write("old.txt", "NEW of a\n");
      const second = await work.save();
      for (const name of ["large", "one/file"])
        assert.equal(inode(work.saved(first, name)), inode(work.saved(second, name)), name);
      assert.notEqual(inode(work.saved(first, "old.txt")), inode(work.saved(second, "old.txt")));
      assert.equal(readFileSync(work.saved(first, "old.txt"), "utf8"), "new of a\n");
      assert.equal(readFileSync(work.saved(second, "old.txt"), "utf8"), "NEW of a\n");
      assert.equal(await work.textAfterRestore(second, "old.txt"), "NEW of a\n");
      assert.equal(await work.textAfterRestore(first, "old.txt"), "new of a\n");
    });

    it(`[C6] of ${strategy} that moved with their folder, as the files that they are`, { skip }, async () => {
      await using shop = new Workshop();
      const drydock = await shop.open();
      const work = await Work.in(drydock, strategy);
      const first = await work.save();
      for (const [from, to] of [
        ["one", "three"],
        ["two", "one"],
        ["three", "two"],
      ] as const)
        renameSync(work.at(from), work.at(to));
      const second = await work.save();
      assert.equal(inode(work.saved(first, "one/file")), inode(work.saved(second, "two/file")));
      assert.equal(readFileSync(work.saved(second, "one/file"), "utf8"), "two");
      assert.equal(await work.textAfterRestore(first, "one/file"), "one");
    });

    it(`[A20][C6] of ${strategy} with each other, and neither with the sandbox nor with the original`, {
      skip,
    }, async () => {
      await using shop = new Workshop();
      const drydock = await shop.open();
      const work = await Work.in(drydock, strategy);
      await work.save();
      work.write("one/file", "ONE");
      const last = await work.save();
      await work.textAfterRestore(last, "one/file");
      work.write("two/file", "TWO");
      await work.save();
      const saved = new Set(inodesBelow(join(dirname(work.path), "checkpoints")));
      for (const live of [...inodesBelow(work.path), ...inodesBelow(shop.at("a"))])
        assert.equal(saved.has(live), false);
    });

    it(`[C7] of ${strategy} which stay whole when one of them goes`, { skip }, async () => {
      await using shop = new Workshop();
      shop.write("drydock.yaml", "sandbox: { checkpoint: { keep: 1 } }\n");
      const drydock = await shop.open([], { config: shop.at("drydock.yaml") });
      const work = await Work.in(drydock, strategy);
      const first = await work.save();
      work.write("one/file", "ONE");
      const second = await work.save();
      assert.throws(() => statSync(work.saved(first, "large")), { code: "ENOENT" });
      assert.equal(statSync(work.saved(second, "large")).nlink, 1);
      rmSync(work.at("large"));
      assert.equal(await work.textAfterRestore(second, "large"), "large".repeat(100_000));
    });
  }

  it("[C6] also with the one that was restored last, of a view", { skip: !isRoot }, async () => {
    await using shop = new Workshop();
    const drydock = await shop.open();
    const work = await Work.in(drydock, "overlay");
    const first = await work.save();
    work.write("one/file", "ONE");
    await work.textAfterRestore(first, "one/file");
    work.write("two/file", "TWO");
    const second = await work.save();
    assert.equal(inode(work.saved(first, "large")), inode(work.saved(second, "large")));
    assert.equal(readFileSync(work.saved(second, "two/file"), "utf8"), "TWO");
    assert.equal(await work.textAfterRestore(first, "two/file"), "two");
  });

  it("[C6] and copy what the last one has lost", async () => {
    await using shop = new Workshop();
    const drydock = await shop.open();
    const work = await Work.in(drydock, "filesystem_copy");
    const first = await work.save();
    rmSync(work.saved(first, "large"));
    rmSync(work.saved(first, "one"), { recursive: true });
    work.write("old.txt", "NEW of a\n");
    const second = await work.save();
    rmSync(work.at("large"));
    rmSync(work.at("one"), { recursive: true });
    assert.equal(await work.textAfterRestore(second, "large"), "large".repeat(100_000));
    assert.equal(await work.textAfterRestore(second, "one/file"), "one");
  });
});
