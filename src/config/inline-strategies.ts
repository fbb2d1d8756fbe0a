import { resolve } from "node:path";
import { programPathOf } from "./trust/module-location.ts";
import type { ConfigPath } from "./yaml/config-problem.ts";

/**
 * A strategy may be named by its module and class where it is used, `strategy: ./mine.mjs:MyStrategy`, or by
 * its program, `strategy: exec:./mine.py`. That declares it: its name is then the path of the module and the
 * class, or of the program.
 */
export const INLINE_STRATEGY_PATTERN = /^(?:\.{0,2}\/.+:[A-Za-z_$][A-Za-z0-9_$]*|exec:.+)$/;

export interface InlineStrategy {
  /** As the file has it. */
  readonly text: string;
  readonly path: ConfigPath;
}

/** All strategies that a file names so, each once. The file need not be valid yet. */
export function inlineStrategies(value: unknown): readonly InlineStrategy[] {
  const named: InlineStrategy[] = [
    ...at(value, ["sandbox", "strategy"]),
    ...below(value, "resources").flatMap((name) => at(value, ["resources", name, "strategy"])),
    ...below(value, "resource_types").flatMap((name) => [
      ...at(value, ["resource_types", name, "sandbox_strategy"]),
      ...at(value, ["resource_types", name, "strategies"]),
    ]),
  ];
  return [...new Map(named.map((each) => [each.text, each])).values()];
}

/** The name of a strategy in force: of an inline one its path, of another itself. */
export function strategyInForce(name: string, folder: string): string {
  if (!INLINE_STRATEGY_PATTERN.test(name)) return name;
  const program = programPathOf({ module: name, folder });
  if (program !== undefined) return `exec:${program}`;
  const colon = name.lastIndexOf(":");
  return `${resolve(folder, name.slice(0, colon))}${name.slice(colon)}`;
}

function at(value: unknown, path: ConfigPath): readonly InlineStrategy[] {
  const found = path.reduce<unknown>(memberOf, value);
  const texts = Array.isArray(found) ? found : [found];
  return texts
    .filter((text) => typeof text === "string" && INLINE_STRATEGY_PATTERN.test(text))
    .map((text: string) => ({ text, path }));
}

function below(value: unknown, key: string): readonly string[] {
  const section = memberOf(value, key);
  return isRecord(section) ? Object.keys(section) : [];
}

function memberOf(value: unknown, key: PropertyKey): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function isRecord(value: unknown): value is { readonly [key: PropertyKey]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
