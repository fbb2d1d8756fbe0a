import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openDrydock, type PlanChange } from "../../src/index.ts";

describe("a diff that hands over one change after the other", () => {
  for (const strategy of ["filesystem_copy", "none"]) {
    it(`has the changes, statistics and digest of one that lists them (${strategy})`, async (t) => {
      const root = mkdtempSync(join(tmpdir(), "drydock-large-diff-"));
      t.after(() => rmSync(root, { recursive: true }));
      const location = join(root, "original");
      mkdirSync(join(location, "folder"), { recursive: true });
      writeFileSync(join(location, "folder/file"), "one\n");
      const drydock = await openDrydock({ stateDir: join(root, "state") });
      t.after(() => drydock.close());
      const plan = await drydock.plans.create({
        resources: [{ location, strategy }],
        allowIrreversible: true,
      });
      for (const name of ["folder/file", "new", ".envrc"]) await plan.write(name, "two\n");
      const listed = await plan.diff({ paths: ["folder", ".envrc"] });
      const handed: PlanChange[] = [];
      const onChange = (change: PlanChange) => handed.push(change);
      const diff = await plan.diff({ paths: ["folder", ".envrc"], onChange });
      assert.deepEqual(handed, listed.changes);
      assert.deepEqual(diff, { ...listed, changes: [] });
      assert.deepEqual([handed.length, diff.selfRunning.length, diff.stats.modified], [2, 1, 1]);
    });
  }
});
