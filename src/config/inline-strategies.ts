import { resolve } from "node:path";
import type { ConfigPath } from "./yaml/config-problem.ts";

/**
 * A strategy may be named by its module and class where it is used, `strategy: ./mine.mjs:MyStrategy`. That
 * declares it: its name is then the path of the module and the class.
 */
export const INLINE_STRATEGY_PATTERN = /^\.{0,2}\/.+:[A-Za-z_$][A-Za-z0-9_$]*$/;

export interface InlineStrategy {
  /** As the file has it. */
  readonly text: string;
  readonly path: ConfigPath;
}

/** All strategies that a file names so, each once. The file need not be valid yet. */
export function inlineStrategies(value: unknown): readonly InlineStrategy[] {
  const [sandbox, resources, types] = ["sandbox", "resources", "resource_types"].map((key) =>
    member(value, key),
  );
  const named: InlineStrategy[] = [
    ...inlineIn(member(sandbox, "strategy"), ["sandbox", "strategy"]),
    ...entriesOf(resources).flatMap(([name, resource]) =>
      inlineIn(member(resource, "strategy"), ["resources", name, "strategy"]),
    ),
    ...entriesOf(types).flatMap(([name, type]) =>
      ["sandbox_strategy", "strategies"].flatMap((key) =>
        inlineIn(member(type, key), ["resource_types", name, key]),
      ),
    ),
  ];
  return [...new Map(named.map((each) => [each.text, each])).values()];
}

/** The name of a strategy in force: of an inline one its path, of another itself. */
export function strategyInForce(name: string, folder: string): string {
  if (!INLINE_STRATEGY_PATTERN.test(name)) return name;
  const colon = name.lastIndexOf(":");
  return `${resolve(folder, name.slice(0, colon))}${name.slice(colon)}`;
}

function inlineIn(found: unknown, path: ConfigPath): readonly InlineStrategy[] {
  const texts: readonly unknown[] = Array.isArray(found) ? found : [found];
  return texts
    .filter((text): text is string => typeof text === "string" && INLINE_STRATEGY_PATTERN.test(text))
    .map((text) => ({ text, path }));
}

function member(value: unknown, key: string): unknown {
  return isMap(value) ? value[key] : undefined;
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isMap(value) ? Object.entries(value) : [];
}

function isMap(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
