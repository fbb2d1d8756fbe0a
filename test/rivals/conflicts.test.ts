import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { AtomicCommitError } from "../../src/index.ts";
import { systemProgram } from "../../src/system/process/programs.ts";
import { whyNoFuse } from "../support/file-systems.ts";
import { IS_LONG } from "../support/long-form.ts";
import { IN_USER_NAMESPACE, runOverlay } from "../support/overlay-runs.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";
import type { ConflictRow } from "./conflict-rows.ts";
import { Dispute, IN_A_USER_NAMESPACE, judge, ONE_WAY, rowsFor, type Way } from "./dispute.ts";

const text = (path: string) => readFileSync(path, "utf8");

const needsFuse =
  whyNoFuse() ?? (systemProgram("fuse-overlayfs") === undefined ? "no fuse-overlayfs here" : false);
const needsRoot = process.geteuid?.() === 0 ? false : "not root, so nothing can be mounted";
const WAYS: readonly Way[] = [
  { title: "a copy", strategy: "filesystem_copy" },
  { title: "an overlay with programs inside", strategy: "overlay", skip: needsRoot },
  { title: "an overlay whose programs have ended", strategy: "overlay", areEnded: true, skip: needsRoot },
  { title: "an overlay that is not mounted", strategy: "overlay", isWritten: true, skip: needsRoot },
  { ...IN_A_USER_NAMESPACE, skip: needsRoot },
  { title: "an overlay by fuse-overlayfs", strategy: ONE_WAY, ways: ["fuse"], skip: needsFuse },
];

/** Ways with which a normal run has the whole table; each row has one of the others too. */
const WHOLE = 2;

/** All rows that can be told in this way in a long run, or of the first ways; else every so many. */
function chosenRows(at: number, way: Way): readonly ConflictRow[] {
  const turns = WAYS.length - WHOLE;
  return rowsFor(way).filter((_, row) => IS_LONG || at < WHOLE || row % turns === at - WHOLE);
}

for (const [at, way] of WAYS.entries())
  describe(`The conflict table, for work in ${way.title}`, { skip: way.skip ?? false }, () => {
    for (const row of chosenRows(at, way))
      it(`[A15] ${row.title}: ${row.conflicts.length === 0 ? "lands" : "conflict"}`, () => judge(row, way));
  });

describe(`The conflict table, for work in an overlay ${IN_USER_NAMESPACE.title}`, {
  skip: IN_USER_NAMESPACE.skip,
}, () => {
  it("[A15] holds, row by row, where copies do not say what they are of", async () => {
    const verdicts = (await runOverlay(IN_USER_NAMESPACE, "test/rivals/conflict-run.ts", []))
      .trim()
      .split("\n");
    assert.equal(verdicts.length, rowsFor(IN_A_USER_NAMESPACE).length);
    assert.deepEqual(
      verdicts.filter((verdict) => verdict !== "as in the table"),
      [],
    );
  });
});

describe("Two who change the same folder", () => {
  it("[A15] a folder's time is the plan's where nobody else changed the folder, and stays where somebody did", async () => {
    await using dispute = await Dispute.begin();
    for (const folder of ["folder", "twin"])
      writeFileSync(dispute.inSandbox(`${folder}/planned`), "planned\n");
    for (const folder of ["folder", "twin"])
      utimesSync(dispute.inSandbox(folder), 1_000_000_000, 1_000_000_000);
    writeFileSync(dispute.inOriginal("twin/mine"), "mine\n");
    await dispute.drydock.plans.apply(dispute.planId);
    assert.equal(statSync(dispute.inOriginal("folder")).mtimeMs, 1_000_000_000_000);
    assert.notEqual(statSync(dispute.inOriginal("twin")).mtimeMs, 1_000_000_000_000);
  });

  it("[A15] what we landed or undid ourselves is no conflict for a plan that is made afterwards, nor for a retry", async () => {
    await using dispute = await Dispute.begin();
    const { drydock, planId } = dispute;
    writeFileSync(dispute.inSandbox("file"), "first\n");
    await drydock.plans.apply(planId, { dryRun: true });
    await drydock.plans.apply(planId);
    await drydock.plans.undo(planId);
    assert.equal(text(dispute.inOriginal("file")), "file\n");
    const next = await drydock.plans.create({ resources: [{ location: dispute.inOriginal(".") }] });
    await drydock.plans.write(next.id, "original", "file", Buffer.from("second\n"));
    await drydock.plans.apply(next.id);
    assert.equal(text(dispute.inOriginal("file")), "second\n");
  });

  it("[A15] two plans over one folder: the second one conflicts only where the first one landed", async () => {
    await using dispute = await Dispute.begin();
    const { drydock, planId } = dispute;
    const same = await drydock.plans.create({ resources: [{ location: dispute.inOriginal(".") }] });
    const other = await drydock.plans.create({ resources: [{ location: dispute.inOriginal(".") }] });
    await drydock.plans.write(planId, "original", "file", Buffer.from("first\n"));
    await drydock.plans.write(same.id, "original", "file", Buffer.from("second\n"));
    await drydock.plans.write(other.id, "original", "folder/deep/inner", Buffer.from("third\n"));
    await drydock.plans.apply(planId);
    await assert.rejects(drydock.plans.apply(same.id), (error: unknown) => {
      assert.ok(error instanceof AtomicCommitError);
      assert.deepEqual(
        error.conflicts.map(({ path }) => path),
        ["file"],
      );
      return true;
    });
    await drydock.plans.apply(other.id);
    assert.equal(text(dispute.inOriginal("file")), "first\n");
    assert.equal(text(dispute.inOriginal("folder/deep/inner")), "third\n");
  });

  it("[A15] an undo stops where somebody changed what had landed, and takes nothing back", async () => {
    await using dispute = await Dispute.begin();
    const { drydock, planId } = dispute;
    for (const path of ["file", "new"]) writeFileSync(dispute.inSandbox(path), "the plan's\n");
    rmSync(dispute.inSandbox("spare"));
    await drydock.plans.apply(planId);
    writeFileSync(dispute.inOriginal("file"), "mine\n");
    writeFileSync(dispute.inOriginal("spare"), "mine\n");
    const before = snapshotTree(dispute.inOriginal("."));
    await assert.rejects(drydock.plans.undo(planId), (error: unknown) => {
      assert.ok(error instanceof AtomicCommitError);
      assert.deepEqual(error.conflicts.map(({ path }) => path).sort(), ["file", "spare"]);
      return true;
    });
    assertSameTree(snapshotTree(dispute.inOriginal(".")), before, "the original");
    assert.equal((await drydock.plans.show(planId)).state, "applied");
  });
});
