import { StrategyUnavailableError, UsageError } from "../core/errors/errors.ts";
import { isOfType } from "../core/resource/resource.ts";
import type { SandboxStrategy } from "../core/strategy.ts";
import { nearestName } from "../core/values/nearest-name.ts";
import type { CustomCalls } from "./custom/custom-calls.ts";
import { type GuardedStrategy, guarded } from "./custom/guarded-strategy.ts";
import type { Subject } from "./custom/method-table.ts";
import {
  type DeclaredStrategy,
  isBuiltIn,
  type RegisteredStrategy,
  registered,
  type StrategyMaker,
  type UnusableStrategy,
} from "./registered-strategy.ts";

/**
 * The one place where names become strategies, built-in or not. A name that is not here is unknown
 * everywhere. A strategy that is declared, by us or by a config, is loaded when it is asked for, and not
 * before.
 */
export class SandboxStrategyRegistry {
  readonly #strategies = new Map<string, RegisteredStrategy>();
  readonly #declared = new Map<string, DeclaredStrategy>();
  /** By name, type and options: sandboxes keep the options that they were made with. */
  readonly #loaded = new Map<string, Promise<RegisteredStrategy>>();
  /** Made once for each name: a guard has twenty methods. */
  readonly #guards = new Map<string, GuardedStrategy>();

  /** Registers a strategy under its own name, after checking that it is one. */
  register(strategy: SandboxStrategy, custom?: CustomCalls): void {
    const checked = registered(undefined, { strategy, ...(custom !== undefined && { custom }) });
    this.#assertFree(checked.name);
    this.#strategies.set(checked.name, checked);
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

  /** The strategy of this name, as it is called: each call loads it if need be. */
  guarded(name: string): GuardedStrategy {
    const guard = this.#guards.get(name) ?? guarded((subject) => this.resolve(name, subject));
    this.#guards.set(name, guard);
    return guard;
  }

  /** The strategy of this name, as it is for a sandbox or a resource. Loads it if need be. */
  async resolve(name: string, subject: Subject = {}): Promise<RegisteredStrategy> {
    const there = this.#strategies.get(name);
    if (there !== undefined) return there;
    const declaration = this.#declaration(name);
    const options = subject.ref === undefined ? declaration.options : subject.ref.madeWith?.options;
    return await this.#load(declaration, options, typeFor(declaration, subject));
  }

  /** What the strategy of this name is made of: one for most, one for each type that has its own. */
  async implementations(name: string): Promise<readonly RegisteredStrategy[]> {
    const there = this.#strategies.get(name);
    if (there !== undefined) return [there];
    const declaration = this.#declaration(name);
    const types = [undefined, ...(declaration.types ?? [])];
    return await Promise.all(types.map((type) => this.#load(declaration, declaration.options, type)));
  }

  /** What makes instances of the strategy of this name, for such a resource. */
  async maker(name: string, subject: Subject = {}): Promise<StrategyMaker> {
    const declaration = this.#declaration(name);
    const maker = await declaration.maker?.(typeFor(declaration, subject));
    if (maker !== undefined) return maker;
    throw this.#unknown(name);
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
        loaded.push(...asOne(await this.implementations(name)));
      } catch (error) {
        if (!(error instanceof StrategyUnavailableError)) throw error;
        unusable.push({ name, error });
      }
    }
    return { strategies: sorted([...this.#strategies.values(), ...loaded]), unusable };
  }

  async #load(
    declaration: DeclaredStrategy,
    options: DeclaredStrategy["options"],
    type: string | undefined,
  ): Promise<RegisteredStrategy> {
    const { name } = declaration;
    const key = JSON.stringify([name, type ?? null, options ?? null]);
    const begin = async () => registered(name, await declaration.load(options, type), options);
    const loading = this.#loaded.get(key) ?? begin();
    this.#loaded.set(key, loading);
    try {
      return await loading;
    } catch (thrown) {
      // What is mended meanwhile is found.
      this.#loaded.delete(key);
      throw thrown;
    }
  }

  #declaration(name: string): DeclaredStrategy {
    const declaration = this.#declared.get(name);
    if (declaration === undefined) throw this.#unknown(name);
    return declaration;
  }

  #assertFree(name: string): void {
    if (!this.has(name)) return;
    throw new StrategyUnavailableError(
      isBuiltIn(name)
        ? `${name} is the name of a strategy of Drydock's own.`
        : `There is already a strategy called ${name}.`,
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

/**
 * Whether a strategy can't be called at all, whatever it would do: its name is unknown, or it can't be
 * loaded.
 */
export function isUnavailable(thrown: unknown): boolean {
  return (
    thrown instanceof StrategyUnavailableError ||
    (thrown instanceof UsageError && thrown.code === "UNKNOWN_STRATEGY")
  );
}

/** Which of the types with an implementation of their own it is about, if any. */
function typeFor({ types = [], typeOf }: DeclaredStrategy, { ref, resource }: Subject): string | undefined {
  if (ref !== undefined) return typeOf?.(ref);
  return resource && types.find((type) => isOfType(resource, type));
}

/** All implementations of a strategy as one, for every type of resource that any of them can isolate. */
function asOne([first, ...more]: readonly RegisteredStrategy[]): readonly RegisteredStrategy[] {
  if (first === undefined) return [];
  const lists = [first, ...more].map(({ capabilities }) => capabilities.resourceTypes);
  const resourceTypes = lists.includes("all") ? "all" : lists.flat();
  return [{ ...first, capabilities: { ...first.capabilities, resourceTypes } }];
}

function sorted(strategies: readonly RegisteredStrategy[]): readonly RegisteredStrategy[] {
  return strategies.toSorted(
    (a, b) => b.capabilities.strength - a.capabilities.strength || (a.name < b.name ? -1 : 1),
  );
}
