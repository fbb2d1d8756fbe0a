import { messageOf } from "../../core/errors/errors.ts";
import type { PlainData } from "../../core/resource/resource.ts";

/**
 * Options are checked by what the class of a strategy has as its static `optionsSchema`, which may be
 * - plain data: a JSON Schema, for which its author needs nothing;
 * - an object with "~standard", as the schemas of zod, valibot and ArkType are (https://standardschema.dev).
 * The strategy gets what comes out of it, defaults filled in. Without a schema it gets the options as they
 * are.
 */

type Options = { readonly [key: string]: PlainData };
type Refuse = (problem: string) => Error;
type StandardResult = { readonly value?: unknown; readonly issues?: readonly StandardIssue[] };
type StandardSchema = {
  readonly "~standard": { validate(value: unknown): StandardResult | Promise<StandardResult> };
};

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
}

/**
 * The options as the strategy gets them. `refuse` makes the error for what is wrong with them, or with the
 * schema.
 */
export async function checkOptions(schema: unknown, options: Options, refuse: Refuse): Promise<unknown> {
  if (schema === undefined) return options;
  let result: StandardResult;
  try {
    result = await (await asStandard(schema))["~standard"].validate(options);
  } catch (thrown) {
    throw refuse(`its optionsSchema makes no sense: ${messageOf(thrown)}`);
  }
  if (result.issues === undefined) return result.value;
  throw refuse(problemsIn(result.issues));
}

/** What a schema found wrong, each with its place. */
export function problemsIn(issues: readonly StandardIssue[]): string {
  return issues.map(described).join("; ");
}

async function asStandard(schema: unknown): Promise<StandardSchema> {
  if (isStandard(schema)) return schema;
  if (typeof schema !== "object" || schema === null)
    throw new TypeError("it is neither a schema nor a JSON Schema");
  // Loaded here: a strategy without options does not pay for it.
  const { fromJSONSchema } = await import("zod");
  return fromJSONSchema(schema as Parameters<typeof fromJSONSchema>[0]) as unknown as StandardSchema;
}

/** Schemas of some libraries are functions. */
function isStandard(schema: unknown): schema is StandardSchema {
  const isObject = (typeof schema === "object" && schema !== null) || typeof schema === "function";
  return isObject && "~standard" in schema;
}

function described({ message, path = [] }: StandardIssue): string {
  const place = path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
  return place === "" ? message : `${place}: ${message}`;
}
