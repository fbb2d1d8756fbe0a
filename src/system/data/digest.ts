import { hash } from "node:crypto";

/** The SHA-256 of bytes, or of a text as UTF-8, in hex. content-digest.ts is for the content of files. */
export function digestOf(content: string | Uint8Array): string {
  return hash("sha256", content);
}
