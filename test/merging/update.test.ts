import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { AtomicCommitError, SandboxConflictError } from "../../src/index.ts";
import { armFailpoints } from "../../src/system/failpoints.ts";
import { type MountedImage, mountImage, whyNoImages } from "../support/file-systems.ts";
import { IS_LONG, itInTurn } from "../support/long-form.ts";
import { BY_FUSE, BY_KERNEL } from "../support/overlay-runs.ts";
import { makeSubvolume } from "../support/subvolumes.ts";
import { TestRepository } from "../support/test-repository.ts";
import { MergeScene, type SceneOptions } from "./merge-scene.ts";

const lines = (...changed: readonly [number, string][]) => {
  const all = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`);
  for (const [line, text] of changed) all[line - 1] = text;
  return `${all.join("\n")}\n`;
};
const BASE = lines();
const OURS = lines([3, "ours"]);
const THEIRS = lines([15, "theirs"]);
const BOTH = lines([3, "ours"], [15, "theirs"]);
const CLASH = lines([3, "theirs"]);

interface Way {
  readonly title: string;
  readonly strategy: string;
  readonly options?: SceneOptions;
  readonly isOnBtrfs?: boolean;
  readonly skip?: string | false;
}

/** For the long run: beside other tests, a process of theirs can hold the mount of such a sandbox. */
const OF_FUSE: Way = {
  title: "an overlay by fuse-overlayfs",
  strategy: "overlay_in_one_way",
  options: { ways: ["fuse"] },
  skip: BY_FUSE.skip,
};

const WAYS: readonly Way[] = [
  { title: "filesystem_copy", strategy: "filesystem_copy" },
  { title: "overlay", strategy: "overlay", skip: BY_KERNEL.skip },
  ...(IS_LONG ? [OF_FUSE] : []),
  {
    title: "a git checkout in place",
    strategy: "overlay",
    options: { fill: makeCheckout },
    skip: BY_KERNEL.skip,
  },
  {
    title: "the snapshot of a subvolume",
    strategy: "snapshot",
    options: { make: makeSubvolume },
    isOnBtrfs: true,
    skip: whyNoImages() ?? false,
  },
];

/** These take turns in a normal run. */
const FURTHER = WAYS.slice(-2).map(({ title }) => title);

for (const { title, strategy, options, isOnBtrfs = false, skip = false } of WAYS)
  describe(`plan update with ${title}`, { skip }, () => {
    let image: MountedImage | undefined;
    before(() => {
      if (isOnBtrfs) image = mountImage("btrfs");
    });
    after(() => image?.[Symbol.dispose]());
    const open = (files: { readonly [path: string]: string | Uint8Array }) =>
      MergeScene.open(strategy, files, { ...options, ...(image !== undefined && { place: image.path }) });
    const it = itInTurn(title, FURTHER);

    it("[V9] merges what touches other lines, lands it, and an undo gives the other writer's version back", async () => {
      await using scene = await open({ file: BASE });
      const plan = await scene.plan();
      await scene.write(plan, "file", OURS);
      scene.other("file", THEIRS);
      await assert.rejects(scene.drydock.plans.apply(plan), isConflict);
      const { merged, marked, unmerged } = await scene.drydock.updates.update(plan);
      assert.deepEqual({ merged, marked, unmerged }, { merged: [at("file")], marked: [], unmerged: [] });
      assert.equal(await scene.read(plan, "file"), BOTH);
      assert.equal(scene.there("file"), THEIRS, "the original is touched");
      assert.deepEqual(await scene.changes(plan), ["modified file"]);
      await scene.drydock.plans.apply(plan);
      assert.equal(scene.there("file"), BOTH);
      await scene.drydock.plans.undo(plan);
      assert.equal(scene.there("file"), THEIRS);
    });

    it("[V9] merges what a command did, by the content that was kept at its end", async () => {
      await using scene = await open({ file: BASE });
      const plan = await scene.plan();
      const path = join(await scene.drydock.plans.path(plan), "file");
      writeFileSync(path, OURS);
      await scene.drydock.plans.diff(plan);
      writeFileSync(path, lines([3, "ours"], [4, "more of ours"]));
      scene.other("file", THEIRS);
      await scene.drydock.updates.update(plan);
      assert.equal(await scene.read(plan, "file"), lines([3, "ours"], [4, "more of ours"], [15, "theirs"]));
    });

    it("[V9] marks what touches the same lines, with both versions, and does not land the marks", async () => {
      await using scene = await open({ file: BASE });
      const plan = await scene.plan();
      await scene.write(plan, "file", OURS);
      scene.other("file", CLASH);
      const { marked, merged } = await scene.drydock.updates.update(plan);
      assert.deepEqual({ marked, merged }, { marked: [at("file")], merged: [] });
      const text = await scene.read(plan, "file");
      assert.match(text, /<{7} this plan\nours\n={7}\ntheirs\n>{7} the original\n/);
      await assert.rejects(scene.drydock.plans.apply(plan), /conflict markers/);
      await assert.rejects(scene.drydock.plans.apply(plan, { only: ["work:file"] }), /conflict markers/);
      await scene.write(plan, "file", text.replace(/<{7}[\s\S]*>{7} the original\n/, "settled\n"));
      await scene.drydock.plans.apply(plan);
      assert.equal(scene.there("file"), lines([3, "settled"]));
    });

    for (const [how, landed] of [
      ["ours", OURS],
      ["theirs", CLASH],
    ] as const)
      it(`[V9] a marked file is settled by 'resolve ${how}'`, async () => {
        await using scene = await open({ file: BASE, other: "other\n" });
        const plan = await scene.plan();
        await scene.write(plan, "file", OURS);
        await scene.write(plan, "other", "mine\n");
        scene.other("file", CLASH);
        await scene.drydock.updates.update(plan);
        await scene.drydock.updates.resolve(plan, { path: "file", how });
        assert.equal(await scene.read(plan, "file"), landed);
        await scene.drydock.plans.apply(plan);
        assert.equal(scene.there("file"), landed);
        assert.equal(scene.there("other"), "mine\n");
      });

    it("[V9] can be taken back: the work and its conflict are there again", async () => {
      await using scene = await open({ file: BASE, mode: BASE, added: "" });
      rmSync(join(scene.original, "added"));
      const plan = await scene.plan();
      await scene.write(plan, "file", OURS);
      await scene.write(plan, "added", "ours\n");
      chmodSync(join(await scene.drydock.plans.path(plan), "mode"), 0o600);
      const before = await scene.drydock.plans.diff(plan);
      for (const path of ["file", "mode"]) scene.other(path, THEIRS);
      scene.other("added", "theirs\n");
      const result = await scene.drydock.updates.update(plan);
      assert.equal(result.merged.length, 2);
      assert.equal(await scene.read(plan, "mode"), THEIRS);
      await scene.drydock.checkpoints.restore(plan, result.checkpoint ?? "");
      assert.equal(await scene.read(plan, "file"), OURS);
      assert.equal(await scene.read(plan, "mode"), BASE);
      assert.equal(await scene.read(plan, "added"), "ours\n");
      assert.equal((await scene.drydock.plans.diff(plan)).changes.length, before.changes.length);
      await assert.rejects(scene.drydock.plans.apply(plan), (thrown) => {
        assert.ok(isConflict(thrown));
        return true;
      });
      for (const path of ["file", "mode"]) assert.equal(scene.there(path), THEIRS);
      const again = await scene.drydock.updates.update(plan);
      assert.deepEqual(again.merged, result.merged);
    });

    it("[V9] takes the other writer's mode, and merges a mode of the plan with a text of the other writer", async () => {
      await using scene = await open({ text: BASE, mode: BASE });
      const plan = await scene.plan();
      await scene.write(plan, "text", OURS);
      chmodSync(join(await scene.drydock.plans.path(plan), "mode"), 0o755);
      await scene.drydock.plans.diff(plan);
      chmodSync(join(scene.original, "text"), 0o755);
      scene.other("mode", THEIRS);
      const { merged } = await scene.drydock.updates.update(plan);
      assert.deepEqual(merged, [at("mode"), at("text")]);
      await scene.drydock.plans.apply(plan);
      assert.equal(statSync(join(scene.original, "text")).mode & 0o777, 0o755);
      assert.equal(scene.there("text"), OURS);
      assert.equal(statSync(join(scene.original, "mode")).mode & 0o777, 0o755);
      assert.equal(scene.there("mode"), THEIRS);
    });

    it("[V9] a file that an editor replaced in the original is merged like one that was changed in place", async () => {
      await using scene = await open({ "folder/file": BASE });
      const plan = await scene.plan();
      await scene.write(plan, "folder/file", OURS);
      scene.other("folder/next", THEIRS);
      renameSync(join(scene.original, "folder/next"), join(scene.original, "folder/file"));
      assert.deepEqual((await scene.drydock.updates.update(plan)).merged, [at("folder/file")]);
      await scene.drydock.plans.apply(plan);
      assert.equal(scene.there("folder/file"), BOTH);
    });

    it("[V9] a change that others made too leaves the plan", async () => {
      await using scene = await open({ file: BASE });
      const plan = await scene.plan();
      await scene.write(plan, "file", OURS);
      scene.other("file", BOTH);
      assert.deepEqual((await scene.drydock.updates.update(plan)).merged, [at("file")]);
      assert.deepEqual(await scene.changes(plan), []);
      assert.equal(await scene.read(plan, "file"), BOTH);
    });

    it("[V9] names what can't be merged, touches nothing of it, and 'resolve' settles each", async () => {
      await using scene = await open({
        binary: Buffer.from([1, 0, 2]),
        gone: BASE,
        kept: BASE,
        kind: BASE,
        both: Buffer.from([1, 0, 2]),
      });
      const plan = await scene.plan();
      for (const path of ["binary", "both"]) await scene.write(plan, path, Buffer.from([1, 0, 3]));
      for (const path of ["gone", "kind"]) await scene.write(plan, path, OURS);
      await scene.drydock.entries.remove({ plan, resource: "work", path: "kept" });
      await scene.drydock.checkpoints.checkpoint(plan);
      const before = await scene.drydock.plans.diff(plan);
      for (const path of ["binary", "both"]) scene.other(path, Buffer.from([1, 0, 4]));
      scene.other("kept", THEIRS);
      for (const path of ["gone", "kind"]) rmSync(join(scene.original, path));
      symlinkSync("elsewhere", join(scene.original, "kind"));
      const { unmerged, checkpoint, merged } = await scene.drydock.updates.update(plan);
      assert.deepEqual(
        unmerged.map(({ path }) => path),
        ["binary", "both", "gone", "kept", "kind"],
      );
      assert.deepEqual([merged, checkpoint], [[], undefined]);
      assert.equal((await scene.drydock.plans.diff(plan)).changes.length, before.changes.length);
      const { updates } = scene.drydock;
      for (const path of ["gone", "kept"])
        await assert.rejects(updates.resolve(plan, { path, how: "keep-both" }), /is deleted on one side, so/);
      await updates.resolve(plan, { path: "binary", how: "ours" });
      await updates.resolve(plan, { path: "gone", how: "ours" });
      await updates.resolve(plan, { path: "kept", how: "theirs" });
      await updates.resolve(plan, { path: "kind", how: "theirs" });
      const { beside } = await updates.resolve(plan, { path: "both", how: "keep-both" });
      assert.equal(beside, `both~${plan}`);
      await assert.rejects(updates.resolve(plan, { path: "both", how: "ours" }), /not in conflict/);
      await scene.drydock.plans.apply(plan);
      assert.equal(scene.there("binary"), "\x01\x00\x03");
      assert.equal(scene.there("gone"), OURS);
      assert.equal(scene.there("kept"), THEIRS);
      assert.equal(existsSync(join(scene.original, "kind")), false, "the link is not the other writer's");
      assert.equal(scene.there("both"), "\x01\x00\x04");
      assert.equal(scene.there(beside ?? ""), "\x01\x00\x03");
    });

    for (const how of ["writes", "programs"])
      it(`[V9] makes one folder of two that came at the same path, with the files of both, after ${how}`, async () => {
        await using scene = await open({ file: BASE });
        const plan = await scene.plan();
        const ours = {
          "new/ours": "ours\n",
          "new/in/ours": "ours\n",
          "new/both": "ours\n",
          "new/bin": "\0ours",
        };
        const theirs = {
          "new/theirs": "theirs\n",
          "new/in/theirs": "theirs\n",
          "new/their/own": "theirs\n",
          "new/both": "theirs\n",
          "new/bin": "\0theirs",
        };
        const folder = how === "programs" ? await scene.drydock.plans.path(plan) : undefined;
        for (const [path, text] of Object.entries(ours))
          if (folder === undefined) await scene.write(plan, path, text);
          else {
            mkdirSync(join(folder, path, ".."), { recursive: true });
            writeFileSync(join(folder, path), text);
          }
        for (const [path, text] of Object.entries(theirs)) scene.other(path, text);
        await assert.rejects(scene.drydock.plans.apply(plan), isConflict);

        const update = async () => {
          const { merged, marked, unmerged, checkpoint = "" } = await scene.drydock.updates.update(plan);
          const found = [merged, marked, unmerged.map(({ resource, path }) => ({ resource, path }))];
          assert.deepEqual(found, [[at("new"), at("new/in")], [at("new/both")], [at("new/bin")]]);
          for (const path of ["new/theirs", "new/in/theirs", "new/their/own"])
            assert.equal(await scene.read(plan, path), "theirs\n");
          return checkpoint;
        };
        await scene.drydock.checkpoints.restore(plan, await update());
        for (const [path, text] of Object.entries(ours)) assert.equal(await scene.read(plan, path), text);
        await assert.rejects(scene.drydock.plans.apply(plan), isConflict);

        await update();
        await scene.drydock.updates.resolve(plan, { path: "new/both", how: "ours" });
        await scene.drydock.updates.resolve(plan, { path: "new/bin", how: "keep-both" });
        const changed = ["added new/bin~p", "modified new/both", "added new/in/ours", "added new/ours"];
        assert.deepEqual(await scene.changes(plan), changed);
        await scene.drydock.plans.apply(plan);
        const landed = { ...theirs, ...ours, "new/bin": "\0theirs", "new/bin~p": "\0ours" };
        for (const [path, text] of Object.entries(landed)) assert.equal(scene.there(path), text, path);
        await scene.drydock.plans.undo(plan);
        for (const [path, text] of Object.entries(theirs)) assert.equal(scene.there(path), text, path);
        assert.equal(existsSync(join(scene.original, "new/ours")), false);
      });

    it("[V9] a file that changes once more after an update is a conflict again, and is merged again", async () => {
      await using scene = await open({ file: BASE });
      const plan = await scene.plan();
      await scene.write(plan, "file", OURS);
      scene.other("file", THEIRS);
      await scene.drydock.updates.update(plan);
      await scene.write(plan, "file", lines([3, "ours"], [10, "later"], [15, "theirs"]));
      scene.other("file", lines([15, "theirs"], [18, "once more"]));
      await assert.rejects(scene.drydock.plans.apply(plan), isConflict);
      await scene.drydock.plans.apply(plan, { update: true });
      const all = lines([3, "ours"], [10, "later"], [15, "theirs"], [18, "once more"]);
      assert.equal(scene.there("file"), all);
    });

    it("[V9] 'apply --update' lands what can be merged, and else lands nothing and names what can't", async () => {
      await using scene = await open({ file: BASE, second: BASE });
      const plan = await scene.plan();
      await scene.write(plan, "file", OURS);
      await scene.write(plan, "second", OURS);
      scene.other("file", THEIRS);
      scene.other("second", CLASH);
      await assert.rejects(scene.drydock.plans.apply(plan, { update: true }), (thrown) => {
        assert.ok(thrown instanceof AtomicCommitError);
        assert.deepEqual(
          thrown.conflicts.map(({ path }) => path),
          ["second"],
        );
        return true;
      });
      assert.equal(scene.there("file"), THEIRS);
      await scene.drydock.updates.resolve(plan, { path: "second", how: "theirs" });
      await scene.drydock.plans.apply(plan, { update: true });
      assert.deepEqual([scene.there("file"), scene.there("second")], [BOTH, CLASH]);
    });
  });

describe("what an update needs", () => {
  it("[V9] without the earlier content, both versions stay, and the conflict says why", async () => {
    const config = "sandbox: { merge: { keep: 1k } }\n";
    await using scene = await MergeScene.open("filesystem_copy", { file: BASE.repeat(10) }, { config });
    const plan = await scene.plan();
    await scene.write(plan, "file", OURS.repeat(10));
    scene.other("file", THEIRS);
    const { unmerged } = await scene.drydock.updates.update(plan);
    assert.match(unmerged[0]?.why ?? "", /earlier content was not kept|too large/);
    assert.equal(await scene.read(plan, "file"), OURS.repeat(10));
  });

  it("[V9] a restore that fails leaves a folder that an update joined as it was", async () => {
    await using scene = await MergeScene.open("filesystem_copy", { file: BASE });
    const plan = await scene.plan();
    await scene.write(plan, "new/ours", "ours\n");
    scene.other("new/theirs", "theirs\n");
    const { checkpoint = "" } = await scene.drydock.updates.update(plan);
    armFailpoints("restore.remove:1=error");
    try {
      await assert.rejects(scene.drydock.checkpoints.restore(plan, checkpoint), /EIO/);
    } finally {
      armFailpoints(undefined);
    }
    assert.deepEqual(await scene.changes(plan), ["added new/ours"]);
    await scene.drydock.plans.apply(plan);
    assert.deepEqual([scene.there("new/ours"), scene.there("new/theirs")], ["ours\n", "theirs\n"]);
  });

  it("names a strategy that can't merge", async () => {
    await using scene = await MergeScene.open("filesystem_copy", { file: BASE });
    makeCheckout(scene.original);
    const resources = [{ location: scene.original, strategy: "git_worktree" }];
    await scene.drydock.plans.create({ name: "git", resources });
    await assert.rejects(scene.drydock.updates.update("git"), /can't be brought into/);
    assert.equal((await scene.drydock.plans.show("git")).state, "open");
  });
});

function makeCheckout(path: string): void {
  const repository = new TestRepository(path);
  repository.git("init", "-q", "-b", "main");
  repository.commitAll("first");
}

function at(path: string): { resource: string; path: string } {
  return { resource: "work", path };
}

function isConflict(thrown: unknown): boolean {
  return thrown instanceof AtomicCommitError && thrown.cause instanceof SandboxConflictError;
}
