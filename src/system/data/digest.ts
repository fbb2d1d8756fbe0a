import { hash } from "node:crypto";

/**
 * The SHA-256 of a text, as UTF-8, or of bytes, in hex. For the content of files there is content-digest.ts.
 */
export function digestOf(content: string | Uint8Array): string {
  return hash("sha256", content);
}
