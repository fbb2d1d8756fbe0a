import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StrategyContext } from "../../src/core/strategy.ts";
import { AtomicCommitError, SandboxConflictError } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { OneWayOverlay } from "../support/one-way-overlay.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";
import { CONFLICT_ROWS, type ConflictRow, PLANNED } from "./conflict-rows.ts";

/** How the work gets into the sandbox. */
export interface Way {
  readonly title: string;
  readonly strategy: string;
  readonly ways?: readonly OverlayWay[];
  /** The programs that did it have ended before anybody else acts. */
  readonly areEnded?: boolean;
  /** By Drydock itself, with nothing mounted. */
  readonly isWritten?: boolean;
  readonly skip?: string | false;
}

/** The strategy of a way that has `ways`. */
export const ONE_WAY = "overlay_in_one_way";

export const IN_A_USER_NAMESPACE: Way = {
  title: "an overlay with marks of the user",
  strategy: ONE_WAY,
  ways: ["user-namespace"],
};

/** The rows of the table that can be told in this way. */
export function rowsFor(way: Way): ConflictRow[] {
  return CONFLICT_ROWS.filter((row) => makesSense(row, way));
}

function makesSense({ writes, unknownTo = {} }: ConflictRow, { isWritten, ways = [] }: Way): boolean {
  if (isWritten === true) return writes !== undefined;
  return ways.every((way) => unknownTo[way] === undefined);
}

/** The plan does its work, the other acts, and the verdict is that of the table. */
export async function judge(row: ConflictRow, way: Way): Promise<void> {
  await using dispute = await Dispute.begin(way);
  await dispute.work(row);
  row.rival(dispute.inOriginal);
  await (row.conflicts.length === 0 ? assertLands(dispute, row) : assertConflicts(dispute, row));
}

async function assertLands(
  { drydock, planId, inOriginal }: Dispute,
  { afterwards }: ConflictRow,
): Promise<void> {
  const { attention } = await drydock.plans.apply(planId);
  assert.deepEqual(attention, []);
  afterwards?.(inOriginal);
}

async function assertConflicts(
  { drydock, planId, inOriginal }: Dispute,
  { conflicts }: ConflictRow,
): Promise<void> {
  const before = snapshotTree(inOriginal("."));
  const work = await drydock.plans.diff(planId);
  await assert.rejects(drydock.plans.apply(planId), (error: unknown) => {
    assert.ok(
      error instanceof AtomicCommitError && error.cause instanceof SandboxConflictError,
      String(error),
    );
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

/** An original and a plan over it. */
export class Dispute {
  readonly drydock: Services;
  readonly planId: string;
  readonly #base: string;
  readonly #way: Way;
  #sandbox = "";

  private constructor(drydock: Services, planId: string, base: string, way: Way) {
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
    const drydock = await openServices({
      stateDir: join(base, "state"),
      cwd: base,
      environment: {},
      strategies,
    });
    const resources = [{ location: "original", strategy: way.strategy }];
    const { id } = await drydock.plans.create({ resources, withoutPaths: true });
    const dispute = new Dispute(drydock, id, base, way);
    if (way.isWritten !== true && way.areEnded !== true) dispute.#sandbox = await drydock.plans.path(id);
    return dispute;
  }

  /** Does what the plan does. */
  async work({ plan, writes = [] }: ConflictRow): Promise<void> {
    if (this.#way.isWritten === true)
      for (const path of writes)
        await this.drydock.plans.write(this.planId, "original", path, Buffer.from(PLANNED));
    else if (this.#way.areEnded === true) await this.#workInside(plan);
    else plan(this.inSandbox);
  }

  async #workInside(plan: ConflictRow["plan"]): Promise<void> {
    const { ref } = await this.drydock.sandboxes.getOrCreate(this.planId, "original");
    const { strategy } = await this.drydock.registry.resolve(ref.strategyName);
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
