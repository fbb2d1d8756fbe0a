import { type FullCapabilities, withDefaults } from "../core/capabilities.ts";
import type { StrategyUnavailableError } from "../core/errors/errors.ts";
import type { MadeWith, SandboxRef } from "../core/sandbox.ts";
import type { SandboxStrategy, StrategyContext } from "../core/strategy.ts";
import { BUILT_IN_STRATEGY_NAMES } from "../core/strategy-names.ts";
import type { CustomCalls } from "./custom/custom-calls.ts";
import { assertStrategy } from "./custom/strategy-check.ts";

/** An instance of a strategy. */
export interface LoadedStrategy {
  readonly strategy: SandboxStrategy;
  /** How to call it; absent for a built-in strategy. */
  readonly custom?: CustomCalls;
}

/** A checked instance, with its name, version and capabilities. */
export interface RegisteredStrategy extends LoadedStrategy {
  readonly name: string;
  readonly capabilities: FullCapabilities;
  readonly builtIn: boolean;
  /** The mark of its sandboxes. */
  readonly madeWith: MadeWith;
}

/** What another process needs to make an instance. */
interface StrategyModule {
  /** The URL of the module; of a program `exec:` and its path. */
  readonly url: string;
  /** Empty for a program. */
  readonly className: string;
  readonly options?: NonNullable<MadeWith["options"]>;
}

/** Makes instances outside of a registry, as the conformance suite does. */
export interface StrategyMaker {
  /** Fails by `StrategyUnavailableError`. */
  make(context: StrategyContext): SandboxStrategy;
  /** The module of the class, for a strategy of the user's own. */
  readonly module?: StrategyModule;
}

/** A strategy that is loaded when it is needed. */
export interface DeclaredStrategy {
  readonly name: string;
  /**
   * The types of resource with an implementation of their own; one more implementation serves all others.
   * Default: none.
   */
  readonly types?: readonly string[];
  /** The types of resource that it can isolate, if that is known before it is loaded. */
  readonly only?: readonly string[];
  /** The strength of the implementation for all other types, if that is known before it is loaded. */
  readonly strength?: number;
  /** The one of `types` that a sandbox was made for, if any. */
  typeOf?(ref: SandboxRef): string | undefined;
  /** The options of new sandboxes. */
  readonly options?: MadeWith["options"];
  /**
   * Makes an instance with these options, for one of `types` or for all others. Fails by
   * `StrategyUnavailableError`.
   */
  load(options: MadeWith["options"], type: string | undefined): Promise<LoadedStrategy>;
  /** Loads the maker of instances with the declared options. Fails by `StrategyUnavailableError`. */
  maker?(type: string | undefined): Promise<StrategyMaker>;
}

/** A declared strategy that can't be used, with the reason. */
export interface UnusableStrategy {
  readonly name: string;
  readonly error: StrategyUnavailableError;
}

/** Checks an instance and copies what it declares, once, so that a later change has no effect. */
export function registered(
  name: string | undefined,
  { strategy, custom }: LoadedStrategy,
  options?: MadeWith["options"],
): RegisteredStrategy {
  assertStrategy(strategy, name);
  const { version } = strategy;
  const known = name ?? strategy.name;
  return {
    name: known,
    strategy,
    capabilities: Object.freeze(withDefaults({ ...strategy.capabilities })),
    builtIn: isBuiltIn(known),
    madeWith: { ...(version !== undefined && { version }), ...(options !== undefined && { options }) },
    ...(custom !== undefined && { custom }),
  };
}

export function isBuiltIn(name: string): boolean {
  return BUILT_IN_STRATEGY_NAMES.some((known) => known === name);
}
