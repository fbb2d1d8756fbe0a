import type { CustomStrategy } from "../../config/settings.ts";
import { fileUrlOf, importerIn, packageUrlOf, programPathOf } from "../../config/trust/module-location.ts";
import { messageOf } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { SandboxStrategy, StrategyContext } from "../../core/strategy.ts";
import { nearestName } from "../../core/values/nearest-name.ts";
import type { StrategyMaker } from "../registered-strategy.ts";
import { checkOptions } from "./strategy-options.ts";
import { unavailable } from "./unavailable.ts";

/** A module of the user's own, with the names that errors need. */
type DeclaredModule = Pick<CustomStrategy, "name" | "module" | "folder" | "place">;
type Exports = { readonly [name: string]: unknown };

/** A class of the user's own. The registry checks its instances. */
interface StrategyClass {
  new (context: StrategyContext, options: unknown): SandboxStrategy;
  readonly optionsSchema?: unknown;
}

/**
 * Loads a strategy that a config or a command line names. `module` is a program (`exec:` and its path), or
 * the module of a class. Every failure is a `StrategyUnavailableError` with the position in the config.
 */
export async function loadStrategy(
  declared: CustomStrategy,
  environment: { readonly [name: string]: string | undefined },
): Promise<StrategyMaker> {
  const program = programPathOf(declared);
  if (program === undefined) return await loadClass(declared);
  // Loaded for programs only.
  return await (await import("./program/load-program.ts")).loadProgram(declared, program, environment);
}

/**
 * Loads a class. Its module is a path relative to `folder`, or a package that is installed there: JavaScript
 * or, in a file of the user's own, TypeScript whose types Node can strip.
 */
async function loadClass(declared: CustomStrategy): Promise<StrategyMaker> {
  const { name, className, options } = declared;
  const { exports, url } = await importModule(declared);
  const found = exportOf(declared, exports);
  const checked = await checkOptions(found.optionsSchema, options ?? {}, (problem) => {
    const what = `its options are not what ${className} takes: ${problem}`;
    return unavailable(declared, "STRATEGY_OPTIONS", what, {
      hint: `Correct options: of ${name} in the config.`,
    });
  });
  const make = (context: StrategyContext) => {
    try {
      return new found(context, checked);
    } catch (cause) {
      const what = `the constructor of ${className} threw: ${messageOf(cause)}`;
      const hint = "Fix that class, or its options.";
      throw unavailable(declared, "STRATEGY_CONSTRUCTOR", what, { hint, cause });
    }
  };
  return { make, module: { url, className, ...(options !== undefined && { options }) } };
}

/** Imports a module of the user's own. Fails by `StrategyUnavailableError`. */
export async function importModule(
  declared: DeclaredModule,
): Promise<{ readonly exports: Exports; readonly url: string }> {
  try {
    const url = fileUrlOf(declared) ?? packageUrlOf(declared);
    return { exports: await import(url), url };
  } catch (cause) {
    const { what, ...hint } = isMissing(declared, cause) ? missing(declared) : broken(declared, cause);
    throw unavailable(declared, "STRATEGY_MODULE", what, { ...hint, cause });
  }
}

/** Whether the module itself is missing, rather than one that it imports. */
function isMissing(declared: DeclaredModule, thrown: unknown): boolean {
  const { code, url, message } = (thrown ?? {}) as { readonly [member: string]: unknown };
  if (code !== "ERR_MODULE_NOT_FOUND") return false;
  const file = fileUrlOf(declared);
  if (file !== undefined) return url === file;
  return typeof message === "string" && message.endsWith(`imported from ${importerIn(declared.folder)}`);
}

function missing({ module, folder }: DeclaredModule): { readonly what: string; readonly hint: string } {
  const shown = displayPath(module);
  if (/^(?:[./]|file:)/.test(module)) {
    const hint = `The path is relative to ${displayPath(folder)}. Correct module:, or put the file there.`;
    return { what: `there is no file ${shown}`, hint };
  }
  const hint = `Install it where the config is: npm install ${shown}. A file begins with ./`;
  return { what: `there is no package ${shown}`, hint };
}

function broken(
  { module }: DeclaredModule,
  thrown: unknown,
): { readonly what: string; readonly hint?: string } {
  const [problem = ""] = messageOf(thrown).split("\n", 1);
  const { code } = (thrown ?? {}) as { readonly code?: unknown };
  const isPackage = code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING";
  return {
    what: `${displayPath(module)} can't be loaded: ${problem}`,
    ...(isPackage && { hint: "A package has to be JavaScript; TypeScript works in files of your own." }),
  };
}

function exportOf(declared: CustomStrategy, exports: Exports): StrategyClass {
  const { className } = declared;
  const module = displayPath(declared.module);
  const found = Object.hasOwn(exports, className) ? exports[className] : undefined;
  if (typeof found === "function") return found as unknown as StrategyClass;
  const names = Object.keys(exports);
  const nearest = nearestName(className, names);
  throw unavailable(
    declared,
    "STRATEGY_EXPORT",
    found === undefined
      ? `${module} exports no ${className}`
      : `what ${module} exports as ${className} is no class`,
    {
      hint:
        (nearest === undefined ? "" : `Did you mean ${nearest}? `) +
        (names.length === 0 ? "It exports nothing." : `It exports ${names.slice(0, 20).join(", ")}.`),
    },
  );
}
