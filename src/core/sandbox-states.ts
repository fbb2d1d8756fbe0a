import { SandboxStateError } from "./errors/errors.ts";

/**
 * The life of a sandbox, and what a crash in each state means:
 * - PENDING: create was called and has not returned. After a crash recovery removes it; no caller has seen
 *   it.
 * - CREATED: complete, and never used. CREATED and ACTIVE outlive any process.
 * - ACTIVE: may hold work.
 * - PREPARED: voted yes in a commit and is frozen. After a crash the journal says whether it lands or becomes
 *   ACTIVE again.
 * - COMMITTED: its work is in the original. It may be used again (ACTIVE, on the new base) or taken back.
 * - ROLLED_BACK: the original is as before and the sandbox holds no work; usable again.
 * - ERRORED: its work can't be trusted; the record says why.
 * - CLEANED_UP: removed, except for its record.
 */
export const SANDBOX_STATES = [
  "PENDING",
  "CREATED",
  "ACTIVE",
  "PREPARED",
  "COMMITTED",
  "ROLLED_BACK",
  "ERRORED",
  "CLEANED_UP",
] as const;

export type SandboxState = (typeof SANDBOX_STATES)[number];

/** The one table of legal moves. */
export const SANDBOX_MOVES: { readonly [from in SandboxState]: readonly SandboxState[] } = {
  PENDING: ["CREATED", "ERRORED", "CLEANED_UP"],
  CREATED: ["ACTIVE", "PREPARED", "ROLLED_BACK", "CLEANED_UP", "ERRORED"],
  ACTIVE: ["PREPARED", "COMMITTED", "ROLLED_BACK", "CLEANED_UP", "ERRORED"],
  PREPARED: ["COMMITTED", "ACTIVE", "ERRORED"],
  COMMITTED: ["ROLLED_BACK", "ACTIVE", "CLEANED_UP", "ERRORED"],
  ROLLED_BACK: ["ACTIVE", "CLEANED_UP", "ERRORED"],
  ERRORED: ["ROLLED_BACK", "CLEANED_UP"],
  CLEANED_UP: [],
};

/** States in which a sandbox may be read and written. */
export const USABLE_STATES: readonly SandboxState[] = ["CREATED", "ACTIVE", "COMMITTED", "ROLLED_BACK"];

/** Returns `to` if the move is legal; staying in a state always is. */
export function moveSandbox(sandboxId: string, from: SandboxState, to: SandboxState): SandboxState {
  if (from === to || SANDBOX_MOVES[from].includes(to)) return to;
  const possible = SANDBOX_MOVES[from];
  throw new SandboxStateError(`Sandbox ${sandboxId} is ${from} and cannot become ${to}.`, {
    from,
    to,
    hint:
      possible.length === 0
        ? "It is gone; make a new plan."
        : `From ${from} it can become ${possible.join(", ")}.`,
  });
}
