import type { Resource } from "../core/resource.ts";
import type { SandboxStrategy, StrategyContext } from "../core/strategy.ts";

/** What the suite needs to know of a strategy to test it. */
export interface StrategyFactory {
  /** A new instance. The suite makes several with the same context, as several processes would. */
  create(context: StrategyContext): SandboxStrategy;

  /** A new, empty resource of a kind that the strategy can isolate. Called once per case. */
  makeResource(): MadeResource | Promise<MadeResource>;
}

export interface MadeResource {
  readonly resource: Resource;
  /** The folder that the resource stands for: the suite fills it before the sandbox is made, and looks there for what has landed. */
  readonly originalPath: string;
  /** Names in that folder that are not part of the resource, such as a repository's own. */
  readonly without?: readonly string[];
  /** Called when the folder is filled, and after each time that the suite has changed it as somebody else would. */
  settle?(): void;
  /** Removes the resource. */
  dispose(): void | Promise<void>;
}
