import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import type { Loss } from "../../src/core/capabilities.ts";
import type { Change } from "../../src/core/change.ts";
import { UsageError } from "../../src/core/errors/errors.ts";
import { isAtOrBelow } from "../../src/core/paths/byte-path.ts";
import type { SandboxStrategy, StrategyContext } from "../../src/core/strategy.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import { compareSnapshots, type TreeSnapshot } from "../../src/testing/tree/tree-snapshot.ts";
import { assertSame, FolderPair, performAndSee, snapshotOf } from "./folder-pair.ts";
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
  /**
   * What has to land is what programs saw at the end of their work, which is not what they would have seen in
   * a plain folder.
   */
  readonly seesOtherwise?: boolean;
  /** Makes an empty original. Default: a folder. */
  readonly makeOriginal?: (path: string) => void;
  /** Called when an original is built, before a plan is made over it. */
  readonly settle?: (path: string) => void;
  /** Sees that all else is in order in an original, whenever something has landed in it or was taken back. */
  readonly check?: (path: string) => void;
}

/** Something to choose one of many by, and to decide by. */
type Die = readonly [choice: number, decision: boolean];

const OWN_STRATEGY = "overlay_in_one_way";

/** Everything that one test works with: folders below `parent`, and Drydock with its state beside them. */
export class PropertyPlace {
  readonly parent: string;
  readonly drydock: Services;
  readonly #subject: Subject;
  readonly #losses: readonly Loss[];

  static async open(parent: string, subject: Subject): Promise<PropertyPlace> {
    const { strategy } = subject;
    const strategies = typeof strategy === "string" ? {} : { strategies: [strategy] };
    return new PropertyPlace(
      parent,
      await openServices({ stateDir: join(parent, "state"), environment: {}, ...strategies }),
      subject,
    );
  }

  private constructor(parent: string, drydock: Services, subject: Subject) {
    this.parent = parent;
    this.drydock = drydock;
    this.#subject = subject;
    this.#losses = subject.losses ?? [];
  }

  /**
   * Random work in random trees lands exactly as in a plain folder, and undo brings back exactly what was.
   */
  async landsAndUndoes(count: number, seconds: number): Promise<void> {
    await this.#try(8, 14, { count, seconds }, async (folders, work) => {
      const start = folders.snapshot();
      const plan = await this.#planOver(folders.original);
      assertSame(await this.#pathOf(plan), start, "a new sandbox is as the original", this.#losses);
      const worked = await this.#work(plan, folders, work);
      const { attention } = await this.drydock.plans.apply(plan);
      assert.deepEqual(attention, []);
      folders.assertOriginal(worked, "the original is as it has to be", this.#losses);
      this.#subject.check?.(folders.original);
      await this.drydock.plans.undo(plan);
      folders.assertOriginal(start, "after undo the original is as before");
      this.#subject.check?.(folders.original);
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
      const [was, is] = [folders.snapshot(), snapshotOf(await this.#pathOf(plan))];
      const { changes } = await this.drydock.plans.diff(plan);
      const named = new Set(changes.map(({ path }) => path));
      for (const path of new Set([...was.keys(), ...is.keys()])) {
        if (this.#differs(was, is, path))
          assert.ok(named.has(path), `${path} differs and is not in the diff`);
      }
      for (const { path, operation } of changes) {
        assert.equal(operation, operationFor(this.#kindIn(was, path), this.#kindIn(is, path)), path);
      }
      await this.drydock.plans.cancel(plan);
    });
  }

  /**
   * A random part of random work lands by itself, then maybe another, then the rest: the originals end as if
   * all had landed at once, whatever is taken back in between; what the sandbox shows never changes.
   */
  async landsInParts(count: number, seconds: number): Promise<void> {
    await this.#try(8, 12, { count, seconds }, async (folders, work, dice) => {
      const start = folders.snapshot();
      const plan = await this.#planOver(folders.original);
      const worked = await this.#work(plan, folders, work);
      let landed = 0;
      for (const [chosen, isTakenBack] of dice) {
        const before = folders.snapshot();
        const { changes } = await this.drydock.plans.diff(plan);
        const only = await this.#landPart(plan, changes, chosen);
        if (only === undefined) continue;
        landed += 1;
        assertSame(await this.#pathOf(plan), worked, `the sandbox after ${only} landed`, this.#losses);
        const left = (await this.drydock.plans.diff(plan)).changes.map(({ path }) => path);
        // A new folder comes with the only thing in it.
        const isNewAbove = ({ path, operation }: Change) =>
          isAtOrBelow(only, path) && operation !== "modified";
        const rest = changes.filter((change) => !isAtOrBelow(change.path, only) && !isNewAbove(change));
        assert.deepEqual(
          left,
          rest.map(({ path }) => path),
          `what is left when ${only} has landed`,
        );
        if (!isTakenBack) continue;
        await this.drydock.plans.undo(plan);
        landed -= 1;
        folders.assertOriginal(before, `after undo of ${only} the original is as before`);
        assertSame(await this.#pathOf(plan), worked, `the sandbox after undo of ${only}`, this.#losses);
        const paths = (await this.drydock.plans.diff(plan)).changes.map(({ path }) => path);
        assert.deepEqual(
          paths,
          changes.map(({ path }) => path),
          `the diff after undo of ${only}`,
        );
      }
      const { attention } = await this.drydock.plans.apply(plan);
      assert.deepEqual(attention, []);
      folders.assertOriginal(worked, "the original is as it has to be", this.#losses);
      for (let times = 0; times <= landed; times += 1) await this.drydock.plans.undo(plan);
      folders.assertOriginal(start, "after all undos the original is as before");
    });
  }

  /** Lands the change that is chosen, with all that is in it; undefined if it can't land by itself. */
  async #landPart(plan: string, changes: readonly { readonly path: string }[], chosen: number) {
    const only = changes[chosen % Math.max(changes.length, 1)]?.path;
    // A name with these would mean others too.
    if (only === undefined || /[*?]/.test(only)) return undefined;
    try {
      const { attention, state } = await this.drydock.plans.apply(plan, { only: [only] });
      assert.deepEqual(attention, []);
      assert.equal(state, "open");
      return only;
    } catch (thrown) {
      const cause =
        thrown instanceof Error && thrown.cause instanceof UsageError ? thrown.cause.code : undefined;
      if (cause === "PART_OF_FOLDER" || cause === "PART_OF_FILE") return undefined;
      throw thrown;
    }
  }

  /** Random trees, and random work for them. */
  async #try(
    builds: number,
    works: number,
    { count, seconds }: { readonly count: number; readonly seconds: number },
    action: (folders: FolderPair, work: readonly Operation[], dice: readonly Die[]) => Promise<void>,
  ): Promise<void> {
    const { building, work } = this.#subject.without ?? { building: [], work: [] };
    const property = fc.asyncProperty(
      buildingOperations(builds, building),
      operations(works, work),
      fc.array(fc.tuple(fc.nat(), fc.boolean()), { minLength: 1, maxLength: 3 }),
      async (built, done, dice) => {
        using folders = new FolderPair(this.parent, this.#losses, this.#subject.makeOriginal);
        folders.perform([folders.original, folders.plain], built);
        this.#subject.settle?.(folders.original);
        await action(folders, done, dice);
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

  /** In anything but what is lost, and what is not a change by itself. */
  #differs(was: TreeSnapshot, is: TreeSnapshot, path: string): boolean {
    const only = (snapshot: TreeSnapshot) => new Map([...snapshot].filter(([other]) => other === path));
    return compareSnapshots(only(is), only(was), [...this.#losses, ...NO_CHANGES]).length > 0;
  }

  /** Who does not keep folders, or fifos, does not speak of them. */
  #kindIn(snapshot: TreeSnapshot, path: string): string | undefined {
    const kind = snapshot.get(path)?.["kind"];
    const lost = { directory: "folders", fifo: "other-kinds" } as const satisfies { [kind: string]: Loss };
    return (kind === "directory" || kind === "fifo") && this.#losses.includes(lost[kind]) ? undefined : kind;
  }
}

const NO_CHANGES = ["times", "holes", "linked-files"] as const satisfies readonly Loss[];

function operationFor(was: string | undefined, is: string | undefined): string {
  if (was === undefined) return "added";
  if (is === undefined) return "deleted";
  return was === is ? "modified" : "typechanged";
}
