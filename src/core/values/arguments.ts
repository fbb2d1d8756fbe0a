import { messageOf, UsageError } from "../errors/errors.ts";

/**
 * Readers of the arguments that a program hands to the library. Types do not exist at run time, so each
 * argument is read once and checked. A reader returns the value that the library may use; an object becomes a
 * copy with the known fields, so that nothing changes after the check, and a getter is called once. A wrong
 * value is a `UsageError` that names its place, such as `options.resources[0].location`.
 */
export type Reader<T> = (value: unknown, at: string) => T;

type Known<T> = { readonly [Name in keyof Required<T>]: Reader<T[Name]> };

const MOST_SHOWN = 40;

export const text: Reader<string> = (value, at) =>
  typeof value === "string" ? value : refuse(at, "a text", value);

/** A text that the system accepts as a path or a part of one. */
export const path: Reader<string> = (value, at) => {
  const given = text(value, at);
  return given.includes("\0") ? refuse(at, "a path without a NUL byte", value) : given;
};

export const truth: Reader<boolean> = (value, at) =>
  typeof value === "boolean" ? value : refuse(at, "true or false", value);

/** A number of milliseconds, or the like. */
export const amount: Reader<number> = (value, at) =>
  typeof value === "number" && value >= 0 ? value : refuse(at, "a number that is not negative", value);

/** A number of a line. */
export const ordinal: Reader<number> = (value, at) =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0
    ? value
    : refuse(at, "a whole number from 1", value);

/** The content of a file. */
export const content: Reader<string | Uint8Array> = (value, at) =>
  typeof value === "string" || isA<Uint8Array>(value, "Uint8Array")
    ? value
    : refuse(at, "a text or a Uint8Array", value);

export const signal: Reader<AbortSignal> = (value, at) =>
  isA<AbortSignal>(value, "AbortSignal") ? value : refuse(at, "an AbortSignal", value);

/** A function that returns the time. */
export const clock: Reader<() => Date> = (value, at) => {
  const now = callback<() => unknown>()(value, at);
  return () => {
    const time = now();
    if (isA<Date>(time, "Date") && !Number.isNaN(time.getTime())) return time;
    return refuse(`what ${at} returns`, "a Date", time);
  };
};

/** A function that is called later; its result is checked where it is used. */
export function callback<T>(): Reader<T> {
  return (value, at) => (typeof value === "function" ? (value as T) : refuse(at, "a function", value));
}

export function oneOf<const Value extends string>(...known: readonly Value[]): Reader<Value> {
  return (value, at) => known.find((each) => each === value) ?? refuse(at, known.join(" or "), value);
}

/** The value may be absent or undefined. */
export function optional<T>(read: Reader<T>): Reader<T | undefined> {
  return (value, at) => (value === undefined ? undefined : read(value, at));
}

export function list<T>(read: Reader<T>): Reader<readonly T[]> {
  return (value, at) =>
    Array.isArray(value)
      ? Array.from(value, (entry: unknown, index) => read(entry, `${at}[${index}]`))
      : refuse(at, "a list", value);
}

/** An object with any fields, each read by `read`. */
export function record<T>(read: Reader<T>): Reader<{ readonly [name: string]: T }> {
  return (value, at) =>
    Object.fromEntries(
      namesOf(value, at).map((name) => [name, read(fieldOf(value, name, at), `${at}.${name}`)]),
    );
}

/** An object with these fields and no others. */
export function fields<T>(known: Known<T>): Reader<T> {
  const readers = Object.entries<Reader<unknown>>(known);
  return (value, at) => {
    const unknown = namesOf(value, at).find((name) => !Object.hasOwn(known, name));
    if (unknown !== undefined)
      refuse(`${at}.${shown(unknown)}`, "left out: there is no such field", undefined);
    const found = readers.map(
      ([name, read]) => [name, read(fieldOf(value, name, at), `${at}.${name}`)] as const,
    );
    return Object.fromEntries(found.filter(([, given]) => given !== undefined)) as T;
  };
}

function namesOf(value: unknown, at: string): readonly string[] {
  if (typeof value !== "object" || !isA<object>(value, "Object")) refuse(at, "an object", value);
  return reading(at, () => Object.keys(value as object));
}

function fieldOf(value: unknown, name: string, at: string): unknown {
  return reading(`${at}.${name}`, () => (value as { readonly [name: string]: unknown })[name]);
}

/** Compares by tag, because an object of another realm, such as a test runner's, has other classes. */
function isA<T>(value: unknown, kind: string): value is T {
  return Object.prototype.toString.call(value) === `[object ${kind}]`;
}

/** Reads a field or calls a function of the caller: a getter or a proxy may throw. */
function reading<T>(at: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw new UsageError(`${at} can't be read: ${messageOf(thrown)}.`, { ...REFUSAL, cause: thrown });
  }
}

const REFUSAL = { hint: "See the types of the library; nothing was done.", code: "BAD_ARGUMENT" } as const;

function refuse(at: string, wanted: string, given: unknown): never {
  const found = given === undefined ? "" : `, and is ${kindOf(given)}`;
  throw new UsageError(`${at} has to be ${wanted}${found}.`, REFUSAL);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "string") return `'${shown(value)}'`;
  if (Array.isArray(value)) return "a list";
  return typeof value === "object"
    ? `of the kind ${Object.prototype.toString.call(value).slice(8, -1)}`
    : `a ${typeof value}`;
}

function shown(value: string): string {
  return value.length > MOST_SHOWN ? `${value.slice(0, MOST_SHOWN)}…` : value;
}
