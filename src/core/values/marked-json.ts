/**
 * JSON for messages between processes. Large integers and bytes, which JSON does not have, are marked:
 * `{ "~int": "12" }` and `{ "~bytes": "base64" }`.
 */

/** One line, without its end. */
export function encodeMarked(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member === "bigint") return { "~int": member.toString() };
    return isBytes(member) ? { "~bytes": Buffer.from(bytesOf(member)).toString("base64") } : member;
  });
}

export function decodeMarked(line: string): unknown {
  return JSON.parse(line, (_key, member: unknown) => unmarked(member));
}

/** A Buffer has turned itself into an object before it gets here. */
function isBytes(value: unknown): value is Uint8Array | { readonly data: readonly number[] } {
  if (value instanceof Uint8Array) return true;
  const plain = value as { readonly type?: unknown; readonly data?: unknown } | null;
  return typeof value === "object" && plain?.type === "Buffer" && Array.isArray(plain.data);
}

function bytesOf(value: Uint8Array | { readonly data: readonly number[] }): Uint8Array {
  return value instanceof Uint8Array ? value : Uint8Array.from(value.data);
}

function unmarked(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 1) return value;
  const { "~int": int, "~bytes": bytes } = value as { readonly [mark: string]: unknown };
  if (typeof int === "string") return BigInt(int);
  return typeof bytes === "string" ? new Uint8Array(Buffer.from(bytes, "base64")) : value;
}
