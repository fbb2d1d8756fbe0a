import type { ResourceType } from "../../../core/resource/resource-types.ts";
import type { Styles } from "../styles.ts";
import { textTable } from "../text-table.ts";

/** A type as `resource-type list` and `show` answer it. Null means no limit. */
export interface ResourceTypeView {
  readonly name: string;
  readonly builtIn: boolean;
  readonly extends: string | null;
  readonly sandboxStrategy: string | null;
  readonly strategies: readonly string[] | null;
  readonly parentTypes: readonly string[] | null;
  readonly childTypes: readonly string[] | null;
  readonly capabilities: readonly string[];
}

export function resourceTypeView(type: ResourceType): ResourceTypeView {
  const { name, builtIn, capabilities } = type;
  return {
    name,
    builtIn,
    extends: type.extends ?? null,
    sandboxStrategy: type.sandboxStrategy ?? null,
    strategies: type.strategies ?? null,
    parentTypes: type.parentTypes ?? null,
    childTypes: type.childTypes ?? null,
    capabilities,
  };
}

/** Types as a table. */
export function typeListLines(types: readonly ResourceTypeView[], styles: Styles): readonly string[] {
  const headings = ["NAME", "EXTENDS", "STRATEGY", "CAPABILITIES", ""].map((text) => ({
    text,
    style: styles.dim,
  }));
  const rows = types.map((type) => [
    { text: type.name, style: styles.bold },
    type.extends ?? "",
    type.sandboxStrategy ?? "auto",
    type.capabilities.join(", "),
    type.builtIn ? "" : "custom",
  ]);
  return textTable([headings, ...rows]);
}

/** All that is known about one type. */
export function typeLines(type: ResourceTypeView, styles: Styles): readonly string[] {
  const facts: readonly (readonly [string, string])[] = [
    ["extends", type.extends ?? "nothing"],
    ["strategy", type.sandboxStrategy ?? "auto"],
    ["strategies", listed(type.strategies, "all that can isolate it")],
    ["inside of", listed(type.parentTypes, "every type")],
    ["contains", listed(type.childTypes, "every type")],
    ["capabilities", type.capabilities.join(", ")],
  ];
  const rows = facts.map(([fact, value]) => [{ text: fact, style: styles.dim }, value]);
  return [styles.bold(type.name), ...textTable(rows).map((line) => `  ${line}`)];
}

function listed(names: readonly string[] | null, all: string): string {
  if (names === null) return all;
  return names.length === 0 ? "nothing" : names.join(", ");
}
