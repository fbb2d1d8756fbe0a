import { nearestName } from "../config/nearest-name.ts";
import { type FullCapabilities, withDefaults } from "../core/capabilities.ts";
import { StrategyUnavailableError, UsageError } from "../core/errors.ts";
import type { MadeWith } from "../core/sandbox.ts";
import type { SandboxStrategy } from "../core/strategy.ts";
import { BUILT_IN_STRATEGY_NAMES } from "../core/strategy-names.ts";
import type { CustomCalls } from "./custom-calls.ts";
import { assertStrategy } from "./strategy-check.ts";

export interface RegisteredStrategy {
  readonly name: string;
  readonly strategy: SandboxStrategy;
  readonly capabilities: FullCapabilities;
  readonly builtIn: boolean;
  /** What its sandboxes are marked with. */
  readonly madeWith: MadeWith;
  /** The limits of the calls of a custom strategy. */
  readonly custom?: CustomCalls;
}

/** A strategy that is there once it is needed. */
export interface DeclaredStrategy {
  readonly name: string;
  /** What new sandboxes are made with. */
  readonly options?: MadeWith["options"];
  /** Makes an instance with these options. Fails by `StrategyUnavailableError`. */
  load(options: MadeWith["options"]): Promise<LoadedStrategy>;
}

export interface LoadedStrategy {
  readonly strategy: SandboxStrategy;
  /** Of a custom strategy. */
  readonly custom?: CustomCalls;
}

/** A declared strategy that can't be used, with the reason. */
export interface UnusableStrategy {
  readonly name: string;
  readonly error: StrategyUnavailableError;
}

/**
 * The one place where names become strategies, built-in or custom. A name that is not here is unknown
 * everywhere. A strategy that we or a config declare is loaded when it is first needed, and not before.
 */
export class SandboxStrategyRegistry {
  readonly #strategies = new Map<string, RegisteredStrategy>();
  readonly #declared = new Map<string, DeclaredStrategy>();
  /** By name and options: sandboxes keep the options that they were made with. */
  readonly #loaded = new Map<string, Promise<RegisteredStrategy>>();

  /** Registers a strategy under its own name, after checking that it is one. */
  register(strategy: SandboxStrategy, custom?: CustomCalls): void {
    assertStrategy(strategy, undefined);
    this.#assertFree(strategy.name);
    this.#strategies.set(strategy.name, registered(strategy.name, strategy, undefined, custom));
  }

  /** Makes a name known, without loading what it stands for. */
  declare(declaration: DeclaredStrategy): void {
    this.#assertFree(declaration.name);
    this.#declared.set(declaration.name, declaration);
  }

  /** Makes a name unknown. */
  remove(name: string): void {
    this.#strategies.delete(name);
    this.#declared.delete(name);
  }

  has(name: string): boolean {
    return this.#strategies.has(name) || this.#declared.has(name);
  }

  /** Whether it can be used without running code that a config names. */
  isAtHand(name: string): boolean {
    return this.#strategies.has(name) || (isBuiltIn(name) && this.#declared.has(name));
  }

  /**
   * The strategy of this name; with `made`, as it was for a sandbox that was made with that. Loads it if need
   * be.
   */
  async resolve(name: string, made?: MadeWith): Promise<RegisteredStrategy> {
    const there = this.#strategies.get(name);
    if (there !== undefined) return there;
    const declaration = this.#declared.get(name);
    if (declaration === undefined) throw this.#unknown(name);
    const options = made === undefined ? declaration.options : made.options;
    const key = JSON.stringify([name, options ?? null]);
    const loading = this.#loaded.get(key) ?? this.#load(declaration, options);
    this.#loaded.set(key, loading);
    try {
      return await loading;
    } catch (thrown) {
      // The next call tries again: the user may have mended the module.
      this.#loaded.delete(key);
      throw thrown;
    }
  }

  /** Every strategy, the strongest first, and those that a config declares and that can't be used. */
  async listAll(): Promise<{
    readonly strategies: readonly RegisteredStrategy[];
    readonly unusable: readonly UnusableStrategy[];
  }> {
    const loaded: RegisteredStrategy[] = [];
    const unusable: UnusableStrategy[] = [];
    for (const name of this.#declared.keys()) {
      try {
        loaded.push(await this.resolve(name));
      } catch (error) {
        if (!(error instanceof StrategyUnavailableError)) throw error;
        unusable.push({ name, error });
      }
    }
    return { strategies: sorted([...this.#strategies.values(), ...loaded]), unusable };
  }

  async #load(declaration: DeclaredStrategy, options: MadeWith["options"]): Promise<RegisteredStrategy> {
    const { name } = declaration;
    const { strategy, custom } = await declaration.load(options);
    assertStrategy(strategy, name);
    return registered(name, strategy, options, custom);
  }

  #assertFree(name: string): void {
    if (!this.has(name)) return;
    const isOurs = isBuiltIn(name);
    throw new StrategyUnavailableError(
      isOurs ? `${name} is the name of a strategy of Drydock's own.` : `There is already a strategy called ${name}.`,
      { strategy: name, hint: "Give yours another name.", code: "STRATEGY_NAME" },
    );
  }

  #unknown(name: string): UsageError {
    const known = [...this.#declared.keys(), ...this.#strategies.keys()];
    const nearest = nearestName(name, known);
    return new UsageError(`There is no strategy called '${name}'.`, {
      hint: `${nearest === undefined ? "" : `Did you mean ${nearest}? `}Known strategies: ${known.join(", ")}.`,
      code: "UNKNOWN_STRATEGY",
    });
  }
}

/** Whether a strategy can't be called at all: its name is unknown, or it can't be loaded. */
export function isUnavailable(thrown: unknown): boolean {
  return (
    thrown instanceof StrategyUnavailableError || (thrown instanceof UsageError && thrown.code === "UNKNOWN_STRATEGY")
  );
}

function registered(
  name: string,
  strategy: SandboxStrategy,
  options: MadeWith["options"],
  custom: CustomCalls | undefined,
): RegisteredStrategy {
  const { version } = strategy;
  return {
    name,
    strategy,
    // Taken once, so that they can't change while we work.
    capabilities: Object.freeze(withDefaults({ ...strategy.capabilities })),
    builtIn: isBuiltIn(name),
    madeWith: { ...(version !== undefined && { version }), ...(options !== undefined && { options }) },
    ...(custom !== undefined && { custom }),
  };
}

function isBuiltIn(name: string): boolean {
  return BUILT_IN_STRATEGY_NAMES.some((known) => known === name);
}

function sorted(strategies: readonly RegisteredStrategy[]): readonly RegisteredStrategy[] {
  return strategies.toSorted((a, b) => b.capabilities.strength - a.capabilities.strength || (a.name < b.name ? -1 : 1));
}
