import * as z from "zod";
import { namesInCycles } from "./yaml/reference-cycles.ts";

/** The kinds of keys in drydock.yaml. */

// Patterns go into the JSON Schema, so they use only syntax that every validator knows.
const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** A built-in name, a name that the file declares, or a text of one of the `other` forms. */
export function oneOf(
  builtIn: readonly string[],
  declared: readonly string[] | undefined,
  other: readonly RegExp[] = [],
): z.ZodType<string, string> {
  if (declared !== undefined) return z.enum([...builtIn, ...declared]);
  const others = other.map((form) => z.string().regex(form));
  return builtIn.length === 0 ? declaredName() : z.union([z.enum(builtIn), declaredName(), ...others]);
}

function declaredName() {
  return z
    .string("must be text")
    .regex(
      NAME_PATTERN,
      "is not a name: use letters, digits, dots, dashes and underscores, a letter or digit first",
    );
}

/** Names that the user may choose, except these. */
export function freeNames(taken: readonly string[], whose: string) {
  return declaredName().refine((name) => !taken.includes(name), `is the name of ${whose}: choose another`);
}

/** A key that is true or false. */
export function flag(value: boolean, description: string) {
  return z.boolean("must be true or false").default(value).describe(description);
}

/** A section; a key with nothing below it is an empty section. */
export function section<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z
    .preprocess((value) => value ?? {}, z.strictObject(shape, "must be a map of keys and values"))
    .prefault({});
}

export interface NamedOptions {
  readonly names?: z.ZodType<string, string>;
  /** The key by which one declaration refers to another; references must not form a cycle. */
  readonly reference?: string;
  readonly description: string;
  readonly example: { readonly [name: string]: unknown };
}

/** A section whose keys are names that the user chooses. */
export function named<Value extends z.ZodType>(value: Value, options: NamedOptions) {
  const { names = declaredName(), reference, description, example } = options;
  const record = z
    .record(names, value, "must be a map of names")
    .superRefine((declared, context) => {
      if (reference === undefined) return;
      for (const name of namesInCycles(referencesBy(reference, declared))) {
        context.addIssue({
          code: "custom",
          path: [name, reference],
          message: "leads back to where it stands",
        });
      }
    })
    // On the map itself, because the JSON Schema omits the examples of preprocessed values.
    .meta({ description, examples: [example] });
  return z.preprocess((given) => given ?? {}, record).prefault({});
}

function referencesBy(
  key: string,
  declared: { readonly [name: string]: unknown },
): ReadonlyMap<string, string> {
  const references = new Map<string, string>();
  for (const [name, declaration] of Object.entries(declared)) {
    const to = (declaration as { readonly [key: string]: unknown })[key];
    if (typeof to === "string") references.set(name, to);
  }
  return references;
}
