import { type Facts, sameIdentity, sameTime, type Time } from "../../system/calls/facts.ts";
import { isAfter } from "./barrier.ts";
import type { BaseFacts } from "./base-facts.ts";

/** How old entries of an original are: whether another writer changed them at or after a barrier. */
export class Age {
  readonly barrier: Time;
  readonly #isOurs: (facts: Facts) => boolean;

  /** `isOurs` says whether a change time at or after the barrier comes from our own work (own-touches.ts). */
  constructor(barrier: Time, isOurs: (facts: Facts) => boolean) {
    this.barrier = barrier;
    this.#isOurs = isOurs;
  }

  /** Whether another writer changed an entry since the barrier. Only younger entries need a lookup. */
  isSince(now: Facts): boolean {
    return isAfter(now, this.barrier) && !this.#isOurs(now);
  }

  /** Whether an entry of the original is still the base that the sandbox was made from. */
  isStillBase(now: Facts | undefined, base: BaseFacts): boolean {
    if (now === undefined || !sameIdentity(now, base)) return false;
    // A folder's change time also moves when another writer adds a name, which does not change the folder
    // itself.
    if (base.kind === "directory")
      return now.mode === base.mode && now.uid === base.uid && now.gid === base.gid;
    return !this.isSince(now) || (base.ctime !== undefined && sameTime(now.ctime, base.ctime));
  }
}
