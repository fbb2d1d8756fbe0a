import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { type Drydock, openDrydock } from "../../src/index.ts";
import { snapshotTree, type TreeSnapshot } from "../../src/testing/tree-snapshot.ts";
import { type ImageFileSystem, type MountedImage, mountImage, whyNoImages } from "../support/file-systems.ts";
import { assertSame, FolderPair } from "./folder-pair.ts";
import { runs } from "./property-runs.ts";
import { buildingOperations, type Operation, operations } from "./tree-operations.ts";

/** Everything that one test of this file works with: folders below `parent`, and Drydock with its state beside them. */
class Workplace {
  readonly parent: string;
  readonly drydock: Drydock;
  readonly #strategy: string;

  static async open(parent: string, strategy: string): Promise<Workplace> {
    const stateDir = join(parent, "state");
    return new Workplace(parent, await openDrydock({ stateDir, environment: {} }), strategy);
  }

  private constructor(parent: string, drydock: Drydock, strategy: string) {
    this.parent = parent;
    this.drydock = drydock;
    this.#strategy = strategy;
  }

  async planOver(location: string): Promise<{ readonly id: string; readonly path: string }> {
    const { id } = await this.drydock.plans.create({ resources: [{ location, strategy: this.#strategy }] });
    return { id, path: await this.drydock.plans.path(id) };
  }

  /** Does random work in a random tree, lands it, and takes it back. */
  async landAndUndo(building: readonly Operation[], work: readonly Operation[]): Promise<void> {
    using folders = new FolderPair(this.parent);
    folders.perform([folders.original, folders.plain], building);
    const start = snapshotTree(folders.original);
    const plan = await this.planOver(folders.original);
    assertSame(plan.path, start, "a new sandbox is as the original");
    folders.perform([plan.path, folders.plain], work);
    const { attention } = await this.drydock.plans.apply(plan.id);
    assert.deepEqual(attention, []);
    assertSame(folders.original, snapshotTree(folders.plain), "the original is as the plain folder");
    await this.drydock.plans.undo(plan.id);
    assertSame(folders.original, start, "after undo the original is as before");
  }
}

describe("random work in random trees", () => {
  let parent = "";
  let place: Workplace;

  before(async () => {
    parent = mkdtempSync(join(tmpdir(), "drydock-landing-"));
    place = await Workplace.open(parent, "filesystem_copy");
  });

  after(async () => {
    await place.drydock.close();
    rmSync(parent, { recursive: true, force: true });
  });

  it("[A11] lands exactly as in a plain folder, and undo brings back exactly what was", async () => {
    const property = fc.asyncProperty(buildingOperations(8), operations(14), async (building, work) =>
      place.landAndUndo(building, work),
    );
    await fc.assert(property, runs(100, 20));
  });

  it("[A7] a dry run changes neither the original nor the sandbox, and what lands after it is the same", async () => {
    await fc.assert(
      fc.asyncProperty(buildingOperations(6), operations(10), async (building, work) => {
        using folders = new FolderPair(parent);
        folders.perform([folders.original, folders.plain], building);
        const start = snapshotTree(folders.original);
        const plan = await place.planOver(folders.original);
        folders.perform([plan.path, folders.plain], work);
        const worked = snapshotTree(plan.path);
        await place.drydock.plans.apply(plan.id, { dryRun: true });
        assertSame(folders.original, start, "the original after a dry run");
        assertSame(plan.path, worked, "the sandbox after a dry run");
        await place.drydock.plans.apply(plan.id);
        assertSame(folders.original, snapshotTree(folders.plain), "the original is as the plain folder");
      }),
      runs(40, 10),
    );
  });

  it("[D1] the diff names what differs, and nothing else", async () => {
    await fc.assert(
      fc.asyncProperty(buildingOperations(6), operations(8), async (building, work) => {
        using folders = new FolderPair(parent);
        folders.perform([folders.original], building);
        const plan = await place.planOver(folders.original);
        folders.perform([plan.path], work);
        const [was, is] = [snapshotTree(folders.original), snapshotTree(plan.path)];
        const { changes } = await place.drydock.plans.diff(plan.id);
        const named = new Set(changes.map(({ path }) => path));
        for (const path of new Set([...was.keys(), ...is.keys()])) {
          if (differs(was, is, path)) assert.ok(named.has(path), `${path} differs and is not in the diff`);
        }
        for (const { path, operation } of changes) {
          assert.equal(operation, operationFor(was.get(path)?.["kind"], is.get(path)?.["kind"]), path);
        }
        await place.drydock.plans.cancel(plan.id);
      }),
      runs(40, 10),
    );
  });
});

for (const kind of ["xfs", "btrfs"] as const satisfies readonly ImageFileSystem[]) {
  describe(`random work in random trees on ${kind}`, { skip: whyNoImages() ?? false }, () => {
    let image: MountedImage;
    let place: Workplace;

    before(async () => {
      image = mountImage(kind);
      mkdirSync(join(image.path, "work"));
      place = await Workplace.open(join(image.path, "work"), "copy_on_write");
    });

    after(async () => {
      await place.drydock.close();
      image.remove();
    });

    it("[A11] lands exactly with shared blocks, and undo brings back exactly what was", async () => {
      const property = fc.asyncProperty(buildingOperations(8), operations(14), async (building, work) =>
        place.landAndUndo(building, work),
      );
      await fc.assert(property, runs(40, 8));
    });
  });
}

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
