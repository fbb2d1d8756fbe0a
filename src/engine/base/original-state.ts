import { type Facts, sameIdentity, sameTime, type Time } from "../../system/calls/facts.ts";
import { isAfter } from "./barrier.ts";
import type { BaseFacts } from "./baseline.ts";

/** How the age of an entry of the original is judged. */
export interface Ages {
  /** T0: an entry with a change time at or after it was changed by another writer. */
  readonly barrier: Time;
  /**
   * Replaces a change time that our own landings and undos caused by the earlier one. The result is never
   * later.
   */
  readonly asBefore: (facts: Facts) => Facts;
}

/**
 * Whether another writer changed an entry since the barrier. Looks up our own changes only for entries that
 * are not older by themselves.
 */
export function isSince(now: Facts, { barrier, asBefore }: Ages): boolean {
  return isAfter(now, barrier) && isAfter(asBefore(now), barrier);
}

/** Whether an entry of the original is still the base that the sandbox was made from. */
export function isStillBase(now: Facts | undefined, base: BaseFacts, ages: Ages): boolean {
  if (now === undefined || !sameIdentity(now, base)) return false;
  // A folder's change time also moves when another writer adds a name, which does not change the folder
  // itself.
  if (base.kind === "directory")
    return now.mode === base.mode && now.uid === base.uid && now.gid === base.gid;
  return !isSince(now, ages) || (base.ctime !== undefined && sameTime(now.ctime, base.ctime));
}
