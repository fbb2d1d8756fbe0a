import { fileUrlOf, importerIn, packageUrlOf } from "../../config/module-location.ts";
import { nearestName } from "../../config/nearest-name.ts";
import type { CustomStrategy } from "../../config/settings.ts";
import { displayPath } from "../../core/byte-path.ts";
import { messageOf, StrategyUnavailableError } from "../../core/errors.ts";
import type { SandboxStrategy, StrategyContext } from "../../core/strategy.ts";
import type { StrategyMaker } from "../registered-strategy.ts";
import { checkOptions } from "./strategy-options.ts";

/** A module of the user's own, and what names it. */
type DeclaredModule = Pick<CustomStrategy, "name" | "module" | "folder" | "place">;

/** A class of the user's own. The registry checks what it makes. */
type StrategyClass = (new (
  context: StrategyContext,
  options: unknown,
) => SandboxStrategy) & {
  readonly optionsSchema?: unknown;
};

/**
 * Loads the class of a strategy that a config or a command line names. `module` is a path relative to `folder`, or a
 * package that is installed there: JavaScript or, in a file of the user's own, TypeScript whose types Node can leave
 * out. Everything that can go wrong has an error of its own, with the place in the config.
 */
export async function loadStrategyClass(
  declared: CustomStrategy,
  options: CustomStrategy["options"],
): Promise<StrategyMaker> {
  const { className } = declared;
  const { exports, url } = await importModule(declared);
  const found = exportOf(declared, exports);
  const checked = await checkOptions(found.optionsSchema, options ?? {}, (problem) =>
    unavailable(declared, "STRATEGY_OPTIONS", `its options are not what ${className} takes: ${problem}`, {
      hint: `Correct options: of ${declared.name} in the config.`,
    }),
  );
  return {
    make: (context) => construct(declared, () => new found(context, checked)),
    module: { url, className, ...(options !== undefined && { options }) },
  };
}

function construct(declared: CustomStrategy, make: () => SandboxStrategy): SandboxStrategy {
  try {
    return make();
  } catch (thrown) {
    throw unavailable(
      declared,
      "STRATEGY_CONSTRUCTOR",
      `the constructor of ${declared.className} threw: ${messageOf(thrown)}`,
      { hint: "Mend that class, or what it is given as options.", cause: thrown },
    );
  }
}

interface Imported {
  readonly exports: { readonly [name: string]: unknown };
  readonly url: string;
}

/** Imports a module of the user's own. Fails by `StrategyUnavailableError`, which says where it is declared. */
export async function importModule(declared: DeclaredModule): Promise<Imported> {
  try {
    const url = fileUrlOf(declared) ?? packageUrlOf(declared);
    return { exports: await import(url), url };
  } catch (thrown) {
    throw moduleError(declared, thrown);
  }
}

function moduleError(declared: DeclaredModule, thrown: unknown): StrategyUnavailableError {
  const { module, folder } = declared;
  const shown = displayPath(module);
  const isFile = /^(?:[./]|file:)/.test(module);
  const code = (thrown as { readonly code?: unknown } | undefined)?.code;
  if (isMissing(declared, thrown)) {
    const where = isFile ? `there is no file ${shown}` : `there is no package ${shown}`;
    const hint = isFile
      ? `It is looked for from ${displayPath(folder)}. Correct module:, or put the file there.`
      : `Install it where the config is: npm install ${shown}. A file begins with ./`;
    return unavailable(declared, "STRATEGY_MODULE", where, { hint, cause: thrown });
  }
  const hint =
    code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING"
      ? "A package has to be JavaScript; TypeScript works in files of your own."
      : "Mend that module; --debug shows where it fails.";
  return unavailable(declared, "STRATEGY_MODULE", `${shown} can't be loaded: ${firstLine(messageOf(thrown))}`, {
    hint,
    cause: thrown,
  });
}

/** Whether the module itself is missing, and not something that it imports. */
function isMissing(declared: DeclaredModule, thrown: unknown): boolean {
  const { code, url, message } = (thrown ?? {}) as { readonly [member: string]: unknown };
  if (code !== "ERR_MODULE_NOT_FOUND") return false;
  const file = fileUrlOf(declared);
  if (file !== undefined) return url === file;
  return typeof message === "string" && message.endsWith(`imported from ${importerIn(declared.folder)}`);
}

function exportOf(declared: CustomStrategy, exports: { readonly [name: string]: unknown }): StrategyClass {
  const { className, module } = declared;
  const found = Object.hasOwn(exports, className) ? exports[className] : undefined;
  if (typeof found === "function") return found as StrategyClass;
  const names = Object.keys(exports);
  const nearest = nearestName(className, names);
  const what =
    found === undefined
      ? `${displayPath(module)} exports no ${className}`
      : `what ${displayPath(module)} exports as ${className} is no class`;
  throw unavailable(declared, "STRATEGY_EXPORT", what, {
    hint:
      (nearest === undefined ? "" : `Did you mean ${nearest}? `) +
      (names.length === 0 ? "It exports nothing." : `It exports ${names.slice(0, 20).join(", ")}.`),
  });
}

function unavailable(
  { name, place }: DeclaredModule,
  code: string,
  what: string,
  options: { readonly hint: string; readonly cause?: unknown },
): StrategyUnavailableError {
  return new StrategyUnavailableError(`${place}: strategy ${name}: ${what}`, {
    ...options,
    strategy: name,
    code,
  });
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
