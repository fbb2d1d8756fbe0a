import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { ulid } from "ulid";
import { type MountedImage, mountImage, whyNoImages } from "../../../test/support/file-systems.ts";
import { contextIn } from "../../../test/support/strategy-context.ts";
import { makeSubvolume, removeWithSubvolumes, subvolumesOf } from "../../../test/support/subvolumes.ts";
import { SandboxConflictError, SandboxCreationError, UnsupportedError } from "../../core/errors/errors.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import { CopyOnWriteStrategy } from "../copy-on-write/copy-on-write.ts";
import { SnapshotStrategy } from "./snapshot.ts";

describe("snapshot", { skip: whyNoImages() ?? false }, () => {
  let image: MountedImage;
  let place: string;
  let original: string;
  let strategy: SnapshotStrategy;
  before(() => {
    image = mountImage("btrfs", { megabytes: 256 });
  });
  after(() => image.remove());
  beforeEach(() => {
    place = mkdtempSync(join(image.path, "case-"));
    original = join(place, "original");
    mkdirSync(join(place, "state"));
    makeSubvolume(original);
    mkdirSync(join(original, "folder"));
    for (const path of ["file", "folder/file"]) writeFileSync(join(original, path), "old\n");
    strategy = new SnapshotStrategy(contextIn(join(place, "state")));
  });
  afterEach(() => removeWithSubvolumes(place));

  const resource = (location = original) => ({
    id: "r",
    name: "r",
    type: "fs-directory",
    location,
    properties: {},
  });
  const create = () => strategy.create(ulid(), resource());
  const linesOf = async (ref: SandboxRef) =>
    (await strategy.diff(ref)).changes.map(({ operation, path }) => `${operation} ${path}`);
  const inOriginal = (path: string) => readFileSync(join(original, path), "utf8");
  const own = () => readdirSync(original).filter((name) => name.startsWith(".drydock-"));

  async function refusedBecause(reason: RegExp, location = original): Promise<void> {
    const probed = await strategy.probe(resource(location));
    assert.match(probed.works ? "it works" : probed.reason, reason);
    await assert.rejects(
      strategy.create(ulid(), resource(location)),
      (thrown) => thrown instanceof SandboxCreationError && reason.test(thrown.message),
    );
    assert.deepEqual(own(), []);
  }

  it("[L8] is for whole subvolumes of btrfs, and says so of anything else before anything is made", async () => {
    assert.deepEqual(await strategy.probe(resource()), {
      works: true,
      note: "works, by a snapshot of btrfs",
    });
    assert.deepEqual(own(), []);
    await refusedBecause(/original\/folder is a folder inside a subvolume/, join(original, "folder"));
    const elsewhere = mkdtempSync(join(tmpdir(), "drydock-snapshot-"));
    try {
      await refusedBecause(/is not on btrfs/, elsewhere);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  it("[L8] is refused for what would look empty in a snapshot: a subvolume inside, something mounted inside", async () => {
    makeSubvolume(join(original, "folder/nested"));
    await refusedBecause(
      /folder\/nested in \S+original is a subvolume of its own, which a snapshot does not hold/,
    );
    removeWithSubvolumes(join(original, "folder/nested"));
    spawnSync("mount", ["-t", "tmpfs", "tmpfs", join(original, "folder")]);
    try {
      await refusedBecause(/original\/folder is mounted inside/);
    } finally {
      spawnSync("umount", [join(original, "folder")]);
    }
    await strategy.cleanup(await create());
  });

  it("[S5] tells where on this machine it can be used", async () => {
    const [way] = await strategy.ways();
    assert.equal(way?.works, true);
    assert.ok(way?.detail.split(/ |, /).includes(image.path), way?.detail);
  });

  it("shows the original at the instant of its making, also when it is first looked at later", async () => {
    const ref = await create();
    const path = String(ref.metadata["path"]);
    assert.ok(!existsSync(path), "nobody has needed it yet");
    writeFileSync(join(original, "file"), "newer\n");
    rmSync(join(original, "folder"), { recursive: true });
    assert.equal(Buffer.from(await strategy.read(ref, "folder/file")).toString(), "old\n");
    assert.deepEqual(await linesOf(ref), []);
    assert.equal(await strategy.path(ref), path);
    assert.equal(readFileSync(join(path, "file"), "utf8"), "old\n");
    assert.deepEqual(readdirSync(path).toSorted(), ["file", "folder"]);
    assert.deepEqual(await linesOf(ref), []);
    assert.equal(await strategy.prepare(ref, { id: "t", planId: ref.planId, direction: "commit" }), null);
    await strategy.cleanup(ref);
    assert.deepEqual(own(), []);
  });

  it("[A15] knows what the original had, whatever others made of it since", async () => {
    const ref = await create();
    await strategy.write(ref, "file", Buffer.from("mine\n"));
    writeFileSync(join(original, "file"), "theirs\n");
    assert.equal(Buffer.from((await strategy.readOriginal(ref, "file")) ?? []).toString(), "old\n");
    assert.equal(await strategy.readOriginal(ref, "folder"), undefined);
    await assert.rejects(strategy.commit(ref), SandboxConflictError);
    assert.equal(inOriginal("file"), "theirs\n");
    await strategy.cleanup(ref);
  });

  it("[A15] lands nothing in a snapshot that somebody has put in the place of the original", async () => {
    const ref = await create();
    await strategy.write(ref, "file", Buffer.from("mine\n"));
    // What an administrator does who goes back to yesterday: inodes and times are the same in both, and the
    // workspace is in both.
    spawnSync("btrfs", ["subvolume", "snapshot", original, join(place, "yesterday")]);
    renameSync(original, join(place, "aside"));
    renameSync(join(place, "yesterday"), original);
    for (const action of [
      () => strategy.commit(ref),
      () => strategy.diff(ref),
      () => strategy.read(ref, "file"),
    ])
      await assert.rejects(action, /stayed behind in another subvolume/);
    assert.equal(inOriginal("file"), "old\n");
    await strategy.cleanup(ref);
    assert.deepEqual(own(), []);
  });

  it("[A8] shares the blocks of what lands, and leaves the rest of the original alone", async () => {
    const ref = await create();
    const path = await strategy.path(ref);
    const large = Buffer.alloc(8 * 1024 * 1024, "large");
    writeFileSync(join(path, "large"), large);
    const { ino } = statSync(join(original, "folder/file"));
    await strategy.commit(ref);
    assert.deepEqual(readFileSync(join(original, "large")), large);
    assert.equal(statSync(join(original, "folder/file")).ino, ino);
    const { stdout } = spawnSync("filefrag", ["-v", join(original, "large")], { encoding: "utf8" });
    assert.match(stdout, /shared/);
    await strategy.rollback(ref);
    assert.ok(!existsSync(join(original, "large")));
    await strategy.cleanup(ref);
  });

  it("[C6] goes back to a checkpoint any number of times, at a path that stays", async () => {
    const ref = await create();
    await strategy.checkpoint(ref, "before");
    const path = await strategy.path(ref);
    writeFileSync(join(path, "file"), "first\n");
    await strategy.checkpoint(ref, "first");
    for (const _ of [1, 2]) {
      rmSync(join(path, "folder"), { recursive: true });
      writeFileSync(join(path, "more"), "more\n");
      await strategy.restoreCheckpoint(ref, "first");
      assert.deepEqual(await linesOf(ref), ["modified file"]);
      assert.equal(readFileSync(join(path, "folder/file"), "utf8"), "old\n");
    }
    await strategy.restoreCheckpoint(ref, "before");
    assert.deepEqual(await linesOf(ref), []);
    await strategy.cleanup(ref);
    assert.deepEqual(own(), []);
  });

  it("[L2] shows the original again at the same path after a rollback", async () => {
    const ref = await create();
    const path = await strategy.path(ref);
    writeFileSync(join(path, "file"), "thrown away\n");
    writeFileSync(join(original, "folder/file"), "newer\n");
    await strategy.rollback(ref);
    assert.equal(readFileSync(join(path, "file"), "utf8"), "old\n");
    assert.equal(readFileSync(join(path, "folder/file"), "utf8"), "newer\n");
    await strategy.cleanup(ref);
  });

  it("[A17] refuses to save or land a subvolume that was made inside, and removes it with the sandbox", async () => {
    const ref = await create();
    const path = await strategy.path(ref);
    for (const name of ["nested", "nested/deeper"]) makeSubvolume(join(path, name));
    writeFileSync(join(path, "nested/deeper/file"), "work\n");
    spawnSync("btrfs", ["property", "set", "-ts", join(path, "nested/deeper"), "ro", "true"]);
    const isRefusal = (thrown: unknown) =>
      thrown instanceof UnsupportedError &&
      /tree\/nested is a subvolume that was made inside/.test(thrown.message);
    await assert.rejects(strategy.commit(ref), isRefusal);
    await assert.rejects(strategy.checkpoint(ref, "c"), isRefusal);
    assert.ok((await linesOf(ref)).includes("added nested/deeper/file"));
    assert.ok(!existsSync(join(original, "nested")));
    await strategy.cleanup(ref);
    assert.deepEqual(own(), []);
    assert.deepEqual(
      subvolumesOf(image.path).filter((name) => name.includes("nested")),
      [],
    );
  });

  it("[X2] shows no workspace of another plan, nor lands one that is deep in the original", async () => {
    const context = contextIn(join(place, "state"));
    const copy = new CopyOnWriteStrategy(context);
    const beside = await copy.create(ulid(), resource());
    const deep = await copy.create(ulid(), { ...resource(join(original, "folder")), id: "deep" });
    mkdirSync(join(original, "folder/inner"));
    const deeper = await copy.create(ulid(), { ...resource(join(original, "folder/inner")), id: "deeper" });
    const { mtimeMs } = statSync(original);
    const ref = await create();
    assert.equal(statSync(original).mtimeMs, mtimeMs);
    const path = await strategy.path(ref);
    assert.deepEqual(readdirSync(path).toSorted(), ["file", "folder"]);
    assert.equal(statSync(path).mtimeMs, mtimeMs);
    cpSync(join(path, "folder"), join(path, "copy"), { recursive: true });
    assert.deepEqual(await linesOf(ref), ["added copy", "added copy/file", "added copy/inner"]);
    await strategy.commit(ref);
    assert.deepEqual(readdirSync(join(original, "copy")).toSorted(), ["file", "inner"]);
    for (const other of [beside, deep, deeper]) await copy.cleanup(other);
    await strategy.rollback(ref);
    await strategy.cleanup(ref);
    assert.deepEqual(readdirSync(original).toSorted(), ["file", "folder"]);
    assert.deepEqual(readdirSync(join(original, "folder")).toSorted(), ["file", "inner"]);
  });
});
