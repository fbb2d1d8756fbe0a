import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { ApplyResult } from "../../src/index.ts";
import type { Services } from "../../src/services.ts";
import { Workshop } from "../commit/workshop.ts";
import { lastResult } from "../rivals/drydock-process.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";
import { actDuring } from "./during-call.ts";

const WORK: { readonly [what: string]: (file: string) => void } = {
  changes: (file) => writeFileSync(file, "other content\n"),
  deletes: (file) => rmSync(file),
  "changes the mode of": (file) => chmodSync(file, 0o600),
};

describe("A deleted folder with another name of a file of another resource", () => {
  // Came from: landing the other name moved the change time of both, which looked as if a rival had changed
  // the folder.
  for (const [what, work] of Object.entries(WORK))
    it(`[A11] is deleted, though the plan ${what} that file first, and comes back`, async () => {
      await using workshop = new Workshop();
      linkedOriginals(workshop);
      const drydock = await workshop.open();
      const plan = await planThatDeletes(drydock);
      work(join(await drydock.plans.path(plan, "b"), "file"));
      const before = ["a", "b"].map((folder) => snapshotTree(workshop.at(folder)));
      assert.deepEqual((await drydock.plans.apply(plan)).attention, []);
      assert.equal(workshop.text("a/folder/file"), undefined);
      assert.deepEqual((await drydock.plans.undo(plan)).attention, []);
      for (const [at, folder] of ["a", "b"].entries())
        assertSameTree(snapshotTree(workshop.at(folder)), before[at] ?? new Map(), folder);
      assert.equal(lstatSync(workshop.at("a/folder/file")).ino, lstatSync(workshop.at("b/file")).ino);
    });

  it("[A19] is left alone where a rival wrote to that file meanwhile", async () => {
    await using workshop = new Workshop();
    linkedOriginals(workshop);
    const plan = await planThatDeletes(await workshop.open());
    const task = { stateDir: workshop.stateDir, calls: [["apply", plan]] as const };
    const rivalWrites = () => appendFileSync(workshop.at("a/folder/file"), "rival\n");
    const { attention } = lastResult<ApplyResult>(await actDuring(task, "land.remove=stop", rivalWrites));
    assert.deepEqual(
      attention.map(({ path }) => path),
      ["folder"],
    );
    assert.equal(workshop.text("a/folder/file"), "content\nrival\n");
  });
});

describe("A new file that got the inode number of one that is gone", () => {
  // Came from: it was taken for the one that is gone, so that two files which became one were landed as two.
  it("[A11] and that two names share is one file after landing", async (t) => {
    await using workshop = new Workshop();
    // Many, because files of other tests may take some of the numbers.
    const old = Array.from({ length: 256 }, (_, number) => `old-${number}`);
    for (const name of [...old, "second"]) workshop.write(`a/${name}`, "");
    const { plans } = await workshop.open();
    const { id } = await plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    const at = (name: string) => join(path, name);
    const path = await plans.path(id, "a");
    const numbers = new Map(old.map((name) => [lstatSync(at(name)).ino, name]));
    for (const name of old) rmSync(at(name));
    const fresh = old.map((name) => at(`fresh-${name}`));
    for (const file of fresh) writeFileSync(file, "");
    const reused = fresh.find((file) => numbers.has(lstatSync(file).ino));
    if (reused === undefined) return t.skip("this file system gives new files other numbers");
    const first = numbers.get(lstatSync(reused).ino) ?? "";
    renameSync(reused, at("second"));
    for (const file of fresh) rmSync(file, { force: true });
    linkSync(at("second"), at(first));
    await plans.apply(id);
    assert.equal(lstatSync(workshop.at(`a/${first}`)).ino, lstatSync(workshop.at("a/second")).ino);
  });
});

function linkedOriginals(workshop: Workshop): void {
  mkdirSync(workshop.at("a/folder"));
  workshop.write("a/folder/file", "content\n");
  linkSync(workshop.at("a/folder/file"), workshop.at("b/file"));
}

/** The resource with the other name is the first, so that it lands first. */
async function planThatDeletes({ plans }: Services): Promise<string> {
  const { id } = await plans.create({ resources: [{ location: "b" }, { location: "a" }] });
  rmSync(join(await plans.path(id, "a"), "folder"), { recursive: true });
  return id;
}
