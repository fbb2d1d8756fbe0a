import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, it } from "node:test";
import { assertNothingLeft } from "../crash/scenarios.ts";
import { PLAN, sidesOf, World, type WorldOptions } from "../crash/world.ts";
import { Workplace } from "../end-to-end/workplace.ts";
import { Scene } from "../security/scene.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { mountMemory, whyNoImages } from "../support/file-systems.ts";
import { unmount } from "../support/remove-folder.ts";
import {
  assertSameTree,
  snapshotTree,
  type TreeSnapshot,
  treeDifferences,
} from "../support/tree-snapshot.ts";

/** Like the root of a container: what is in `lower` is in the image. */
class ContainerRoot implements Disposable {
  readonly #memory = mountMemory();
  readonly path: string;

  constructor(build: (lower: string) => void) {
    const [lower, upper, work, merged] = ["lower", "upper", "work", "merged"].map((name) => {
      mkdirSync(join(this.#memory.path, name));
      return join(this.#memory.path, name);
    });
    build(lower ?? "");
    const layers = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
    execFileSync("mount", ["-t", "overlay", "drydock-test", "-o", layers, merged ?? ""]);
    this.path = merged ?? "";
  }

  [Symbol.dispose](): void {
    unmount(this.path);
    this.#memory.remove();
  }
}

function buildImage(lower: string): void {
  mkdirSync(join(lower, "scene/original/folder/deep"), { recursive: true });
  writeFileSync(join(lower, "scene/original/folder/deep/file"), "deep\n");
  mkdirSync(join(lower, "scene/original/to-file/deep"), { recursive: true });
  writeFileSync(join(lower, "scene/original/to-file/deep/file"), "deep\n");
  writeFileSync(join(lower, "scene/original/gone"), "gone\n");
}

describe("An original on an overlay, like a container's root", { skip: whyNoImages() ?? false }, () => {
  for (const [where, stateIsElsewhere] of [
    ["with the original", false],
    ["elsewhere", true],
  ] as const)
    it(`[W1][W3] is copied, lands exactly and is taken back (state ${where})`, async () => {
      using root = new ContainerRoot(buildImage);
      await using elsewhere = new Scene();
      await using scene = new Scene(join(root.path, "scene"));
      const before = snapshotTree(scene.at("original"));
      const drydock = await scene.open(stateIsElsewhere ? { stateDir: elsewhere.stateDir } : {});
      const { plans } = drydock;
      const plan = await plans.create({ resources: [{ location: scene.at("original") }] });
      const [resource] = plan.resources;
      assert.equal(resource?.strategy, "filesystem_copy");
      assert.match(resource?.why ?? "", /overlay: .*is on an overlay itself/);
      assert.match(String(resource?.notes), /^it is on an overlay, like the root of a container/);
      await plans.write(plan.id, "original", "written", Buffer.from("written\n"));
      const sandbox = await plans.path(plan.id);
      execFileSync("rm", ["-r", "folder", "to-file", "gone"], { cwd: sandbox });
      writeFileSync(join(sandbox, "to-file"), "a file now\n");
      writeFileSync(join(sandbox, "file"), "changed\n");
      const after = snapshotTree(sandbox);
      assertSameTree(snapshotTree(scene.at("original")), before, "before it lands");
      const { attention } = await plans.apply(plan.id);
      assert.deepEqual(attention, []);
      assertSameTree(snapshotTree(scene.at("original")), after, "landed");
      await plans.undo(plan.id);
      assertSameTree(snapshotTree(scene.at("original")), before, "taken back");
      const names = readdirSync(scene.base).filter((name) => name.startsWith(".drydock-"));
      assert.deepEqual(names, [], "something is left beside the original");
    });

  it("[W1] a very deep folder of the image goes entry by entry, and comes back", () => {
    using root = new ContainerRoot((lower) => {
      const deep = `folder${"/folder".repeat(200)}`;
      mkdirSync(join(lower, "original", deep), { recursive: true });
      writeFileSync(join(lower, "original", deep, "file"), "deep\n");
    });
    using place = new Workplace();
    const original = join(root.path, "original");
    const before = place.tree(relative(place.path, original));
    place.done("plan", "create", "--name", "deep", "-r", original);
    place.done("plan", "rm", "-R", "deep", "original", "folder");
    place.done("plan", "apply", "deep");
    assert.deepEqual(readdirSync(original), []);
    place.done("plan", "undo", "deep");
    assert.deepEqual(place.tree(relative(place.path, original)), before);
  });

  it("[W1] what another writer changed in a folder of the image is a conflict, and nothing lands", async () => {
    using root = new ContainerRoot(buildImage);
    await using scene = new Scene(join(root.path, "scene"));
    const { drydock, plan, sandbox } = await scene.plan();
    execFileSync("rm", ["-r", "folder", "gone"], { cwd: sandbox });
    chmodSync(scene.at("original/folder/deep/file"), 0o600);
    await assert.rejects(drydock.plans.apply(plan.id), /The original changed meanwhile: folder/);
    assert.ok(existsSync(scene.at("original/gone")));
    assert.equal(readFileSync(scene.at("original/folder/deep/file"), "utf8"), "deep\n");
  });

  it("[W1] work of every kind lands all or nothing, but for links and holes of files of the image", async () => {
    const options: WorldOptions = {
      strategy: "filesystem_copy",
      places: [{ folder: fastFolder(), isLower: true }],
    };
    const sides = sidesOf(options);
    const world = new World(options);
    const unlinked = (tree: TreeSnapshot = new Map()): TreeSnapshot =>
      new Map([...tree].map(([path, line]) => [path, line.replace(/ (?:same-file-as|data)=.*/, "")]));
    const differences = (side: "before" | "after") =>
      treeDifferences(unlinked(world.snapshots()[0]), unlinked(sides[side][0]));
    try {
      await world.plan();
      const { attention } = await world.with(({ plans }) => plans.apply(PLAN));
      assert.deepEqual(attention, []);
      assert.deepEqual(differences("after"), []);
      await world.with(({ plans }) => plans.undo(PLAN));
      assert.deepEqual(differences("before"), []);
      await assertNothingLeft(world);
    } finally {
      world.remove();
    }
  });
});
