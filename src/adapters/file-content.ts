import type { ReadResult } from "deepagents";
import { UsageError } from "../core/errors/errors.ts";

/** Types of files that are no text, by the ends of their names. A model gets such a file as it is. */
const BINARY_TYPES: { readonly [end: string]: string } = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  bmp: "image/bmp",
  heic: "image/heic",
  pdf: "application/pdf",
  mp3: "audio/mpeg",
  wav: "audio/wav",
  ogg: "audio/ogg",
  flac: "audio/flac",
  mp4: "video/mp4",
  mov: "video/quicktime",
  webm: "video/webm",
};

/** Whether a file is known to be no text by its name. A framework hands its content on in base64. */
export function isBinaryName(path: string): boolean {
  return binaryTypeOf(path) !== undefined;
}

/** Bytes as text for a model, which can do nothing with what is none. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}

/** The content of a file as text; undefined if it is none. */
export function textIn(path: string, bytes: Uint8Array): string | undefined {
  if (isBinaryName(path) || bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // It is no UTF-8.
    return undefined;
  }
}

/** The type of a file with this content. */
export function typeOf(path: string, content: string | Uint8Array): string {
  return typeof content === "string" ? "text/plain" : (binaryTypeOf(path) ?? "application/octet-stream");
}

/** A page of the lines of a file; all of it, if it is no text. */
export function pageOf(
  path: string,
  bytes: Uint8Array,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): ReadResult {
  const text = textIn(path, bytes);
  const mimeType = typeOf(path, text ?? bytes);
  if (text === undefined) return { content: bytes, mimeType };
  if (text === "" || limit <= 0) return { content: "", mimeType };
  const lines = text.replace(/\n$/, "").split("\n");
  const first = Math.max(0, offset);
  if (first >= lines.length)
    throw new UsageError(`'${path}' has ${lines.length} lines: there is none at offset ${first}.`);
  const end = Math.min(first + limit, lines.length);
  return {
    ...{ content: lines.slice(first, end).join("\n"), mimeType, totalLines: lines.length },
    ...{ startLine: first + 1, endLine: end, ...(end < lines.length && { nextOffset: end }) },
  };
}

function binaryTypeOf(path: string): string | undefined {
  return BINARY_TYPES[path.slice(path.lastIndexOf(".") + 1).toLowerCase()];
}
