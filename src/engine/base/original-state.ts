import { type Facts, sameIdentity, sameTime, type Time } from "../../system/calls/facts.ts";
import { isAfter } from "./barrier.ts";
import type { BaseFacts } from "./baseline.ts";

/** By what the age of an entry of the original is judged. */
export interface Ages {
  /** T0: what changed at or after it was changed by others. */
  readonly barrier: Time;
  /** The facts with the change time that counts, which is never later than the one they have. */
  readonly asBefore: (facts: Facts) => Facts;
}

/**
 * Whether somebody changed an entry since the barrier. What is older by its own change time is not looked up.
 */
export function isSince(now: Facts, { barrier, asBefore }: Ages): boolean {
  return isAfter(now, barrier) && isAfter(asBefore(now), barrier);
}

/** Whether an entry of the original, as it is now, is still what a sandbox was made from. */
export function isStillBase(now: Facts | undefined, base: BaseFacts, ages: Ages): boolean {
  if (now === undefined || !sameIdentity(now, base)) return false;
  // A folder's change time also moves when others add to it, which is not a change of the folder itself.
  if (base.kind === "directory")
    return now.mode === base.mode && now.uid === base.uid && now.gid === base.gid;
  return !isSince(now, ages) || (base.ctime !== undefined && sameTime(now.ctime, base.ctime));
}
