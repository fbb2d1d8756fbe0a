/**
 * A host's proof of life in the database. It bounds who drives transactions, for progress only: whoever
 * drives one without a lease can do no harm, because rows and what hosts have noted decide what happens.
 *
 * `until` is by the clock of the database. A host knows its own monotonic clock only. It counts from before
 * it sent the request that was granted, and stops a part of the time earlier, because its clock may be slow.
 */
export interface Lease {
  /** Raised whenever it is taken. What was begun in an earlier epoch belongs to nobody. */
  readonly epoch: number;
  readonly until: number;
}

/** How long a lease holds, and which part of that a host counts on. */
export interface LeaseTerms {
  readonly lengthMs: number;
  readonly countedOn: number;
}

export const LEASE_TERMS: LeaseTerms = { lengthMs: 15_000, countedOn: 0.8 };

/**
 * Takes the lease of a host anew, also while an earlier process of that host holds it. Whoever takes it says
 * which epoch it follows, so that a request of its own that arrives late takes nothing from it. Undefined:
 * the lease is in another epoch.
 */
export function takeLease(
  lease: Lease | undefined,
  follows: number,
  now: number,
  { lengthMs }: LeaseTerms,
): Lease | undefined {
  if (epochOf(lease) !== follows) return undefined;
  return { epoch: follows + 1, until: now + lengthMs };
}

/** The epoch that the next one follows. */
export function epochOf(lease: Lease | undefined): number {
  return lease?.epoch ?? 0;
}

/** The lease, prolonged; undefined if it has run out or was taken since: then the host takes a new epoch. */
export function renewLease(
  lease: Lease | undefined,
  epoch: number,
  now: number,
  { lengthMs }: LeaseTerms,
): Lease | undefined {
  if (lease?.epoch !== epoch || lease.until <= now) return undefined;
  return { epoch, until: now + lengthMs };
}

/** Whether whoever holds this epoch may still act, by the clock of the database. */
export function isAlive(lease: Lease | undefined, epoch: number, now: number): boolean {
  return lease?.epoch === epoch && lease.until > now;
}

/** Until when, by its own clock, a host may drive: `sentAt` is when it sent the request that was granted. */
export function countsOnLeaseUntil(sentAt: number, { lengthMs, countedOn }: LeaseTerms): number {
  return sentAt + lengthMs * countedOn;
}
