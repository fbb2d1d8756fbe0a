import { createHash } from "node:crypto";
import type { PlanChange } from "../plan-views.ts";

/**
 * The digest of one change: its facts and both sides, as the digest of a whole diff has them. A vote binds to
 * it, so a change that moves loses its votes, and no other change does.
 */
export function changeDigest(change: PlanChange): string {
  return createHash("sha256").update(JSON.stringify(change)).digest("hex");
}

const BYTES = 32;

/** Digests as one text, because a history may have a hundred thousand of them. */
export function packDigests(digests: Iterable<string>): string {
  return Buffer.concat(Array.from(digests, (digest) => Buffer.from(digest, "hex"))).toString("base64");
}

export function* unpackDigests(packed: string): Generator<string> {
  const bytes = Buffer.from(packed, "base64");
  for (let at = 0; at < bytes.length; at += BYTES) yield bytes.toString("hex", at, at + BYTES);
}
