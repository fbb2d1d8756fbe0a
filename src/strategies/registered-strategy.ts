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
  /** How it is called, unless it is built in. */
  readonly custom?: CustomCalls;
}

/** An instance that was checked, with what it says of itself. */
export interface RegisteredStrategy extends LoadedStrategy {
  readonly name: string;
  readonly capabilities: FullCapabilities;
  readonly builtIn: boolean;
  /** What its sandboxes are marked with. */
  readonly madeWith: MadeWith;
}

/** What another process needs to make an instance too. */
interface StrategyModule {
  /** The URL of the module. */
  readonly url: string;
  readonly className: string;
  readonly options?: NonNullable<MadeWith["options"]>;
}

/** Makes instances outside of any registry, as the conformance suite does. */
export interface StrategyMaker {
  /** Fails by `StrategyUnavailableError`. */
  make(context: StrategyContext): SandboxStrategy;
  /** Where the class is, if it is the user's own. */
  readonly module?: StrategyModule;
}

/** A strategy that is there once it is needed. */
export interface DeclaredStrategy {
  readonly name: string;
  /**
   * The types of resource that have an implementation of their own; another one is for all others. Default:
   * none.
   */
  readonly types?: readonly string[];
  /** Which of `types` a sandbox was made for, if any. */
  typeOf?(ref: SandboxRef): string | undefined;
  /** What new sandboxes are made with. */
  readonly options?: MadeWith["options"];
  /**
   * Makes an instance with these options, for one of `types` or for all others. Fails by
   * `StrategyUnavailableError`.
   */
  load(options: MadeWith["options"], type: string | undefined): Promise<LoadedStrategy>;
  /** Loads what makes instances with the options that are declared. Fails by `StrategyUnavailableError`. */
  maker?(type: string | undefined): Promise<StrategyMaker>;
}

/** A declared strategy that can't be used, with the reason. */
export interface UnusableStrategy {
  readonly name: string;
  readonly error: StrategyUnavailableError;
}

/** Checks an instance and takes down what it says of itself, once: it is not to change under our hands. */
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
