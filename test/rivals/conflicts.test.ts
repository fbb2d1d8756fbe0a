import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { AtomicCommitError, type Drydock, openDrydock, SandboxConflictError } from "../../src/index.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";
import { CONFLICT_ROWS } from "./conflict-rows.ts";

const text = (path: string) => readFileSync(path, "utf8");

describe("The conflict table", () => {
  for (const { title, plan, rival, conflicts, afterwards } of CONFLICT_ROWS) {
    it(`[A15] ${title}: ${conflicts.length === 0 ? "lands" : "conflict"}`, async () => {
      await using dispute = await Dispute.begin();
      const { drydock, planId } = dispute;
      plan(dispute.inSandbox);
      rival(dispute.inOriginal);
      if (conflicts.length === 0) {
        const { attention } = await drydock.plans.apply(planId);
        assert.deepEqual(attention, []);
        afterwards?.(dispute.inOriginal);
        return;
      }
      const before = snapshotTree(dispute.inOriginal("."));
      const work = await drydock.plans.diff(planId);
      await assert.rejects(drydock.plans.apply(planId), (error: unknown) => {
        assert.ok(error instanceof AtomicCommitError && error.cause instanceof SandboxConflictError, String(error));
        assert.deepEqual(
          error.conflicts.map(({ resource, path }) => `${resource}: ${path}`).sort(),
          conflicts.map((path) => `original: ${path}`),
        );
        for (const { why } of error.conflicts) assert.match(why, /in the original/);
        assert.deepEqual(error.notUndone, []);
        return true;
      });
      assertSameTree(snapshotTree(dispute.inOriginal(".")), before, "the original");
      assert.deepEqual(await drydock.plans.diff(planId), work);
      assert.equal((await drydock.plans.show(planId)).state, "open");
    });
  }

  it("[A15] a folder's time is the plan's where nobody else changed the folder, and stays where somebody did", async () => {
    await using dispute = await Dispute.begin();
    for (const folder of ["folder", "twin"]) writeFileSync(dispute.inSandbox(`${folder}/planned`), "planned\n");
    for (const folder of ["folder", "twin"]) utimesSync(dispute.inSandbox(folder), 1_000_000_000, 1_000_000_000);
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

/** An original and a plan over it. */
class Dispute {
  readonly drydock: Drydock;
  readonly planId: string;
  readonly #base: string;
  readonly #sandbox: string;

  private constructor(drydock: Drydock, planId: string, base: string, sandbox: string) {
    this.drydock = drydock;
    this.planId = planId;
    this.#base = base;
    this.#sandbox = sandbox;
  }

  static async begin(): Promise<Dispute> {
    const base = mkdtempSync(join(tmpdir(), "drydock-conflicts-"));
    const original = join(base, "original");
    for (const folder of ["folder", "twin"]) {
      mkdirSync(join(original, folder, "deep"), { recursive: true });
      writeFileSync(join(original, folder, "deep", "inner"), "inner\n");
    }
    for (const name of ["file", "spare"]) writeFileSync(join(original, name), `${name}\n`);
    symlinkSync("file", join(original, "link"));
    const drydock = await openDrydock({ stateDir: join(base, "state"), cwd: base, environment: {} });
    const plan = await drydock.plans.create({ resources: [{ location: "original" }] });
    return new Dispute(drydock, plan.id, base, await drydock.plans.path(plan.id));
  }

  readonly inSandbox = (path: string): string => join(this.#sandbox, path);
  readonly inOriginal = (path: string): string => join(this.#base, "original", path);

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drydock.close();
    removeFolder(this.#base);
  }
}
