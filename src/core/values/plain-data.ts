import type { PlainData } from "../resource/resource.ts";

/** Deeper than any written data, and far below the limit of recursion. */
const DEEPEST = 64;

/** A value that no durable record can hold; the message says why. */
class NotPlainError extends Error {}

/**
 * A copy of a value that survives JSON exactly. Refuses values that JSON would silently change (a Date, a
 * Map, a function, NaN), and names their place. Members that are undefined are omitted, as in JSON. `longest`
 * bounds the sum of all text and members.
 */
export function copyPlain(value: unknown, longest: number): PlainData {
  return new PlainCopy(longest).copy(value, "it", 0);
}

class PlainCopy {
  #left: number;

  constructor(longest: number) {
    this.#left = longest;
  }

  copy(value: unknown, at: string, depth: number): PlainData {
    if (depth > DEEPEST) throw new NotPlainError(`${at} is nested too deeply, or holds itself`);
    this.#spend(typeof value === "string" ? value.length + 1 : 1);
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number") {
      if (Number.isFinite(value)) return value;
      throw new NotPlainError(`${at} is ${value}`);
    }
    if (Array.isArray(value))
      return value.map((item, index) => this.copy(item, `${at}[${index}]`, depth + 1));
    if (typeof value === "object" && isPlainObject(value)) return this.#members(value, at, depth);
    throw new NotPlainError(`${at} is ${kindOf(value)}`);
  }

  #members(value: object, at: string, depth: number): PlainData {
    const copied: { [key: string]: PlainData } = {};
    for (const key of Object.keys(value)) {
      const member = (value as { readonly [key: string]: unknown })[key];
      if (member === undefined) continue;
      this.#spend(key.length);
      // Assigning to this name would set the prototype of the object.
      if (key === "__proto__") throw new NotPlainError(`${at} has a member called __proto__`);
      copied[key] = this.copy(member, `${at}.${key}`, depth + 1);
    }
    return copied;
  }

  #spend(amount: number): void {
    this.#left -= amount;
    if (this.#left < 0) throw new NotPlainError("it is larger than anything that is kept");
  }
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function kindOf(value: unknown): string {
  if (typeof value !== "object" || value === null)
    return typeof value === "undefined" ? "undefined" : `a ${typeof value}`;
  const name: unknown = value.constructor?.name;
  return typeof name === "string" && name !== "" ? `a ${name}` : "no plain object";
}
