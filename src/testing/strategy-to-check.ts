import { nearestName } from "../config/nearest-name.ts";
import { MODULE_AND_CLASS_PATTERN } from "../config/schema.ts";
import type { CustomStrategy } from "../config/settings.ts";
import { UsageError } from "../core/errors.ts";
import type { StrategyContext } from "../core/strategy.ts";
import { importModule, loadStrategyClass } from "../sandboxes/load-strategy.ts";
import { assertStrategy } from "../sandboxes/strategy-check.ts";
import { BUILT_IN_STRATEGIES } from "../strategies/built-in-strategies.ts";
import type { CheckedStrategy } from "./check-strategy.ts";
import type { MadeResource } from "./strategy-factory.ts";

/** What names of strategies, and of modules, are looked for in. */
export interface CheckSurroundings {
  /** What the config declares. */
  readonly custom: readonly CustomStrategy[];
  /** What modules that are given by their path are relative to. */
  readonly folder: string;
  readonly environment: { readonly [name: string]: string | undefined };
}

const COMMAND_LINE = "command line";

/** The strategy of this name, built in or declared by the config, or the one that `MODULE:CLASS` stands for. */
export async function strategyToCheck(given: string, surroundings: CheckSurroundings): Promise<CheckedStrategy> {
  const load = Object.entries(BUILT_IN_STRATEGIES).find(([name]) => name === given)?.[1];
  if (load !== undefined) {
    const Strategy = await load();
    const { environment } = surroundings;
    return { make: (context) => new Strategy({ ...context, environment }) };
  }
  const declared = surroundings.custom.find(({ name }) => name === given) ?? byModule(given, surroundings.folder);
  if (declared === undefined) throw unknown(given, surroundings.custom);
  return await customToCheck(declared, surroundings.environment);
}

function unknown(given: string, custom: readonly CustomStrategy[]): UsageError {
  const nearest = nearestName(given, [...Object.keys(BUILT_IN_STRATEGIES), ...custom.map(({ name }) => name)]);
  return new UsageError(`There is no strategy called '${given}'.`, {
    hint:
      (nearest === undefined ? "" : `Did you mean ${nearest}? `) +
      "Give a name that 'drydock strategy list' shows, or MODULE:CLASS, such as ./mine.ts:MyStrategy.",
    code: "UNKNOWN_STRATEGY",
  });
}

async function customToCheck(
  declared: CustomStrategy,
  environment: CheckSurroundings["environment"],
): Promise<CheckedStrategy> {
  const { className, options } = declared;
  const { make, url } = await loadStrategyClass(declared, options);
  return {
    make: (context: StrategyContext) => {
      const strategy = make({ ...context, environment: { ...environment, ...context.environment } });
      assertStrategy(strategy, undefined);
      return strategy;
    },
    module: { url, className, environment: definedOnly(environment), ...(options !== undefined && { options }) },
  };
}

/** What makes resources, as `MODULE:FUNCTION` names it. */
export async function resourceMakerOf(given: string, folder: string): Promise<() => Promise<MadeResource>> {
  const [, module = "", name = ""] = MODULE_AND_CLASS_PATTERN.exec(given) ?? [];
  const source = { name: given, module, folder, place: COMMAND_LINE };
  const { exports } = await importModule(source);
  const made = exports[name];
  if (typeof made === "function") return async () => (await made()) as MadeResource;
  throw new UsageError(`${module} exports no function ${name}.`, {
    hint: `It exports ${Object.keys(exports).join(", ") || "nothing"}.`,
    code: "NO_SUCH_EXPORT",
  });
}

/** Whether this names something in a module. */
export function isInModule(given: string): boolean {
  return MODULE_AND_CLASS_PATTERN.test(given);
}

function byModule(given: string, folder: string): CustomStrategy | undefined {
  const [, module, className] = MODULE_AND_CLASS_PATTERN.exec(given) ?? [];
  if (module === undefined || className === undefined) return undefined;
  return { name: className, module, className, limitMilliseconds: 0, folder, place: COMMAND_LINE };
}

function definedOnly(environment: CheckSurroundings["environment"]): { readonly [name: string]: string } {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
