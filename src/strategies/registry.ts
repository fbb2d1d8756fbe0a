import { StrategyUnavailableError, UsageError } from "../core/errors/errors.ts";
import { isOfType, type Resource } from "../core/resource/resource.ts";
import type { SandboxStrategy } from "../core/strategy.ts";
import { nearestName } from "../core/values/nearest-name.ts";
import type { CustomCalls } from "./custom/custom-calls.ts";
import { type AboutResource, type GuardedStrategy, guarded } from "./custom/guarded-strategy.ts";
import type { Subject } from "./custom/method-table.ts";
import {
  type DeclaredStrategy,
  isBuiltIn,
  type RegisteredStrategy,
  registered,
  type StrategyMaker,
  type UnusableStrategy,
} from "./registered-strategy.ts";

interface StrategyList {
  readonly strategies: readonly RegisteredStrategy[];
  readonly unusable: readonly UnusableStrategy[];
}

interface StrategyTurns {
  /** Each is loaded when it is asked for. */
  readonly strategies: AsyncIterable<RegisteredStrategy>;
  readonly unusable: readonly UnusableStrategy[];
}

interface Strength {
  readonly name: string;
  readonly strength: number;
}

/** The strategies of other hosts. */
export interface StrategiesElsewhere {
  /** The strategy for what is on another host; undefined for what is here. */
  find(name: string, subject: Subject): Promise<RegisteredStrategy | undefined>;
}

/**
 * The only place where names become strategies, built-in or not. A name that is not here is unknown
 * everywhere. A declared strategy, built-in or from a config, is loaded when it is first needed.
 */
export class SandboxStrategyRegistry {
  readonly #strategies = new Map<string, RegisteredStrategy>();
  readonly #declared = new Map<string, DeclaredStrategy>();
  /** By name, type and options: a sandbox keeps the options that it was made with. */
  readonly #loaded = new Map<string, Promise<RegisteredStrategy>>();
  /** One guard for each name, because a guard has twenty methods. */
  readonly #guards = new Map<string, GuardedStrategy>();

  readonly #about: AboutResource | undefined;
  readonly #elsewhere: StrategiesElsewhere | undefined;

  constructor(about?: AboutResource, elsewhere?: StrategiesElsewhere) {
    this.#about = about;
    this.#elsewhere = elsewhere;
  }

  /** Registers a strategy under its own name, after checking it. */
  register(strategy: SandboxStrategy, custom?: CustomCalls): void {
    const checked = registered(undefined, { strategy, ...(custom !== undefined && { custom }) });
    this.#assertFree(checked.name);
    this.#strategies.set(checked.name, checked);
  }

  /** Declares a name without loading its strategy. */
  declare(declaration: DeclaredStrategy): void {
    this.#assertFree(declaration.name);
    this.#declared.set(declaration.name, declaration);
  }

  /** Removes a name. */
  remove(name: string): void {
    this.#strategies.delete(name);
    this.#declared.delete(name);
  }

  has(name: string): boolean {
    return this.#strategies.has(name) || this.#declared.has(name);
  }

  /** Whether a strategy can be used without running code that a config names. */
  isAtHand(name: string): boolean {
    return this.#strategies.has(name) || (isBuiltIn(name) && this.#declared.has(name));
  }

  /** The guard of the strategy of this name. A call loads the strategy if need be. */
  guarded(name: string): GuardedStrategy {
    const guard = this.#guards.get(name) ?? guarded((subject) => this.resolve(name, subject), this.#about);
    this.#guards.set(name, guard);
    return guard;
  }

  /** The implementation of the strategy of this name for a sandbox or a resource. Loads it if need be. */
  async resolve(name: string, subject: Subject = {}): Promise<RegisteredStrategy> {
    const elsewhere = await this.#elsewhere?.find(name, subject);
    if (elsewhere !== undefined) return elsewhere;
    const there = this.#strategies.get(name);
    if (there !== undefined) return there;
    const declaration = this.#declaration(name);
    const options = subject.ref === undefined ? declaration.options : subject.ref.madeWith?.options;
    return await this.#load(declaration, options, typeFor(declaration, subject));
  }

  /**
   * All implementations of the strategy of this name: mostly one, and one more for each type that has its
   * own.
   */
  async implementations(name: string): Promise<readonly RegisteredStrategy[]> {
    const there = this.#strategies.get(name);
    if (there !== undefined) return [there];
    const declaration = this.#declaration(name);
    const types = [undefined, ...(declaration.types ?? [])];
    return await Promise.all(types.map((type) => this.#load(declaration, declaration.options, type)));
  }

  /** The maker of instances of the strategy of this name, for such a resource. */
  async maker(name: string, subject: Subject = {}): Promise<StrategyMaker> {
    const declaration = this.#declaration(name);
    const maker = await declaration.maker?.(typeFor(declaration, subject));
    if (maker !== undefined) return maker;
    throw this.#unknown(name);
  }

  /** All strategies, the strongest first, and the declared ones that can't be used. */
  async listAll(): Promise<StrategyList> {
    return await this.#list([...this.#declared.keys()], async (name) =>
      asOne(await this.implementations(name)),
    );
  }

  /**
   * The implementations for a resource whose type has this lineage, the strongest first. Those that are known
   * to be for other types are neither loaded nor listed, and those whose strength is known are loaded in
   * their turn.
   */
  async listFor(resource: Resource, lineage: readonly string[]): Promise<StrategyTurns> {
    const declared = [...this.#declared.values()].filter(
      ({ only }) => only === undefined || only.some((type) => lineage.includes(type)),
    );
    const load = async (name: string) => await this.resolve(name, { resource });
    const later = declared.filter((each) => each.strength !== undefined && !typeFor(each, { resource }));
    const now = declared.filter((each) => !later.includes(each)).map(({ name }) => name);
    const { strategies, unusable } = await this.#list(now, async (name) => [await load(name)]);
    const turns = [
      ...strategies.map((each) => ({ ...strengthOf(each), load: async () => each })),
      ...later.map(({ name, strength = 0 }) => ({ name, strength, load: () => load(name) })),
    ];
    return { strategies: inTurn(turns.sort(strongerFirst)), unusable };
  }

  async #list(
    names: readonly string[],
    load: (name: string) => Promise<readonly RegisteredStrategy[]>,
  ): Promise<StrategyList> {
    const loaded: RegisteredStrategy[] = [];
    const unusable: UnusableStrategy[] = [];
    for (const name of names) {
      try {
        loaded.push(...(await load(name)));
      } catch (error) {
        if (!(error instanceof StrategyUnavailableError)) throw error;
        unusable.push({ name, error });
      }
    }
    const strategies = [...this.#strategies.values(), ...loaded].sort((a, b) =>
      strongerFirst(strengthOf(a), strengthOf(b)),
    );
    return { strategies, unusable };
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
      // The next call tries again, because the user may have corrected the cause.
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
    const others = `${nearest === undefined ? "" : `Did you mean ${nearest}? `}Known strategies: ${known.join(", ")}.`;
    return new UsageError(`There is no strategy called '${name}'.`, {
      hint: name.includes("/")
        ? "One in a file has to be named in drydock.yaml too, whose trust covers its code."
        : others,
      code: "UNKNOWN_STRATEGY",
    });
  }
}

/** Whether a strategy can't be called at all: its name is unknown, or it can't be loaded. */
export function isUnavailable(thrown: unknown): boolean {
  return (
    thrown instanceof StrategyUnavailableError ||
    (thrown instanceof UsageError && thrown.code === "UNKNOWN_STRATEGY")
  );
}

/** The type with an implementation of its own that the subject has, if any. */
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

async function* inTurn(
  turns: readonly { readonly load: () => Promise<RegisteredStrategy> }[],
): AsyncGenerator<RegisteredStrategy> {
  for (const { load } of turns) yield await load();
}

function strengthOf({ name, capabilities: { strength } }: RegisteredStrategy): Strength {
  return { name, strength };
}

function strongerFirst(a: Strength, b: Strength): number {
  return b.strength - a.strength || (a.name < b.name ? -1 : 1);
}
