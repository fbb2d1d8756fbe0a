/**
 * The advisory locks that processes of a fleet take on its database. They have two numbers: that of Drydock,
 * "dryd" in ASCII, and that of the lock.
 */
const DRYDOCK = 0x64727964;

export const LOCKS = {
  /** Shared by every connection; a migration has it alone. */
  schema: `${DRYDOCK}, 1`,
  /** Shared by transactions that add to the history; a reader that must miss none of them has it alone. */
  history: `${DRYDOCK}, 2`,
  /** For looking at claims and adding one. */
  claims: `${DRYDOCK}, 3`,
} as const;

/** A lock that each connection of a process shares while it lives, so that others see that it is there. */
export function presenceLock(number: number): string {
  return `${DRYDOCK + 1}, ${number}`;
}

/** A statement that takes a lock alone until the end of its transaction. */
export function lockAlone(lock: keyof typeof LOCKS): string {
  return `SELECT pg_advisory_xact_lock(${LOCKS[lock]})`;
}

/** A statement that takes a lock until the end of its transaction, together with others that share it. */
export function lockTogether(lock: keyof typeof LOCKS): string {
  return `SELECT pg_advisory_xact_lock_shared(${LOCKS[lock]})`;
}
