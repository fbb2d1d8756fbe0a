import type { Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { OwnTouches } from "../base/own-touches.ts";
import type { Manifest, ManifestEntry } from "../manifest/manifest.ts";
import { whyNot } from "./undo-check.ts";

/**
 * A part of a sandbox's work that has landed, or was taken back (rebase-after-part.ts).
 */
export interface LandedPart {
  readonly workspace: Folder;
  readonly original: Folder;
  readonly landing: Folder;
  readonly manifest: Manifest;
  readonly touches: OwnTouches;
  /** Whether an entry is in the original as it was left. */
  readonly isAsLanded: (entry: ManifestEntry) => boolean;
}

/** A change at or after `landedAt` is another writer's. */
export function landedPart(part: Omit<LandedPart, "isAsLanded">, landedAt: Time): LandedPart {
  const { original, manifest, touches } = part;
  const times = { stagedAt: manifest.stagedAt, age: touches.sinceForAll(landedAt) };
  return { ...part, isAsLanded: (entry) => whyNot(original, entry, times) === undefined };
}
