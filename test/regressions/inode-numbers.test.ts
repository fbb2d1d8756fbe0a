import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { AtomicCommitError } from "../../src/index.ts";
import { Workshop } from "../commit/workshop.ts";
import { mountImage, whyNoImages } from "../support/file-systems.ts";

const MOST_TRIES = 500;

/**
 * Makes something anew, in the place of what is there, until it has the number of the inode that was there
 * first. What got another number goes aside: ext4 gives the lowest one that is free.
 */
function makeAgain(path: string, make: () => void, aside: string): void {
  const { ino } = statSync(path);
  rmSync(path, { recursive: true });
  mkdirSync(aside);
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    make();
    if (statSync(path).ino === ino) return;
    renameSync(path, join(aside, String(tries)));
  }
  assert.fail(`${path} did not get its number again in ${MOST_TRIES} tries, so nothing is tested`);
}

describe("An inode whose number was another's before", { skip: whyNoImages() ?? false }, () => {
  // Came from: a folder of a copy was known by its number alone. Replaced by one with the same number it
  // counted as the old one, and was merged with what others had added to the original's.
  it("[A15] is another folder, whose replacement is in conflict with what others add to the first", async () => {
    using image = mountImage("ext4");
    await using workshop = new Workshop({ parent: image.path });
    mkdirSync(workshop.at("a/folder"));
    workshop.write("a/folder/file", "old");
    const drydock = await workshop.open();
    const { id } = await drydock.plans.create({
      resources: [{ location: "a", strategy: "filesystem_copy" }],
    });
    const folder = join(await drydock.plans.path(id), "folder");
    makeAgain(folder, () => mkdirSync(folder), workshop.at("aside"));
    writeFileSync(join(folder, "mine"), "new");
    workshop.write("a/folder/theirs", "theirs");
    await assert.rejects(drydock.plans.apply(id), (thrown) => {
      assert.ok(thrown instanceof AtomicCommitError);
      assert.deepEqual(
        thrown.conflicts.map(({ path }) => path),
        ["folder"],
      );
      return true;
    });
    assert.equal(workshop.text("a/folder/theirs"), "theirs");
    rmSync(workshop.at("a/folder/theirs"));
  });
});
