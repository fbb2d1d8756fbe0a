import { isHeld } from "../../src/fleet/protocol/claim.ts";
import { afterDecide, afterSave } from "../../src/fleet/protocol/drive-results.ts";
import { GATE_CHECKS, type GateCheck } from "../../src/fleet/protocol/gate-checks.ts";
import { countsOnLeaseUntil, isAlive, renewLease, takeLease } from "../../src/fleet/protocol/lease.ts";
import { isCurrent, registrationProblem } from "../../src/fleet/protocol/registration.ts";
import { decide, giveUp, isOver, save, takeOver } from "../../src/fleet/protocol/transaction-row.ts";
import { upkeepOf } from "../../src/fleet/protocol/upkeep.ts";

/**
 * The protocol as the simulation runs it: the functions of src/fleet/protocol themselves, and a word for each
 * duty that is no function there. rules.ts takes rules out of it.
 */
export interface Protocol {
  readonly checks: readonly GateCheck[];
  readonly decide: typeof decide;
  readonly giveUp: typeof giveUp;
  readonly save: typeof save;
  readonly takeOver: typeof takeOver;
  readonly isHeld: typeof isHeld;
  readonly takeLease: typeof takeLease;
  readonly renewLease: typeof renewLease;
  readonly isAlive: typeof isAlive;
  readonly countsOnLeaseUntil: typeof countsOnLeaseUntil;
  readonly registrationProblem: typeof registrationProblem;
  readonly isCurrent: typeof isCurrent;
  readonly upkeepOf: typeof upkeepOf;
  readonly afterDecide: typeof afterDecide;
  readonly afterSave: typeof afterSave;
  readonly mayRemoveRows: typeof isOver;
  /** All calls for one original of a host run one after the other. */
  readonly oneCallAtATime: boolean;
  /** Notes are on disk before a host goes on. */
  readonly flushesNotes: boolean;
  /** A commit that can't be taken back is noted before the look. */
  readonly notesBeforeLook: boolean;
  /** Each try of a call has a number of its own. */
  readonly countsAttempts: boolean;
  /** No process asks for a start under its name that another one has asked for. */
  readonly newStarts: boolean;
  /** Trying once more is a new transaction. */
  readonly newIds: boolean;
  /** The database keeps what it has committed when it restarts. */
  readonly keepsCommits: boolean;
  /** "Aborted" is saved once every host has answered that it took back. */
  readonly waitsForAll: boolean;
  /** How long calls are kept after their deadline: longer than any request of a sender is on its way. */
  readonly callsStayMs: number;
  /** Whoever stops waiting for a call takes it out of the queue. */
  readonly cancels: boolean;
}

export const PROTOCOL: Protocol = {
  checks: GATE_CHECKS,
  decide,
  giveUp,
  save,
  takeOver,
  isHeld,
  takeLease,
  renewLease,
  isAlive,
  countsOnLeaseUntil,
  registrationProblem,
  isCurrent,
  upkeepOf,
  afterDecide,
  afterSave,
  mayRemoveRows: isOver,
  oneCallAtATime: true,
  flushesNotes: true,
  notesBeforeLook: true,
  countsAttempts: true,
  newStarts: true,
  newIds: true,
  keepsCommits: true,
  waitsForAll: true,
  callsStayMs: 30_000,
  cancels: true,
};
