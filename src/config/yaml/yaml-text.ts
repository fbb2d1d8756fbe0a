import { stringify } from "yaml";

/** A value as YAML on one line: `[exec]`, `{app: {location: ./app}}`. */
export function yamlOnOneLine(value: unknown): string {
  return stringify(value, { collectionStyle: "flow", flowCollectionPadding: false, lineWidth: 0 }).trimEnd();
}

/** A value as YAML, one line for each key. */
export function yamlLines(value: unknown): readonly string[] {
  return stringify(value, { lineWidth: 0 }).trimEnd().split("\n");
}
