import type { ResourceTypeView } from "../../../plans/resources/resource-type-view.ts";
import type { Styles } from "../styles.ts";
import { textTable } from "../text-table.ts";

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
