import type { ChangeKind } from "../core/change.ts";
import type { PlainData, Resource } from "../core/resource/resource.ts";
import type { SandboxStrategy, StrategyContext } from "../core/strategy.ts";
import type { RequestGate } from "./process/request-gate.ts";

/** What the suite needs to test a strategy. */
export interface StrategyFactory {
  /** A new instance. The suite makes several with the same context, as several processes would. */
  create(context: StrategyContext): SandboxStrategy;

  /** A new, empty resource of a kind that the strategy can isolate. Called once for each case. */
  makeResource(): ResourceFixture | Promise<ResourceFixture>;

  /**
   * The module of the class, so that another process can make an instance and be killed. Without it the suite
   * excludes the cases about crashes.
   */
  readonly module?: StrategyModule;
}

/** What another process needs to make an instance of a strategy. */
export interface StrategyModule {
  /** The URL of the module; of a program `exec:` and its path. */
  readonly url: string;
  /** Empty for a program. */
  readonly className: string;
  readonly options?: { readonly [key: string]: PlainData };
  /** The environment of that process. Default: an empty one. */
  readonly environment?: { readonly [name: string]: string };
}

/** A resource made for one case. */
export type ResourceFixture = FolderFixture | ContentFixture;

export interface FixtureParts {
  readonly resource: Resource;
  /** Called after the suite has filled the original, and each time it has changed it as another writer. */
  settle?(): void | Promise<void>;
  /**
   * The gate that all requests of the strategy to its server pass, so that the suite can let a request of a
   * killed process arrive late. The strategy finds it by the location of the resource, or by `environment`.
   * Closed by `dispose`. Without it the suite excludes the cases about late requests.
   */
  readonly gate?: RequestGate;
  /**
   * Variables that are added to the environment of the strategy, in the process of the suite and in its
   * victims.
   */
  readonly environment?: { readonly [name: string]: string };
  /** Removes the resource. */
  dispose(): void | Promise<void>;
}

export interface FolderFixture extends FixtureParts {
  /**
   * The folder of the resource: the suite fills it before it makes the sandbox, and finds there what has
   * landed.
   */
  readonly originalPath: string;
  /** Names in that folder that are not part of the resource, such as a repository's `.git`. */
  readonly without?: readonly string[];
}

/** A resource that is not a folder but holds content by path: a bucket, a store of documents. */
export interface ContentFixture extends FixtureParts {
  readonly content: OriginalContent;
  /** The kind of its entries in a change. Default: "file". */
  readonly kind?: ChangeKind;
}

/**
 * The original without the strategy: the suite fills it, changes it as another writer, and reads what has
 * landed.
 */
export interface OriginalContent {
  /** The paths of all entries. */
  list(): Promise<readonly string[]>;
  read(path: string): Promise<Uint8Array>;
  write(path: string, bytes: Uint8Array): Promise<void>;
}
