import { MODULE_AND_CLASS_PATTERN, PROGRAM_PATTERN } from "../config/schema.ts";
import { UsageError } from "../core/errors/errors.ts";
import { importModule, loadStrategy } from "../strategies/custom/load-strategy.ts";
import type { Subject } from "../strategies/custom/method-table.ts";
import { assertStrategy } from "../strategies/custom/strategy-check.ts";
import type { StrategyMaker } from "../strategies/registered-strategy.ts";
import type { SandboxStrategyRegistry } from "../strategies/registry.ts";
import type { CheckedStrategy } from "./check-strategy.ts";
import type { ResourceFixture } from "./strategy-factory.ts";

/** Where the suite looks for the names of strategies, and for modules. */
export interface CheckSurroundings {
  readonly registry: SandboxStrategyRegistry;
  /** The folder to which paths of modules are relative. */
  readonly folder: string;
  readonly environment: { readonly [name: string]: string | undefined };
}

const COMMAND_LINE = "command line";

/**
 * The strategy of this name, built in or declared by the config, or the one that `MODULE:CLASS` stands for.
 */
export async function strategyToCheck(
  given: string,
  surroundings: CheckSurroundings,
  subject: Subject,
): Promise<CheckedStrategy> {
  const { environment } = surroundings;
  const { make, module } = await makerFor(given, surroundings, subject);
  return {
    make: (context) => {
      const strategy = make({ ...context, environment: { ...environment, ...context.environment } });
      assertStrategy(strategy, undefined);
      return strategy;
    },
    ...(module !== undefined && { module: { ...module, environment: definedOnly(environment) } }),
  };
}

async function makerFor(
  given: string,
  { registry, folder, environment }: CheckSurroundings,
  subject: Subject,
): Promise<StrategyMaker> {
  const isProgram = PROGRAM_PATTERN.test(given);
  if (registry.has(given) || !(isProgram || isInModule(given))) return await registry.maker(given, subject);
  const { module, name } = isProgram ? { module: given, name: "" } : inModule(given);
  const declared = { module, className: name, limitMilliseconds: 0, folder, place: COMMAND_LINE };
  return await loadStrategy({ ...declared, name: name || given }, environment);
}

/** The function that makes resources, named by `MODULE:FUNCTION`. */
export async function resourceMakerOf(
  given: string,
  folder: string,
): Promise<() => Promise<ResourceFixture>> {
  const { module, name } = inModule(given);
  const { exports } = await importModule({ name: given, module, folder, place: COMMAND_LINE });
  const made = exports[name];
  if (typeof made === "function") return async () => (await made()) as ResourceFixture;
  throw new UsageError(`${module} exports no function ${name}.`, {
    hint: `It exports ${Object.keys(exports).join(", ") || "nothing"}.`,
    code: "NO_SUCH_EXPORT",
  });
}

/** Whether this has the form `MODULE:NAME`. */
export function isInModule(given: string): boolean {
  return MODULE_AND_CLASS_PATTERN.test(given);
}

function inModule(given: string): { readonly module: string; readonly name: string } {
  const [, module = "", name = ""] = MODULE_AND_CLASS_PATTERN.exec(given) ?? [];
  return { module, name };
}

function definedOnly(environment: CheckSurroundings["environment"]): { readonly [name: string]: string } {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
