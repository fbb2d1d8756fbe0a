import { UsageError } from "../../core/errors/errors.ts";
import type { ByteAnswer } from "../operation.ts";

/** A part of a file. */
interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** The answer to a request for a file of this size, or for the range of it that the header names. */
export function rangeAnswer(
  header: string | undefined,
  size: number,
  read: (range: ByteRange) => ByteAnswer["content"],
): ByteAnswer {
  const range = byteRange(header, size);
  const { offset, length } = range ?? { offset: 0, length: size };
  const ofLength = { "content-length": String(length) };
  const content = read({ offset, length });
  if (range === undefined) return { headers: { "accept-ranges": "bytes", ...ofLength }, content };
  const shown = `bytes ${offset}-${offset + length - 1}/${size}`;
  return { status: 206, headers: { "content-range": shown, ...ofLength }, content };
}

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * The part that a Range header asks for; undefined if it asks for all. As the standard says, a header that
 * can't be understood does not count, and one that begins behind the end is refused.
 */
function byteRange(header: string | undefined, size: number): ByteRange | undefined {
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
