import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { AtomicCommitError } from "../../src/index.ts";
import { Workshop } from "../commit/workshop.ts";
import { mountImage, whyNoImages } from "../support/file-systems.ts";
import { removeFolder } from "../support/remove-folder.ts";

const noImages = whyNoImages();
const needsImages = noImages === undefined ? {} : { skip: noImages };
const needsRoot = process.geteuid?.() === 0 ? {} : { skip: "not root, so nothing can be mounted" };
const isOneFileSystem = statSync("/dev/shm", { throwIfNoEntry: false })?.dev === statSync(tmpdir()).dev;
const needsTwo = isOneFileSystem ? { skip: "the temporary folder is in memory too" } : {};

describe("An original that is more than one file system", () => {
  // Came from: a nested subvolume has the mount of the folder around it, so the landing found out half way
  // that it can't rename into it.
  it("[A10] is refused before anything lands, where it is a btrfs subvolume", needsImages, async () => {
    const image = mountImage("btrfs");
    try {
      await using workshop = new Workshop();
      const original = join(image.path, "original");
      mkdirSync(original);
      execFileSync("btrfs", ["subvolume", "create", join(original, "nested")], { stdio: "ignore" });
      for (const path of ["file", "nested/file"]) writeFileSync(join(original, path), "old");
      const drydock = await workshop.open([], { stateDir: join(image.path, "state") });
      const plan = await drydock.plans.create({
        resources: [{ location: original, strategy: "filesystem_copy" }],
      });
      for (const path of ["file", "nested/file"])
        await drydock.plans.write(plan.id, "original", path, Buffer.from("new"));
      await assert.rejects(drydock.plans.apply(plan.id), /nested is another file system/);
      for (const path of ["file", "nested/file"])
        assert.equal(readFileSync(join(original, path), "utf8"), "old");
      assert.equal((await drydock.plans.show(plan.id)).state, "open");
      await drydock.plans.cancel(plan.id);
      await drydock.close();
    } finally {
      image.remove();
    }
  });

  // Came from: link groups were found by inode number alone, so files of two file systems became one in the
  // sandbox.
  it(
    "[A11] is copied with every file's own content, though inode numbers are the same",
    needsRoot,
    async () => {
      await using workshop = new Workshop();
      const [outer, inner] = [workshop.at("a"), workshop.at("a/inner")];
      execFileSync("mount", ["-t", "tmpfs", "tmpfs", outer]);
      try {
        mkdirSync(inner);
        execFileSync("mount", ["-t", "tmpfs", "tmpfs", inner]);
        const outside = linkedFiles(outer, "outer", 20);
        const inside = linkedFiles(inner, "inner", 40);
        assert.ok(
          inside.some((ino) => outside.includes(ino)),
          "numbers are used twice",
        );
        const drydock = await workshop.open([], { stateDir: workshop.at("state") });
        const plan = await drydock.plans.create({
          resources: [{ location: "a", strategy: "filesystem_copy" }],
        });
        const sandbox = await drydock.plans.path(plan.id);
        for (const [at] of inside.entries())
          assert.equal(readFileSync(join(sandbox, `inner/inner${at}`), "utf8"), `inner ${at}`);
        for (const [at] of outside.entries())
          assert.equal(readFileSync(join(sandbox, `outer${at}`), "utf8"), `outer ${at}`);
        assert.deepEqual((await drydock.plans.diff(plan.id)).changes, []);
      } finally {
        execFileSync("umount", ["--recursive", "--lazy", outer]);
      }
    },
  );
});

describe("A workspace beside its original, because the state directory is on another file system", () => {
  // Came from: a plan that removed the folder around it took the work of the other plan with it.
  it("[C5] is not removed by a plan that removes the folder around it", needsTwo, async () => {
    await using workshop = new Workshop();
    const stateDir = mkdtempSync("/dev/shm/drydock-regressions-");
    try {
      mkdirSync(workshop.at("a/folder/original"), { recursive: true });
      workshop.write("a/folder/original/file", "old");
      const drydock = await workshop.open([], { stateDir });
      const small = await drydock.plans.create({
        resources: [{ location: "a/folder/original", strategy: "filesystem_copy" }],
      });
      await drydock.plans.write(small.id, "original", "file", Buffer.from("not applied yet"));
      assert.ok(
        (await drydock.plans.path(small.id)).startsWith(workshop.at("a/folder")),
        "it lies beside the original",
      );
      const large = await drydock.plans.create({
        resources: [{ location: "a", strategy: "filesystem_copy" }],
      });
      rmSync(join(await drydock.plans.path(large.id), "folder"), { recursive: true });
      await assert.rejects(drydock.plans.apply(large.id), AtomicCommitError);
      assert.equal(workshop.text("a/folder/original/file"), "old");
      assert.equal(
        Buffer.from(await drydock.plans.read(small.id, "original", "file")).toString(),
        "not applied yet",
      );
      await drydock.plans.apply(small.id);
      assert.equal(workshop.text("a/folder/original/file"), "not applied yet");
    } finally {
      removeFolder(stateDir);
    }
  });
});

/** Files with two names each; gives their inode numbers. */
function linkedFiles(folder: string, name: string, count: number): number[] {
  return Array.from({ length: count }, (_, at) => {
    const file = join(folder, `${name}${at}`);
    writeFileSync(file, `${name} ${at}`);
    linkSync(file, `${file}-second`);
    return statSync(file).ino;
  });
}
