/** Checks a value: returns what is wrong with it, with its place, or undefined. */
export type Shape = (value: unknown, at: string) => string | undefined;

/** The shapes of all fields of a type. */
type Fields<T> = { readonly [key in keyof Required<T>]: Shape };

export const text: Shape = (value, at) => (typeof value === "string" ? undefined : `${at} is no text`);

export const number: Shape = (value, at) => (typeof value === "number" ? undefined : `${at} is no number`);

export const truth: Shape = (value, at) =>
  typeof value === "boolean" ? undefined : `${at} is neither true nor false`;

/** An object with any fields. */
export const anyObject: Shape = (value, at) => (isObject(value) ? undefined : `${at} is no object`);

/** An object with any fields, each of this shape. */
export function record(shape: Shape): Shape {
  return (value, at) => {
    if (!isObject(value)) return `${at} is no object`;
    for (const [name, entry] of Object.entries(value)) {
      const problem = shape(entry, `${at}.${name}`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

export function oneOf(...known: readonly string[]): Shape {
  return (value, at) =>
    known.some((each) => each === value) ? undefined : `${at} is ${JSON.stringify(value)}`;
}

export function optional(shape: Shape): Shape {
  return (value, at) => (value === undefined ? undefined : shape(value, at));
}

export function list(shape: Shape): Shape {
  return (value, at) => {
    if (!Array.isArray(value)) return `${at} is no list`;
    for (const [index, entry] of value.entries()) {
      const problem = shape(entry, `${at}[${index}]`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

/** An object with these fields, and perhaps others. */
export function object<T>(fields: Fields<T>): Shape {
  const known = Object.entries<Shape>(fields);
  return (value, at) => {
    if (!isObject(value)) return `${at === "" ? "it" : at} is no object`;
    for (const [name, shape] of known) {
      const problem = shape(value[name], at === "" ? name : `${at}.${name}`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
