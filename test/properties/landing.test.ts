import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { type Drydock, openDrydock } from "../../src/index.ts";
import { snapshotTree, type TreeSnapshot } from "../../src/testing/tree-snapshot.ts";
import { assertSame, FolderPair } from "./folder-pair.ts";
import { runs } from "./property-runs.ts";
import { buildingOperations, operations } from "./tree-operations.ts";

describe("random work in random trees", () => {
  let stateDir = "";
  let drydock: Drydock;

  before(async () => {
    stateDir = mkdtempSync(join(tmpdir(), "drydock-property-state-"));
    drydock = await openDrydock({ stateDir, environment: {} });
  });

  after(async () => {
    await drydock.close();
    rmSync(stateDir, { recursive: true, force: true });
  });

  async function planOver(folder: string): Promise<{ readonly id: string; readonly path: string }> {
    const { id } = await drydock.plans.create({ resources: [{ location: folder, strategy: "filesystem_copy" }] });
    return { id, path: await drydock.plans.path(id) };
  }

  it("[A11] lands exactly as in a plain folder, and undo brings back exactly what was", async () => {
    await fc.assert(
      fc.asyncProperty(buildingOperations(8), operations(14), async (building, work) => {
        using folders = new FolderPair();
        folders.perform([folders.original, folders.plain], building);
        const start = snapshotTree(folders.original);
        const plan = await planOver(folders.original);
        assertSame(plan.path, start, "a new sandbox is as the original");
        folders.perform([plan.path, folders.plain], work);
        const { attention } = await drydock.plans.apply(plan.id);
        assert.deepEqual(attention, []);
        assertSame(folders.original, snapshotTree(folders.plain), "the original is as the plain folder");
        await drydock.plans.undo(plan.id);
        assertSame(folders.original, start, "after undo the original is as before");
      }),
      runs(100, 25),
    );
  });

  it("[A7] a dry run changes neither the original nor the sandbox, and what lands after it is the same", async () => {
    await fc.assert(
      fc.asyncProperty(buildingOperations(6), operations(10), async (building, work) => {
        using folders = new FolderPair();
        folders.perform([folders.original, folders.plain], building);
        const start = snapshotTree(folders.original);
        const plan = await planOver(folders.original);
        folders.perform([plan.path, folders.plain], work);
        const worked = snapshotTree(plan.path);
        await drydock.plans.apply(plan.id, { dryRun: true });
        assertSame(folders.original, start, "the original after a dry run");
        assertSame(plan.path, worked, "the sandbox after a dry run");
        await drydock.plans.apply(plan.id);
        assertSame(folders.original, snapshotTree(folders.plain), "the original is as the plain folder");
      }),
      runs(50, 15),
    );
  });

  it("[D1] the diff names what differs, and nothing else", async () => {
    await fc.assert(
      fc.asyncProperty(buildingOperations(6), operations(8), async (building, work) => {
        using folders = new FolderPair();
        folders.perform([folders.original], building);
        const plan = await planOver(folders.original);
        folders.perform([plan.path], work);
        const [was, is] = [snapshotTree(folders.original), snapshotTree(plan.path)];
        const { changes } = await drydock.plans.diff(plan.id);
        const named = new Set(changes.map(({ path }) => path));
        for (const path of new Set([...was.keys(), ...is.keys()])) {
          if (differs(was, is, path)) assert.ok(named.has(path), `${path} differs and is not in the diff`);
        }
        for (const { path, operation } of changes) {
          assert.equal(operation, operationFor(was.get(path)?.["kind"], is.get(path)?.["kind"]), path);
        }
        await drydock.plans.cancel(plan.id);
      }),
      runs(50, 15),
    );
  });
});

/** In anything but its time, which is not a change by itself. */
function differs(was: TreeSnapshot, is: TreeSnapshot, path: string): boolean {
  const facts = (snapshot: TreeSnapshot) => {
    const { mtime: _, holes: __, "same file": ___, ...rest } = snapshot.get(path) ?? {};
    return JSON.stringify(rest);
  };
  return facts(was) !== facts(is);
}

function operationFor(was: string | undefined, is: string | undefined): string {
  if (was === undefined) return "added";
  if (is === undefined) return "deleted";
  return was === is ? "modified" : "typechanged";
}
