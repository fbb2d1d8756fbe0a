import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import type { Loss } from "../../src/core/capabilities.ts";
import type { SandboxStrategy, StrategyContext } from "../../src/core/strategy.ts";
import { type Drydock, openDrydock } from "../../src/index.ts";
import { snapshotTree, type TreeSnapshot } from "../../src/testing/tree-snapshot.ts";
import { assertSame, FolderPair, performAndSee } from "./folder-pair.ts";
import { assertInTime } from "./property-runs.ts";
import { buildingOperations, type Operation, type OperationName, operations } from "./tree-operations.ts";

/** What is tried. */
export interface Subject {
  /** A strategy that is registered, or how to make one that is not. */
  readonly strategy: string | ((context: StrategyContext) => SandboxStrategy);
  /** What it declares to lose. */
  readonly losses?: readonly Loss[];
  /** Operations that it is not tried with, when a tree is made and when work is done in it. */
  readonly without?: { readonly building: readonly OperationName[]; readonly work: readonly OperationName[] };
  /** What has to land is what programs saw at the end of their work, which is not what they would have seen in a plain folder. */
  readonly seesOtherwise?: boolean;
  /** Makes an empty original. Default: a folder. */
  readonly makeOriginal?: (path: string) => void;
}

const OWN_STRATEGY = "overlay_in_one_way";

/** Everything that one test works with: folders below `parent`, and Drydock with its state beside them. */
export class Workplace {
  readonly parent: string;
  readonly drydock: Drydock;
  readonly #subject: Subject;
  readonly #losses: readonly Loss[];

  static async open(parent: string, subject: Subject): Promise<Workplace> {
    const { strategy } = subject;
    const strategies = typeof strategy === "string" ? {} : { strategies: [strategy] };
    return new Workplace(
      parent,
      await openDrydock({ stateDir: join(parent, "state"), environment: {}, ...strategies }),
      subject,
    );
  }

  private constructor(parent: string, drydock: Drydock, subject: Subject) {
    this.parent = parent;
    this.drydock = drydock;
    this.#subject = subject;
    this.#losses = subject.losses ?? [];
  }

  /** Random work in random trees lands exactly as in a plain folder, and undo brings back exactly what was. */
  async landsAndUndoes(count: number, seconds: number): Promise<void> {
    await this.#try(8, 14, { count, seconds }, async (folders, work) => {
      const start = folders.snapshot();
      const plan = await this.#planOver(folders.original);
      assertSame(await this.#pathOf(plan), start, "a new sandbox is as the original", this.#losses);
      const worked = await this.#work(plan, folders, work);
      const { attention } = await this.drydock.plans.apply(plan);
      assert.deepEqual(attention, []);
      folders.assertOriginal(worked, "the original is as it has to be", this.#losses);
      await this.drydock.plans.undo(plan);
      folders.assertOriginal(start, "after undo the original is as before");
    });
  }

  /** A dry run changes neither the original nor the sandbox, and what lands after it is the same. */
  async survivesDryRuns(count: number, seconds: number): Promise<void> {
    await this.#try(6, 10, { count, seconds }, async (folders, work) => {
      const start = folders.snapshot();
      const plan = await this.#planOver(folders.original);
      const worked = await this.#work(plan, folders, work);
      await this.drydock.plans.apply(plan, { dryRun: true });
      folders.assertOriginal(start, "the original after a dry run");
      assertSame(await this.#pathOf(plan), worked, "the sandbox after a dry run", this.#losses);
      await this.drydock.plans.apply(plan);
      folders.assertOriginal(worked, "the original is as it has to be", this.#losses);
    });
  }

  /** The diff names what differs, and nothing else. */
  async showsWhatDiffers(count: number, seconds: number): Promise<void> {
    await this.#try(6, 8, { count, seconds }, async (folders, work) => {
      const plan = await this.#planOver(folders.original);
      await this.#work(plan, folders, work);
      const [was, is] = [folders.snapshot(), snapshotTree(await this.#pathOf(plan))];
      const { changes } = await this.drydock.plans.diff(plan);
      const named = new Set(changes.map(({ path }) => path));
      for (const path of new Set([...was.keys(), ...is.keys()])) {
        if (differs(was, is, path)) assert.ok(named.has(path), `${path} differs and is not in the diff`);
      }
      for (const { path, operation } of changes) {
        assert.equal(operation, operationFor(was.get(path)?.["kind"], is.get(path)?.["kind"]), path);
      }
      await this.drydock.plans.cancel(plan);
    });
  }

  /** Random trees, and random work for them. */
  async #try(
    builds: number,
    works: number,
    { count, seconds }: { readonly count: number; readonly seconds: number },
    action: (folders: FolderPair, work: readonly Operation[]) => Promise<void>,
  ): Promise<void> {
    const { building, work } = this.#subject.without ?? { building: [], work: [] };
    const property = fc.asyncProperty(
      buildingOperations(builds, building),
      operations(works, work),
      async (built, done) => {
        using folders = new FolderPair(this.parent, this.#losses, this.#subject.makeOriginal);
        folders.perform([folders.original, folders.plain], built);
        await action(folders, done);
      },
    );
    await assertInTime(property, count, seconds);
  }

  /** Does the work in the sandbox and in the plain folder; returns what has to land. */
  async #work(plan: string, folders: FolderPair, work: readonly Operation[]): Promise<TreeSnapshot> {
    const path = await this.#pathOf(plan);
    try {
      return performAndSee(folders, path, work, this.#subject.seesOtherwise === true);
    } catch (thrown) {
      if (thrown instanceof fc.PreconditionFailure) await this.drydock.plans.cancel(plan);
      throw thrown;
    }
  }

  async #planOver(location: string): Promise<string> {
    const strategy = typeof this.#subject.strategy === "string" ? this.#subject.strategy : OWN_STRATEGY;
    return (await this.drydock.plans.create({ resources: [{ location, strategy }] })).id;
  }

  async #pathOf(plan: string): Promise<string> {
    return await this.drydock.plans.path(plan);
  }
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
