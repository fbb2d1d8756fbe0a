import type { ChangeKind } from "../core/change.ts";
import type { PlainData, Resource } from "../core/resource/resource.ts";
import type { SandboxStrategy, StrategyContext } from "../core/strategy.ts";
import type { RequestGate } from "./process/request-gate.ts";

/** What the suite needs to know of a strategy to test it. */
export interface StrategyFactory {
  /** A new instance. The suite makes several with the same context, as several processes would. */
  create(context: StrategyContext): SandboxStrategy;

  /** A new, empty resource of a kind that the strategy can isolate. Called once per case. */
  makeResource(): MadeResource | Promise<MadeResource>;

  /**
   * Where the class is, so that another process can make an instance too, and be killed. Without it the cases
   * about crashes are left out.
   */
  readonly module?: StrategyModule;
}

/** What another process needs to make an instance of a strategy. */
export interface StrategyModule {
  /** The URL of the module. */
  readonly url: string;
  readonly className: string;
  readonly options?: { readonly [key: string]: PlainData };
  /** The environment of that process. Default: an empty one. */
  readonly environment?: { readonly [name: string]: string };
}

/** A resource that was made for one case. */
export type MadeResource = MadeFolder | MadeContent;

export interface MadeForACase {
  readonly resource: Resource;
  /**
   * Called when the original is filled, and after each time that the suite has changed it as somebody else
   * would.
   */
  settle?(): void | Promise<void>;
  /**
   * Where everything passes that the strategy sends to a server, so that the suite can have a request of a
   * killed process arrive late. The strategy gets there by the location of the resource, or by `environment`.
   * Closed by `dispose`. Without it the cases about late requests are left out.
   */
  readonly gate?: RequestGate;
  /**
   * What the environment of the strategy has in addition, in the process of the suite and in those that are
   * killed.
   */
  readonly environment?: { readonly [name: string]: string };
  /** Removes the resource. */
  dispose(): void | Promise<void>;
}

export interface MadeFolder extends MadeForACase {
  /**
   * The folder that the resource stands for: the suite fills it before the sandbox is made, and looks there
   * for what has landed.
   */
  readonly originalPath: string;
  /** Names in that folder that are not part of the resource, such as a repository's own. */
  readonly without?: readonly string[];
}

/** Something that is no folder, but holds content by path: a bucket, a store of documents. */
export interface MadeContent extends MadeForACase {
  readonly content: OriginalContent;
  /** What the strategy calls one of its entries in a change. Default: "file". */
  readonly kind?: ChangeKind;
}

/**
 * The original itself, without the strategy: how the suite fills it, changes it as somebody else would, and
 * looks for what has landed.
 */
export interface OriginalContent {
  /** The paths of all that is there. */
  list(): Promise<readonly string[]>;
  read(path: string): Promise<Uint8Array>;
  write(path: string, bytes: Uint8Array): Promise<void>;
}
