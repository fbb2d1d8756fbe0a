import { type FullCapabilities, withDefaults } from "../core/capabilities.ts";
import { UsageError } from "../core/errors.ts";
import { type SandboxStrategy, STRATEGY_METHODS, TWO_PHASE_METHODS } from "../core/strategy.ts";
import { BUILT_IN_STRATEGY_NAMES } from "../core/strategy-names.ts";

export interface RegisteredStrategy {
  readonly name: string;
  readonly strategy: SandboxStrategy;
  readonly capabilities: FullCapabilities;
  readonly builtIn: boolean;
}

/** The one place where names become strategies, built-in or not. A name that is not here is unknown everywhere. */
export class SandboxStrategyRegistry {
  readonly #strategies = new Map<string, RegisteredStrategy>();

  /** Registers a strategy under its own name, after checking that it is one. */
  register(strategy: SandboxStrategy): void {
    assertStrategy(strategy);
    if (this.#strategies.has(strategy.name)) {
      throw new UsageError(`There is already a strategy called ${strategy.name}.`, {
        hint: "Give yours another name.",
      });
    }
    this.#strategies.set(strategy.name, {
      name: strategy.name,
      strategy,
      capabilities: withDefaults(strategy.capabilities),
      builtIn: BUILT_IN_STRATEGY_NAMES.some((name) => name === strategy.name),
    });
  }

  /** Makes a name unknown. */
  remove(name: string): void {
    this.#strategies.delete(name);
  }

  has(name: string): boolean {
    return this.#strategies.has(name);
  }

  get(name: string): RegisteredStrategy {
    const found = this.#strategies.get(name);
    if (found !== undefined) return found;
    throw new UsageError(`There is no strategy called '${name}'.`, {
      hint: `Known strategies: ${this.list()
        .map((known) => known.name)
        .join(", ")}.`,
      code: "UNKNOWN_STRATEGY",
    });
  }

  /** All strategies, the strongest first. */
  list(): readonly RegisteredStrategy[] {
    return [...this.#strategies.values()].sort(
      (a, b) => b.capabilities.strength - a.capabilities.strength || (a.name < b.name ? -1 : 1),
    );
  }
}

/** Names everything that is missing at once. */
function assertStrategy(strategy: SandboxStrategy): void {
  const candidate = strategy as unknown as { readonly [member: string]: unknown } | null | undefined;
  if (candidate === null || typeof candidate !== "object")
    throw new UsageError("A strategy has to be an object.", { hint: "Export a class and register an instance of it." });
  const problems: string[] = [];
  if (typeof candidate["name"] !== "string" || candidate["name"] === "") problems.push("name (a string)");
  const commit = (candidate["capabilities"] as { readonly commit?: unknown } | undefined)?.commit;
  if (commit !== "two-phase" && commit !== "one-phase" && commit !== "in-place")
    problems.push("capabilities.commit (two-phase, one-phase or in-place)");
  const methods = commit === "two-phase" ? [...STRATEGY_METHODS, ...TWO_PHASE_METHODS] : STRATEGY_METHODS;
  for (const method of methods) if (typeof candidate[method] !== "function") problems.push(`${method}()`);
  if (problems.length === 0) return;
  throw new UsageError(`The strategy ${String(candidate["name"])} lacks ${problems.join(", ")}.`, {
    hint: "See docs/writing-a-strategy.md for what a strategy has to have.",
    code: "BAD_STRATEGY",
  });
}
