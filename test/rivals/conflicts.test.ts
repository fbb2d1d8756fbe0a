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
import type { StrategyContext } from "../../src/core/strategy.ts";
import { AtomicCommitError, type Drydock, openDrydock, SandboxConflictError } from "../../src/index.ts";
import type { OverlayWay } from "../../src/strategies/overlay/ways.ts";
import { systemProgram } from "../../src/system/programs.ts";
import { whyNoFuse } from "../support/file-systems.ts";
import { OneWayOverlay } from "../support/one-way-overlay.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";
import { CONFLICT_ROWS, type ConflictRow, PLANNED } from "./conflict-rows.ts";

const text = (path: string) => readFileSync(path, "utf8");

/** How the work gets into the sandbox. */
interface Way {
  readonly title: string;
  readonly strategy: string;
  readonly ways?: readonly OverlayWay[];
  /** The programs that did it have ended before anybody else acts. */
  readonly areEnded?: boolean;
  /** By Drydock itself, with nothing mounted. */
  readonly isWritten?: boolean;
  readonly skip?: string | false;
}

const needsFuse = whyNoFuse() ?? (systemProgram("fuse-overlayfs") === undefined ? "no fuse-overlayfs here" : false);
const needsRoot = process.geteuid?.() === 0 ? false : "not root, so nothing can be mounted";
const ONE_WAY = "overlay_in_one_way";
const WAYS: readonly Way[] = [
  { title: "a copy", strategy: "filesystem_copy" },
  { title: "an overlay with programs inside", strategy: "overlay", skip: needsRoot },
  { title: "an overlay whose programs have ended", strategy: "overlay", areEnded: true, skip: needsRoot },
  { title: "an overlay that is not mounted", strategy: "overlay", isWritten: true, skip: needsRoot },
  { title: "an overlay with marks of the user", strategy: ONE_WAY, ways: ["user-namespace"], skip: needsRoot },
  { title: "an overlay by fuse-overlayfs", strategy: ONE_WAY, ways: ["fuse"], skip: needsFuse },
];

for (const way of WAYS)
  describe(`The conflict table, for work in ${way.title}`, { skip: way.skip ?? false }, () => {
    for (const row of CONFLICT_ROWS.filter((candidate) => makesSense(candidate, way)))
      it(`[A15] ${row.title}: ${row.conflicts.length === 0 ? "lands" : "conflict"}`, async () => {
        await using dispute = await Dispute.begin(way);
        await dispute.work(row);
        row.rival(dispute.inOriginal);
        await (row.conflicts.length === 0 ? assertLands(dispute, row) : assertConflicts(dispute, row));
      });
  });

function makesSense({ writes, unknownToFuse }: ConflictRow, { isWritten, ways }: Way): boolean {
  if (isWritten === true) return writes !== undefined;
  return unknownToFuse === undefined || ways?.includes("fuse") !== true;
}

async function assertLands({ drydock, planId, inOriginal }: Dispute, { afterwards }: ConflictRow): Promise<void> {
  const { attention } = await drydock.plans.apply(planId);
  assert.deepEqual(attention, []);
  afterwards?.(inOriginal);
}

async function assertConflicts({ drydock, planId, inOriginal }: Dispute, { conflicts }: ConflictRow): Promise<void> {
  const before = snapshotTree(inOriginal("."));
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
  assertSameTree(snapshotTree(inOriginal(".")), before, "the original");
  assert.deepEqual(await drydock.plans.diff(planId), work);
  assert.equal((await drydock.plans.show(planId)).state, "open");
}

describe("Two who change the same folder", () => {
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
  readonly #way: Way;
  #sandbox = "";

  private constructor(drydock: Drydock, planId: string, base: string, way: Way) {
    this.drydock = drydock;
    this.planId = planId;
    this.#base = base;
    this.#way = way;
  }

  static async begin(way: Way = { title: "", strategy: "auto" }): Promise<Dispute> {
    const base = mkdtempSync(join(tmpdir(), "drydock-conflicts-"));
    const original = join(base, "original");
    for (const folder of ["folder", "twin"]) {
      mkdirSync(join(original, folder, "deep"), { recursive: true });
      writeFileSync(join(original, folder, "deep", "inner"), "inner\n");
    }
    for (const name of ["file", "spare"]) writeFileSync(join(original, name), `${name}\n`);
    symlinkSync("file", join(original, "link"));
    const strategies = [(context: StrategyContext) => new OneWayOverlay(context, way.ways)];
    const drydock = await openDrydock({ stateDir: join(base, "state"), cwd: base, environment: {}, strategies });
    const resources = [{ location: "original", strategy: way.strategy }];
    const { id } = await drydock.plans.create({ resources, withoutPaths: true });
    const dispute = new Dispute(drydock, id, base, way);
    if (way.isWritten !== true && way.areEnded !== true) dispute.#sandbox = await drydock.plans.path(id);
    return dispute;
  }

  /** Does what the plan does. */
  async work({ plan, writes = [] }: ConflictRow): Promise<void> {
    if (this.#way.isWritten === true)
      for (const path of writes) await this.drydock.plans.write(this.planId, "original", path, Buffer.from(PLANNED));
    else if (this.#way.areEnded === true) await this.#workInside(plan);
    else plan(this.inSandbox);
  }

  async #workInside(plan: ConflictRow["plan"]): Promise<void> {
    const { ref } = await this.drydock.sandboxes.getOrCreate(this.planId, "original");
    const { strategy } = this.drydock.registry.get(ref.strategyName);
    const view = await strategy.enter?.(ref);
    this.#sandbox = view?.kind === "place" ? view.path : assert.fail("it is not mounted");
    plan(this.inSandbox);
    await strategy.leave?.(ref);
  }

  readonly inSandbox = (path: string): string => join(this.#sandbox, path);
  readonly inOriginal = (path: string): string => join(this.#base, "original", path);

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drydock.close();
    removeFolder(this.#base);
  }
}
