import { messageOf } from "../../core/errors/errors.ts";
import type { PlainData } from "../../core/resource/resource.ts";

/**
 * The static `optionsSchema` of a strategy's class checks its options. It may be
 *
 * - plain data: a JSON Schema, which needs no package;
 * - an object with "~standard", such as a schema of zod, valibot or ArkType (https://standardschema.dev).
 *
 * The strategy gets the result, with defaults filled in. Without a schema it gets the options as they are.
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
 * The options as the strategy gets them. `refuse` makes the error for wrong options, or for a wrong schema.
 */
export async function checkOptions(schema: unknown, options: Options, refuse: Refuse): Promise<unknown> {
  if (schema === undefined) return options;
  let result: StandardResult;
  try {
    result = await (await asStandard(schema))["~standard"].validate(options);
  } catch (thrown) {
    throw refuse(`its optionsSchema is invalid: ${messageOf(thrown)}`);
  }
  if (result.issues === undefined) return result.value;
  throw refuse(problemsIn(result.issues));
}

/** The problems that a schema found, each with its location. */
export function problemsIn(issues: readonly StandardIssue[]): string {
  return issues.map(described).join("; ");
}

async function asStandard(schema: unknown): Promise<StandardSchema> {
  if (isStandard(schema)) return schema;
  if (typeof schema !== "object" || schema === null)
    throw new TypeError("it is neither a schema nor a JSON Schema");
  // Imported here, so that a strategy without options does not load it.
  const { fromJSONSchema } = await import("zod");
  return fromJSONSchema(schema as Parameters<typeof fromJSONSchema>[0]) as unknown as StandardSchema;
}

/** The schemas of some libraries are functions. */
function isStandard(schema: unknown): schema is StandardSchema {
  const isObject = (typeof schema === "object" && schema !== null) || typeof schema === "function";
  return isObject && "~standard" in schema;
}

function described({ message, path = [] }: StandardIssue): string {
  const place = path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
  return place === "" ? message : `${place}: ${message}`;
}
