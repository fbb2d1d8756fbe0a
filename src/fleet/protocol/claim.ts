import type { Driver } from "./call.ts";

/**
 * The exclusive right to work on a plan or an original, in the database. The claims of a transaction belong
 * to it until it is over, whoever drives it: they never run out. Those of an operation outside of a
 * transaction belong to the process that does it, and end with the lease of its host.
 */
export interface Claim {
  readonly work: string;
  readonly scope: "transaction" | "operation";
  readonly holder: Driver;
}

/** Whether a claim keeps others out. `isAlive` says so of its holder's lease. */
export function isHeld(claim: Claim | undefined, isAlive: (holder: Driver) => boolean): boolean {
  return claim !== undefined && (claim.scope === "transaction" || isAlive(claim.holder));
}
