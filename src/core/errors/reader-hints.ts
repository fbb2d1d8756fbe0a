/**
 * What to do about an error, in the words of one kind of reader: people at the command line, programs that
 * speak HTTP, agents. An error that has a hint of its own keeps it: it may come from a strategy of the user's
 * own, and else holds for every reader.
 */

import { displayPath } from "../paths/byte-path.ts";
import { type ErrorCode, hintOfCode, NO_HINT } from "./error-codes.ts";
import { AtomicCommitError, DrydockError, type ErrorDetails, type PendingCommit } from "./errors.ts";

/** A hint, or what makes one of the facts of an error. */
type Hint = string | ((facts: ErrorDetails) => string);

/** The words of one kind of reader. */
export interface ReaderWords {
  /** By code. A code without one keeps that of the library, whose words then hold for this reader too. */
  readonly codes: { readonly [code in ErrorCode]?: Hint };
  /** What is to be done about a commit that is not settled. */
  readonly pending: { readonly [pending in PendingCommit]: string };
  /** For an undo: the plan that has to be undone first. */
  undoFirst(plan: { readonly planId: string; readonly name: string }): string;
  /** If nothing better is known. */
  readonly otherwise: string;
}

export function readerHint(error: DrydockError, words: ReaderWords): string {
  const { code, hint, details, cause } = error;
  if (error instanceof AtomicCommitError && error.pending !== undefined) return words.pending[error.pending];
  if (error instanceof AtomicCommitError && error.later[0] !== undefined)
    return words.undoFirst(error.later[0]);
  // It says what its cause says.
  if (cause instanceof DrydockError && cause.hint === hint) return readerHint(cause, words);
  if (hint !== hintOfCode(code)) return hint;
  const known = words.codes[code];
  if (known !== undefined) return typeof known === "string" ? known : known(details);
  return hint === NO_HINT ? words.otherwise : hint;
}

/** A fact that a hint names; a strategy of the user's own may use our codes without it. */
export function factOr(fact: unknown, otherwise: string): string {
  return typeof fact === "string" ? displayPath(fact) : otherwise;
}
