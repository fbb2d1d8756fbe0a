import type { Facts, Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
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
  /** A change at or after this time is another writer's. */
  readonly landedAt: Time;
  readonly asBefore: (facts: Facts) => Facts;
  /** Whether an entry is in the original as it was left. */
  readonly isAsLeft: (entry: ManifestEntry) => boolean;
}

export function landedPart(facts: Omit<LandedPart, "isAsLeft">): LandedPart {
  const { original, manifest, landedAt, asBefore } = facts;
  const times = { landedAt, stagedAt: manifest.stagedAt, asBefore };
  return { ...facts, isAsLeft: (entry) => whyNot(original, entry, times) === undefined };
}
