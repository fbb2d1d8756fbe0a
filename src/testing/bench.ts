import { join } from "node:path";
import { type Loss, withDefaults } from "../core/capabilities.ts";
import type { Resource } from "../core/resource.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import type { IntendedPlace, SandboxStrategy, StrategyContext } from "../core/strategy.ts";
import { OWN_NAME } from "../files/workspace.ts";
import { expectNone } from "./expectation.ts";
import { PLAN_ID } from "./plan-ids.ts";
import { SandboxBench } from "./sandbox-bench.ts";
import type { MadeResource, StrategyFactory } from "./strategy-factory.ts";
import { compareSnapshots, snapshotTree, type TreeSnapshot } from "./tree-snapshot.ts";
import { type Steps, WorkTree } from "./work-tree.ts";

/** An intent that a strategy recorded. */
export interface RecordedIntent {
  readonly ref: SandboxRef;
  readonly places: readonly IntendedPlace[];
}

/**
 * What a case works with: a strategy, a resource that is filled with a sample tree, and the oracle, a plain folder with the same content.
 * What is done in a sandbox is done to the oracle too, and once it has landed the two must be equal.
 */
export class Bench {
  readonly resource: Resource;
  readonly originalPath: string;
  /** The plain folder that everything is compared with. */
  readonly oraclePath: string;
  /** A folder outside of resource and sandbox, for looking whether anything gets there. */
  readonly outsidePath: string;
  readonly strategy: SandboxStrategy;
  readonly intents: RecordedIntent[] = [];
  readonly #factory: StrategyFactory;
  readonly #made: MadeResource;
  readonly #context: StrategyContext;
  #era = 1;
  #failsIntent = false;

  /** `folder` is an empty folder of the suite's own. */
  constructor(factory: StrategyFactory, made: MadeResource, folder: string) {
    this.resource = made.resource;
    this.originalPath = made.originalPath;
    this.oraclePath = join(folder, "oracle");
    this.outsidePath = join(folder, "outside");
    this.#factory = factory;
    this.#made = made;
    this.#context = this.#makeContext(join(folder, "state"));
    this.strategy = factory.create(this.#context);
  }

  /** What the strategy declares to lose, and work in a sandbox therefore need not keep. What is not worked on loses nothing. */
  get losses(): readonly Loss[] {
    return withDefaults(this.strategy.capabilities).loses;
  }

  /** Another instance of the strategy, which knows no more than another process would. */
  fresh(): SandboxStrategy {
    return this.#factory.create(this.#context);
  }

  /** Makes the next recording of an intent fail after it was recorded, which ends that create as a crash would. */
  failNextIntent(): void {
    this.#failsIntent = true;
  }

  /** Fills the original and the oracle. */
  fill(steps: Steps): void {
    this.inFolders([this.originalPath, this.oraclePath], steps);
    this.#made.settle?.();
  }

  /** Makes a sandbox. */
  async sandbox(planId = PLAN_ID): Promise<SandboxBench> {
    return new SandboxBench(this, await this.strategy.create(planId, this.resource));
  }

  /** Ends every sandbox that was begun: a mount in one would outlive the suite. */
  async tidyUp(): Promise<void> {
    for (const { ref } of this.intents) await this.fresh().cleanup(ref);
  }

  /** Does the same in several folders; all end equal. */
  inFolders(paths: readonly string[], steps: Steps): void {
    for (const path of paths) {
      using tree = new WorkTree(path, this.#era);
      steps(tree);
    }
    this.#era += 1;
  }

  /** Does this in the original, behind the strategy's back, and not to the oracle. */
  rival(steps: Steps): void {
    this.inFolders([this.originalPath], steps);
    this.#made.settle?.();
  }

  /** Whether this is the name of something that is not part of the resource. */
  isLeftOut = (name: string): boolean => OWN_NAME.test(name) || this.#made.without?.includes(name) === true;

  /** The original, without a workspace in it, which is nobody's data. */
  original(): TreeSnapshot {
    return snapshotTree(this.originalPath, this.isLeftOut);
  }

  /** Fails unless the original is equal to the oracle in every attribute that the strategy does not declare to lose. */
  expectOriginalIsOracle(what: string): void {
    expectNone(compareSnapshots(this.original(), snapshotTree(this.oraclePath), this.losses), what);
  }

  /** Fails unless the original is equal to this in every attribute. */
  expectOriginal(expected: TreeSnapshot, what: string): void {
    expectNone(compareSnapshots(this.original(), expected), what);
  }

  #recordIntent(intent: RecordedIntent): void {
    this.intents.push(intent);
    if (!this.#failsIntent) return;
    this.#failsIntent = false;
    throw new Error("the suite stops this create here");
  }

  #makeContext(stateDir: string): StrategyContext {
    return {
      stateDir,
      policy: { allowSetid: false, allowDevices: false },
      recordIntent: async (ref, places) => this.#recordIntent({ ref, places }),
      failpoint: ignore,
      now: () => new Date(),
      progress: ignore,
      signal: new AbortController().signal,
    };
  }
}

/** Tests of crashes and of progress are not part of the suite. */
function ignore(): undefined {
  return undefined;
}
