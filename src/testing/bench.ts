import { join } from "node:path";
import { type Loss, withDefaults } from "../core/capabilities.ts";
import type { ChangeKind } from "../core/change.ts";
import type { Resource } from "../core/resource/resource.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import type { IntendedPlace, SandboxStrategy, StrategyContext } from "../core/strategy.ts";
import { OWN_NAME } from "../engine/workspace/workspace.ts";
import { ConformanceFailure, expectNone } from "./expectation.ts";
import { PLAN_ID } from "./plan-ids.ts";
import type { RequestGate } from "./process/request-gate.ts";
import { sharedTime } from "./process/shared-time.ts";
import { Victim } from "./process/victim.ts";
import { SandboxBench } from "./sandbox-bench.ts";
import type { ResourceFixture, StrategyFactory } from "./strategy-factory.ts";
import { suiteContext } from "./suite-context.ts";
import { type Original, originalOf } from "./tree/original.ts";
import { fillSampleTree, SAMPLE_CONTENT } from "./tree/sample-tree.ts";
import { compareSnapshots, snapshotTree, type TreeSnapshot } from "./tree/tree-snapshot.ts";
import { type Steps, WorkTree } from "./tree/work-tree.ts";

/** An intent that a strategy recorded. */
export interface RecordedIntent {
  readonly ref: SandboxRef;
  readonly places: readonly IntendedPlace[];
}

/**
 * The bench of a case: a strategy, a resource filled with a sample tree, and the oracle, a plain folder with
 * the same content. A case works in a sandbox and does the same to the oracle; after landing the two must be
 * equal.
 */
export class Bench {
  readonly resource: Resource;
  /** The plain folder with which everything is compared. */
  readonly oraclePath: string;
  /** A folder outside of resource and sandbox. Nothing may get there. */
  readonly outsidePath: string;
  readonly strategy: SandboxStrategy;
  /** Another process that can call the strategy and be killed; undefined if its module is unknown. */
  readonly victim: Victim | undefined;
  /** The gate between the strategy and its server; undefined if the resource has none. */
  readonly gate: RequestGate | undefined;
  /** The times, by sharedTime(), at which the strategy passed a failpoint in this process. */
  readonly stepsAt: number[] = [];
  readonly intents: RecordedIntent[] = [];
  readonly #factory: StrategyFactory;
  readonly #made: ResourceFixture;
  readonly #original: Original;
  readonly #context: StrategyContext;
  #era = 1;
  #failsIntent = false;

  /** `folder` is an empty folder of the suite. */
  constructor(factory: StrategyFactory, made: ResourceFixture, folder: string) {
    this.resource = made.resource;
    this.oraclePath = join(folder, "oracle");
    this.outsidePath = join(folder, "outside");
    this.#factory = factory;
    this.#made = made;
    this.#original = originalOf(made, this.isLeftOut, (path, steps) => this.inFolders([path], steps));
    this.#context = suiteContext(
      join(folder, "state"),
      async (ref, places) => this.#recordIntent({ ref, places }),
      {
        failpoint: () => this.stepsAt.push(sharedTime()),
        ...(made.environment !== undefined && { environment: made.environment }),
      },
    );
    this.strategy = factory.create(this.#context);
    this.gate = made.gate;
    this.victim = victimFor(factory, made, this.#context.stateDir);
  }

  /** What the strategy declares to lose of work in a sandbox. Entries without work lose nothing. */
  get losses(): readonly Loss[] {
    return withDefaults(this.strategy.capabilities).loses;
  }

  /** Another instance of the strategy, which knows as little as another process. */
  fresh(): SandboxStrategy {
    return this.#factory.create(this.#context);
  }

  /**
   * Lets the next recording of an intent fail after it was recorded, which ends that create like a crash.
   */
  failNextIntent(): void {
    this.#failsIntent = true;
  }

  /** The folder of the original. */
  get originalPath(): string {
    const { folder } = this.#original;
    if (folder === undefined) throw new ConformanceFailure("the original is no folder");
    return folder;
  }

  get isFolder(): boolean {
    return this.#original.folder !== undefined;
  }

  /** The kind of the original's entries in a change. */
  get kind(): ChangeKind {
    return this.#original.kind;
  }

  /** Fills the original and the oracle with the same content. */
  async fill(): Promise<void> {
    if (this.isFolder) this.inFolders([this.originalPath, this.oraclePath], fillSampleTree);
    else
      for (const [path, content] of Object.entries(SAMPLE_CONTENT)) await this.#original.write(path, content);
    await this.#made.settle?.();
  }

  /** Makes a sandbox. */
  async sandbox(planId = PLAN_ID): Promise<SandboxBench> {
    return new SandboxBench(this, await this.strategy.create(planId, this.resource));
  }

  /** Ends every sandbox that was begun: a mount would outlive the suite. */
  async tidyUp(): Promise<void> {
    for (const { ref } of this.intents) await this.fresh().cleanup(ref);
  }

  /** Runs the same steps in several folders; all end equal. */
  inFolders(paths: readonly string[], steps: Steps): void {
    for (const path of paths) {
      using tree = new WorkTree(path, this.#era);
      steps(tree);
    }
    this.#era += 1;
  }

  /** Works in the original as another writer, without the strategy and not in the oracle. */
  async rival(steps: Steps): Promise<void> {
    this.inFolders([this.originalPath], steps);
    await this.#made.settle?.();
  }

  /** Writes one entry of the original as another writer, whatever the original is. */
  async otherWriterWrites(path: string, text: string): Promise<void> {
    await this.#original.write(path, text);
    await this.#made.settle?.();
  }

  /** Whether this name is not part of the resource. */
  isLeftOut = (name: string): boolean =>
    OWN_NAME.test(name) || ("without" in this.#made && this.#made.without?.includes(name) === true);

  /** A snapshot of the original without workspaces, which hold no data of users. */
  async original(): Promise<TreeSnapshot> {
    return await this.#original.snapshot();
  }

  /**
   * Fails unless the original equals the oracle in every attribute that the strategy does not declare to
   * lose.
   */
  async expectOriginalIsOracle(what: string): Promise<void> {
    expectNone(compareSnapshots(await this.original(), snapshotTree(this.oraclePath), this.losses), what);
  }

  /** Fails unless the original equals this snapshot in every attribute. */
  async expectOriginal(expected: TreeSnapshot, what: string): Promise<void> {
    expectNone(compareSnapshots(await this.original(), expected), what);
  }

  #recordIntent(intent: RecordedIntent): void {
    this.intents.push(intent);
    if (!this.#failsIntent) return;
    this.#failsIntent = false;
    throw new Error("the suite stops this create here");
  }
}

function victimFor(
  { module }: StrategyFactory,
  { environment }: ResourceFixture,
  stateDir: string,
): Victim | undefined {
  if (module === undefined) return undefined;
  return new Victim({ ...module, environment: { ...module.environment, ...environment } }, stateDir);
}
