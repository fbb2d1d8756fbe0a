import assert from "node:assert/strict";
import { chmodSync, chownSync, existsSync, linkSync, lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import type { ApplyResult, PlanView } from "../../src/index.ts";
import type { PlanDiff } from "../../src/plans/plan-views.ts";
import { Workshop } from "../commit/workshop.ts";
import type { ChildCall } from "../rivals/drydock-child.ts";
import { lastError, lastResult, type ProcessEnd, runProcess } from "../rivals/drydock-process.ts";
import { snapshotTree } from "../support/tree-snapshot.ts";

const NOBODY = 65534;
const needsRoot = process.geteuid?.() === 0 ? {} : { skip: "not root, so nobody else can be asked to work" };

describe("A user without privilege", needsRoot, () => {
  // Came from: the kernel refuses new names of somebody else's file, which showed half way through the
  // landing and blocked the original.
  it("[A10] is told before anything lands that no other name of somebody else's file can be made", async () => {
    await using place = new NobodysPlace();
    chownSync(place.at("a/old.txt"), 0, 0);
    chmodSync(place.at("a/old.txt"), 0o644);
    writeFileSync(place.at("a/mine"), "mine");
    chownSync(place.at("a/mine"), NOBODY, NOBODY);
    const { plan, sandbox } = await place.plan();
    writeFileSync(join(sandbox, "mine"), "changed");
    linkSync(join(sandbox, "old.txt"), join(sandbox, "second-name"));
    const end = await place.run(["apply", plan.id]);
    assert.match(lastError(end).message, /old\.txt belongs to another user/);
    assert.equal(place.text("a/mine"), "mine");
    assert.equal(lastResult<PlanView>(await place.run(["show", plan.id])).state, "open");
  });

  // Came from: a read-only folder that was opened up for the landing, and whose mode the plan changes, looked
  // as if a rival had changed it.
  it("[A11] changes the mode of a read-only folder and what is in it, and takes both back", async () => {
    await using place = new NobodysPlace();
    mkdirSync(place.at("a/closed"));
    writeFileSync(place.at("a/closed/file"), "file");
    chmodSync(place.at("a/closed"), 0o555);
    for (const path of ["a/closed", "a/closed/file"]) chownSync(place.at(path), NOBODY, NOBODY);
    const { plan, sandbox } = await place.plan();
    chmodSync(join(sandbox, "closed"), 0o750);
    writeFileSync(join(sandbox, "closed/new"), "new");
    chownSync(join(sandbox, "closed/new"), NOBODY, NOBODY);
    assert.deepEqual(lastResult<ApplyResult>(await place.run(["apply", plan.id])).attention, []);
    assert.equal(lstatSync(place.at("a/closed")).mode & 0o777, 0o750);
    assert.equal(place.text("a/closed/new"), "new");
    assert.deepEqual(lastResult<ApplyResult>(await place.run(["undo", plan.id])).attention, []);
    assert.equal(lstatSync(place.at("a/closed")).mode & 0o777, 0o555);
    assert.equal(place.text("a/closed/new"), undefined);
  });

  // Came from: it showed as a bare EACCES on a path of Drydock's own, after things had been taken out of the
  // sandbox.
  for (const [what, make] of [
    ["a new file of mode 0200", (path: string) => writeFileSync(path, "secret", { mode: 0o200 })],
    ["a new folder of mode 0000", (path: string) => mkdirSync(path, { mode: 0 })],
    ["a file in a new folder", (path: string) => secretInFolder(path)],
    ["a file that is made so", (path: string) => chmodSync(join(dirname(path), "old.txt"), 0o200)],
  ] as const)
    it(`[A11] lands what he may not read himself in the sandbox, and takes it back: ${what}`, async () => {
      await using place = new NobodysPlace();
      const { plan, sandbox } = await place.plan();
      make(join(sandbox, "closed"));
      for (const path of ["closed", "closed/inner"])
        if (existsSync(join(sandbox, path))) chownSync(join(sandbox, path), NOBODY, NOBODY);
      const wanted = snapshotTree(sandbox);
      assert.deepEqual(lastResult<ApplyResult>(await place.run(["apply", plan.id])).attention, []);
      assert.deepEqual(snapshotTree(place.at("a")), wanted);
      assert.deepEqual(lastResult<ApplyResult>(await place.run(["undo", plan.id])).attention, []);
      assert.equal(place.text("a/old.txt"), "old of a\n");
      assert.equal(lstatSync(place.at("a/old.txt")).mode & 0o777, 0o644);
      assert.equal(existsSync(place.at("a/closed")), false);
    });

  // Came from: what landed in the place of somebody else's file was the user's own, and only the numbers of
  // the owners said so.
  it("[D4] is warned that somebody else's file that he changes will be his", async () => {
    await using place = new NobodysPlace();
    writeFileSync(place.at("a/roots"), "roots", { mode: 0o644 });
    writeFileSync(place.at("a/other"), "other", { mode: 0o644 });
    const { plan } = await place.plan();
    const end = await place.run(
      ["write", plan.id, "a", "roots", "changed"],
      ["write", plan.id, "a", "old.txt", "changed"],
      ["diff", plan.id],
    );
    const { changes } = lastResult<PlanDiff>(end);
    assert.deepEqual(
      changes.map(({ path, warnings }) => [path, warnings ?? []]),
      [
        ["old.txt", []],
        ["roots", [`will belong to user ${NOBODY} instead of 0, because only root can keep its owner`]],
      ],
    );
  });
});

function secretInFolder(path: string): void {
  mkdirSync(path);
  writeFileSync(join(path, "inner"), "secret", { mode: 0o200 });
}

/** A workshop that belongs to nobody, and processes of theirs in it. */
class NobodysPlace extends Workshop {
  constructor() {
    super();
    chmodSync(this.base, 0o755);
    for (const path of [".", "a", "a/old.txt"]) chownSync(this.at(path), NOBODY, NOBODY);
  }

  async run(...calls: readonly ChildCall[]): Promise<ProcessEnd> {
    const wrapper = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
    return await runProcess({ stateDir: this.stateDir, calls }, { wrapper });
  }

  async plan(): Promise<{ plan: PlanView; sandbox: string }> {
    // What is in a copy can be reached by its path, and by root.
    const resources = [{ location: this.at("a"), strategy: "filesystem_copy" }];
    const plan = lastResult<PlanView>(await this.run(["create", { resources }]));
    return { plan, sandbox: lastResult<string>(await this.run(["path", plan.id])) };
  }
}
