import { UsageError } from "../../core/errors/errors.ts";

/** A part of a file. */
export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * The part that a Range header asks for; undefined if it asks for all. As the standard says, a header that
 * can't be understood does not count, and one that begins behind the end is refused.
 */
export function byteRange(header: string | undefined, size: number): ByteRange | undefined {
  const [, first = "", last = ""] = RANGE.exec(header ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  const offset = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(size, Number(last) + 1);
  if (first !== "" && last !== "" && Number(last) < Number(first)) return undefined;
  if (offset < end) return { offset, length: end - offset };
  throw new UsageError(`The file has ${size} bytes, and none in that range.`, {
    hint: "Ask for a range that begins inside of the file.",
    code: "BAD_RANGE",
  });
}
