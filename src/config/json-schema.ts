import * as z from "zod";
import { userConfigSchema } from "./policy/policy-section.ts";
import { configSchema } from "./schema.ts";
import type { ConfigPath } from "./yaml/config-problem.ts";

/** The parts of a JSON Schema that ours uses. */
export interface JsonSchema {
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly type?: string;
  readonly properties?: { readonly [key: string]: JsonSchema };
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

/** The JSON Schema of drydock.yaml, in the draft that most editors know. */
export function configJsonSchema(): JsonSchema {
  return jsonSchemaOf(configSchema(), { title: "drydock.yaml", description: "Settings of Drydock." });
}

/** The JSON Schema of the user's own config. */
export function userConfigJsonSchema(): JsonSchema {
  const description = "A user's own settings of Drydock: ~/.config/drydock/config.yaml.";
  return jsonSchemaOf(userConfigSchema(), { title: "config.yaml", description });
}

function jsonSchemaOf(definition: z.ZodType, about: { title: string; description: string }): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(definition, { io: "input", target: "draft-7" });
  return { $schema, ...about, ...schema } as JsonSchema;
}

/** The part of a schema for the value at this path; undefined if there is none. */
export function schemaAt(schema: JsonSchema, path: ConfigPath): JsonSchema | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return schema;
  const below = schemaBelow(schema, key);
  return below === undefined ? undefined : schemaAt(below, rest);
}

/** The keys that a value of this schema may have. */
export function keysOf(schema: JsonSchema): readonly string[] {
  return Object.keys(asMap(schema).properties ?? {});
}

function schemaBelow(schema: JsonSchema, key: PropertyKey): JsonSchema | undefined {
  if (typeof key === "number") return schema.items;
  const { properties, additionalProperties } = asMap(schema);
  const known = properties?.[String(key)];
  if (known !== undefined) return known;
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

/** The form that is a map, of several forms. */
function asMap(schema: JsonSchema): JsonSchema {
  return schema.anyOf?.find((form) => form.properties !== undefined) ?? schema;
}
