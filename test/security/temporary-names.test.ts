import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { PlanView } from "../../src/index.ts";
import { DrydockProcess, lastError, runProcess } from "../rivals/drydock-process.ts";
import { type MountedImage, mountImage, whyNoImages } from "../support/file-systems.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";
import { Scene } from "./scene.ts";

const OWN = /^[.]drydock-/;
const noImages = whyNoImages();
const rooted = noImages === undefined ? {} : { skip: noImages };

describe("What we make", () => {
  let image: MountedImage;
  before(() => {
    if (noImages === undefined) image = mountImage("ext4");
  });
  after(() => {
    if (noImages === undefined) image.remove();
  });

  it("[X3] in the state directory is for its owner alone", async () => {
    await using scene = new Scene();
    const { sandbox } = await scene.plan();
    for (const name of ["state", "state/sandboxes"])
      assert.equal(lstatSync(scene.at(name)).mode & 0o777, 0o700, name);
    assert.equal(lstatSync(join(sandbox, "..")).mode & 0o777, 0o700);
    for (const name of readdirSync(scene.stateDir).filter((file) => file.startsWith("drydock.db")))
      assert.equal(lstatSync(scene.at(`state/${name}`)).mode & 0o077, 0, name);
  });

  for (const [where, location] of [
    ["beside", "original"],
    ["inside", "."],
  ] as const) {
    it(
      `[X3] ${where} an original has a name nobody can guess, is private, and goes without a trace`,
      rooted,
      async () => {
        await using scene = new Scene();
        const home = image.path;
        const original = join(home, location);
        mkdirSync(original, { recursive: true });
        writeFileSync(join(original, "file"), "file\n");
        const untouched = snapshotTree(original);
        const drydock = await scene.open();
        const plans: PlanView[] = [];
        for (const _ of [1, 2])
          plans.push(await drydock.plans.create({ resources: [{ name: "o", location: original }] }));
        const names = readdirSync(home).filter((name) => OWN.test(name));
        assert.equal(names.length, 2);
        for (const name of names) {
          assert.equal(lstatSync(join(home, name)).mode & 0o777, 0o700);
          assert.match(name, /-[0-9a-f]{12}$/);
        }
        assert.equal(new Set(names.map((name) => name.slice(-12))).size, 2);
        for (const { id } of plans) assert.deepEqual((await drydock.plans.diff(id)).changes, []);
        for (const { id } of plans) await drydock.plans.cancel(id);
        assert.deepEqual(
          readdirSync(home).filter((name) => OWN.test(name)),
          [],
        );
        assertSameTree(snapshotTree(original), untouched, "the original");
      },
    );
  }

  for (const planted of ["a link", "a folder", "a file"] as const) {
    it(
      `[X3] is refused when ${planted} with the very same name was planted right before, and harms nobody`,
      rooted,
      async () => {
        await using scene = new Scene();
        const original = join(image.path, "planted");
        mkdirSync(original, { recursive: true });
        writeFileSync(join(original, "file"), "file\n");
        const outside = snapshotTree(scene.at("outside"));
        const create = ["create", { name: "p", resources: [{ location: original }] }] as const;
        await using child = new DrydockProcess(
          { stateDir: scene.stateDir, calls: [create] },
          { failpoint: "workspace.create:1=stop" },
        );
        await child.mustStop();
        const [home = ""] = readdirSync(scene.at("state/sandboxes"));
        const { path } = JSON.parse(readFileSync(scene.at(`state/sandboxes/${home}/place`), "utf8")) as {
          path: string;
        };
        assert.match(basename(path), OWN);
        if (planted === "a link") symlinkSync(scene.at("outside"), path);
        else if (planted === "a folder") mkdirSync(path, { mode: 0o777 });
        else writeFileSync(path, "planted\n");
        child.goOn();
        const error = lastError(await child.ends());
        assert.equal(error.name, "SandboxCreationError");
        assertSameTree(snapshotTree(scene.at("outside")), outside, "outside");
        removeFolder(path);
        const again = await runProcess({ stateDir: scene.stateDir, calls: [create, ["cancel", "p"]] });
        assert.equal(again.code, 0);
        assert.ok(
          again.answers.every((answer) => "result" in answer),
          JSON.stringify(again.answers),
        );
      },
    );
  }

  it("[X3] is not trusted where others could have made it", rooted, async () => {
    await using scene = new Scene();
    mkdirSync(scene.stateDir, { mode: 0o700 });
    await (await scene.open()).close();
    chmodSync(scene.stateDir, 0o777);
    await assert.rejects(scene.open(), { code: "STATE" });
    chmodSync(scene.stateDir, 0o700);
    chownSync(scene.stateDir, 65534, 65534);
    await assert.rejects(scene.open(), { code: "STATE" });
    chownSync(scene.stateDir, 0, 0);
  });
});
