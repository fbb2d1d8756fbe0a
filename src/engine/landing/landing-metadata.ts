import { type Direction, isThereWithOtherMetadata } from "../manifest/manifest.ts";
import { foreignParts, type Metadata, metadataOf, setMetadata } from "../tree/metadata.ts";
import type { LandingTarget } from "./landing-target.ts";

/** How a run sets metadata. */
export interface MetadataRun {
  readonly direction: Direction;
  /** An earlier run may have been interrupted between two parts. */
  readonly isResumed: boolean;
  /** The modes of folders that are opened up while the landing lasts, by path. */
  readonly lockedModes: ReadonlyMap<string, number>;
}

/**
 * Sets the metadata of an entry that stays, except the parts that another writer has set since prepare.
 * Returns a message for the user, or undefined.
 */
export function landMetadata({ entry, parent, name }: LandingTarget, run: MetadataRun): string | undefined {
  const change = entry.metadata;
  const now = parent.facts(name);
  if (change === undefined) return undefined;
  if (now === undefined || !isThereWithOtherMetadata(now, entry.before))
    return "another process replaced it while the plan was landing; it was left alone";
  const current = asIfLocked(run.lockedModes.get(entry.path), metadataOf(parent, name, now));
  const foreign = foreignParts(current, change, run.isResumed);
  const parts = change.parts.filter((part) => !foreign.includes(part));
  const wanted = run.direction === "forward" ? change.after : change.before;
  setMetadata({ folder: parent, name }, wanted, parts, now.kind === "symlink");
  if (foreign.length === 0) return undefined;
  return `another process changed its ${foreign.join(", ")} while the plan was landing; that was left alone`;
}

/** A folder that is opened up for the landing has a mode that no writer has set. */
function asIfLocked(locked: number | undefined, current: Metadata): Metadata {
  return locked !== undefined && current.mode === (locked | 0o700) ? { ...current, mode: locked } : current;
}
