import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Stage } from "../run/stage.ts";
import { Scene } from "../security/scene.ts";
import { mountMemory, whyNoImages } from "../support/file-systems.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";

const MEGABYTE = 1024 * 1024;

/** Places in which a strategy could seem to work, and then fail. The state is elsewhere. */
describe("The strategy that is chosen by itself", { skip: whyNoImages() ?? false }, () => {
  it("[W1][W3] works on a read-only original, of which nothing can land", async () => {
    using memory = mountMemory();
    await using scene = new Scene();
    mkdirSync(join(memory.path, "original"));
    writeFileSync(join(memory.path, "original/file"), "file\n");
    execFileSync("mount", ["-o", "remount,ro", memory.path]);
    const { plans } = await scene.open();
    const { id } = await plans.create({ resources: [{ location: join(memory.path, "original") }] });
    await plans.write(id, "original", "file", Buffer.from("changed\n"));
    assert.deepEqual(
      (await plans.diff(id)).changes.map(({ path }) => path),
      ["file"],
    );
    await assert.rejects(plans.apply(id), /Nothing can land in .*original: it could not be written to/);
    assert.equal(readFileSync(join(memory.path, "original/file"), "utf8"), "file\n");
    await plans.cancel(id);
    assert.deepEqual(readdirSync(join(scene.stateDir, "sandboxes")), []);
  });

  it("[W3] works where no program may be run", async () => {
    using memory = mountMemory("noexec,nosuid,nodev");
    await using scene = new Scene();
    mkdirSync(join(memory.path, "original"));
    writeFileSync(join(memory.path, "original/file"), "file\n");
    const { plans } = await scene.open();
    const { id } = await plans.create({ resources: [{ location: join(memory.path, "original") }] });
    await plans.write(id, "original", "file", Buffer.from("changed\n"));
    await plans.apply(id);
    assert.equal(readFileSync(join(memory.path, "original/file"), "utf8"), "changed\n");
  });

  it("[W3][W5] is none that copies where a copy has no room, and the one that is named says so", async () => {
    using memory = mountMemory(`size=${8 * MEGABYTE}`);
    await using scene = new Scene();
    mkdirSync(join(memory.path, "original"));
    writeFileSync(join(memory.path, "original/file"), Buffer.alloc(5 * MEGABYTE, "x"));
    const location = join(memory.path, "original");
    const before = snapshotTree(memory.path);
    const { plans } = await scene.open();
    await assert.rejects(
      plans.create({ resources: [{ location, strategy: "filesystem_copy" }] }),
      /there is no room for a copy: it needs 52\d{5} bytes, and 3\d{6} are free/,
    );
    assertSameTree(snapshotTree(memory.path), before, "something was left");
    assert.deepEqual(await plans.list({ all: true }), []);
    const plan = await plans.create({ resources: [{ location }] });
    assert.equal(plan.resources[0]?.strategy, "overlay");
    await plans.cancel(plan.id);
  });

  it("[W3] fails with the reason on a full file system, and leaves nothing", async () => {
    using memory = mountMemory(`size=${MEGABYTE},nr_inodes=3`);
    await using scene = new Scene();
    mkdirSync(join(memory.path, "original"));
    writeFileSync(join(memory.path, "original/file"), "file\n");
    const { plans } = await scene.open();
    await assert.rejects(
      plans.create({ resources: [{ location: join(memory.path, "original") }] }),
      /no space left/,
    );
    assert.deepEqual(readdirSync(memory.path, { recursive: true }), ["original", "original/file"]);
    assert.deepEqual(readdirSync(join(scene.stateDir, "sandboxes")), []);
  });

  it("[W1][W3] works for a user on a folder of another one, of which nothing can land", () => {
    using memory = mountMemory();
    using stage = new Stage("user");
    const original = join(memory.path, "original");
    mkdirSync(original);
    writeFileSync(join(original, "file"), "file\n");
    chmodSync(memory.path, 0o755);
    const made = stage.drydock(["plan", "create", "--name", "look", "-r", original]);
    assert.equal(made.status, 0, made.stderr);
    const written = stage.drydock(["plan", "write", "look", "original", "file"], { input: "changed\n" });
    assert.equal(written.status, 0, written.stderr);
    const applied = stage.drydock(["plan", "apply", "look"]);
    assert.equal(applied.status, 1, applied.stderr);
    assert.match(applied.stderr, /Nothing can land in/);
    assert.equal(stage.drydock(["plan", "cancel", "look"]).status, 0);
    assert.equal(readFileSync(join(original, "file"), "utf8"), "file\n");
  });
});
