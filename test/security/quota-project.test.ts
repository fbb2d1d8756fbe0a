import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type MountedImage, mountImage, whyNoImages } from "../support/file-systems.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";
import { Scene } from "./scene.ts";

/**
 * Into a folder of a quota project the kernel lets nothing of another one be renamed, whether quotas are
 * switched on or not.
 */
describe("A quota project", { skip: whyNoImages() ?? false }, () => {
  let image: MountedImage;
  before(() => {
    image = mountImage("xfs");
  });
  after(() => image.remove());
  const newScene = (name: string) => new Scene(join(image.path, name));

  it("[A10] inside the original is found before anything is changed", async () => {
    await using scene = newScene("inside");
    putIntoProject(scene.at("original/folder"), 42);
    assert.throws(() => renameSync(scene.at("outside/inner"), scene.at("original/folder/moved")), {
      code: "EXDEV",
    });
    const { drydock, plan } = await scene.plan();
    for (const path of ["file", "folder/inner", "folder/added"])
      await drydock.plans.write(plan.id, "original", path, Buffer.from("planned\n"));
    const untouched = snapshotTree(scene.at("original"));
    await assert.rejects(drydock.plans.apply(plan.id), /original\/folder belongs to another quota project/);
    assertSameTree(snapshotTree(scene.at("original")), untouched, "the original");
    assert.equal((await drydock.plans.show(plan.id)).state, "open");
    await drydock.plans.cancel(plan.id);
    assert.deepEqual(readdirSync(join(scene.stateDir, "sandboxes")), []);
  });

  it("[A11] that the original belongs to with all that is in it is no obstacle, there and back", async () => {
    await using scene = newScene("whole");
    for (const path of ["original", "original/folder", "original/file", "original/folder/inner"])
      putIntoProject(scene.at(path), 42);
    const untouched = snapshotTree(scene.at("original"));
    const { drydock, plan, sandbox } = await scene.plan();
    for (const path of ["file", "added", "folder/added"])
      await drydock.plans.write(plan.id, "original", path, Buffer.from("planned\n"));
    rmSync(join(sandbox, "folder/inner"));
    mkdirSync(join(sandbox, "new"));
    writeFileSync(join(sandbox, "new/file"), "planned\n");
    const wanted = snapshotTree(sandbox);
    assert.deepEqual((await drydock.plans.apply(plan.id)).attention, []);
    assertSameTree(withoutOurs(scene), wanted, "after the apply");
    assert.equal((await drydock.plans.undo(plan.id)).state, "undone");
    assertSameTree(snapshotTree(scene.at("original")), untouched, "after the undo");
  });

  for (const [what, work] of [
    ["replaced", (sandbox: string) => writeFileSync(join(sandbox, "file"), "planned\n")],
    ["deleted", (sandbox: string) => rmSync(join(sandbox, "file"))],
  ] as const)
    it(`[A10] to which a file that is ${what} does not belong is found before anything is changed`, async () => {
      await using scene = newScene(`older-${what}`);
      putIntoProject(scene.at("original"), 42);
      const { drydock, plan, sandbox } = await scene.plan();
      work(sandbox);
      const untouched = withoutOurs(scene);
      await assert.rejects(drydock.plans.apply(plan.id), /original\/file belongs to another quota project/);
      assertSameTree(withoutOurs(scene), untouched, "the original");
      assert.equal((await drydock.plans.show(plan.id)).state, "open");
    });
});

/** Made the project of it, and, of a folder, of everything that is made in it from now on. */
function putIntoProject(path: string, project: number): void {
  execFileSync("xfs_io", ["-r", "-c", `chproj ${project}`, "-c", "chattr +P", path]);
}

function withoutOurs(scene: Scene): ReturnType<typeof snapshotTree> {
  return snapshotTree(scene.at("original"), { ignore: (path) => path.startsWith(".drydock-") });
}
