import { fileUrlOf, importerIn, packageUrlOf } from "../config/module-location.ts";
import { nearestName } from "../config/nearest-name.ts";
import type { CustomStrategy } from "../config/settings.ts";
import { displayPath } from "../core/byte-path.ts";
import type { ErrorCode } from "../core/error-codes.ts";
import { messageOf, StrategyUnavailableError } from "../core/errors.ts";
import type { SandboxStrategy, StrategyContext } from "../core/strategy.ts";
import { checkOptions } from "./strategy-options.ts";

/** A module of somebody else's, and who asks for it. */
type DeclaredModule = Pick<CustomStrategy, "name" | "module" | "folder" | "place">;

/** A class of somebody else's; what it makes is checked before it is used. */
type StrategyClass = (new (
  context: StrategyContext,
  options: unknown,
) => SandboxStrategy) & {
  readonly optionsSchema?: unknown;
};

/** Somebody else's class, and where it came from. */
export interface LoadedClass {
  /** Makes an instance. Fails by `StrategyUnavailableError`. */
  make(context: StrategyContext): SandboxStrategy;
  /** The URL of its module. */
  readonly url: string;
}

/**
 * Loads the class of a strategy that a config declares. `module` is a path relative to the config's folder, or a package that is installed
 * where the config is; JavaScript, or, in a file of one's own, TypeScript whose types Node can leave out. Everything that can go wrong has
 * an error of its own, with the place in the config.
 */
export async function loadStrategyClass(
  declared: CustomStrategy,
  options: CustomStrategy["options"],
): Promise<LoadedClass> {
  const { exports, url } = await importModule(declared);
  const found = exportOf(declared, exports);
  const checked = await checkOptions(found.optionsSchema, options ?? {}, (problem) =>
    unavailable(declared, "STRATEGY_OPTIONS", `its options are not what ${declared.className} takes: ${problem}`, {
      hint: `Correct options: of ${declared.name} in the config.`,
    }),
  );
  return { url, make: (context) => construct(declared, found, context, checked) };
}

function construct(
  declared: CustomStrategy,
  found: StrategyClass,
  context: StrategyContext,
  options: unknown,
): SandboxStrategy {
  try {
    return new found(context, options);
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

/** Imports a module of somebody else's. Fails by `StrategyUnavailableError`, which names who declared it. */
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

/** Whether the module itself is not there, and not something that it imports. */
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
  code: ErrorCode,
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
