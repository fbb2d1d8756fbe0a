import { CheckFailedError } from "../core/errors/check-failed-error.ts";
import {
  AtomicCommitError,
  DrydockError,
  hintOf,
  messageOf,
  type ParticipantReport,
  type PendingCommit,
  SandboxConflictError,
  SelfRunningError,
} from "../core/errors/errors.ts";
import type { TransactionPhase, TransactionRecord } from "../core/transaction.ts";
import type { Outcome } from "./outcome.ts";

type Direction = TransactionRecord["direction"];

/**
 * Turns every failure of a commit or an undo into an `AtomicCommitError`, even a refusal before anything is
 * prepared.
 */
export async function failingAsOne<T>(direction: Direction, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw thrown instanceof AtomicCommitError ? thrown : notBegun(direction, thrown);
  }
}

function notBegun(direction: Direction, cause: unknown): AtomicCommitError {
  const selfRunning = cause instanceof SelfRunningError ? cause.files : [];
  const conflicts = cause instanceof SandboxConflictError ? cause.conflicts : [];
  const failed = { resource: "", message: messageOf(cause) };
  return new AtomicCommitError(
    `The plan was not ${DONE[direction]}: ${messageOf(cause)}`,
    {
      ...{ failed, undone: [], notUndone: [], conflicts, selfRunning },
      ...(cause instanceof CheckFailedError && { check: cause.check }),
      ...reasonOf(cause),
    },
    { cause, hint: hintOf(cause) ?? "Nothing was changed." },
  );
}

const DONE = { commit: "applied", undo: "undone" } as const;

function reasonOf(cause: unknown): Pick<AtomicCommitError, "reason"> {
  return cause instanceof DrydockError ? { reason: cause.code } : {};
}

/** The error of a failed commit or undo: what failed, what is as before, what is not, and what to do. */
export function commitFailure({ record, unfinished, cause }: Outcome): AtomicCommitError {
  const verb = DONE[record.direction];
  const failed: ParticipantReport = record.failure?.report ??
    unfinished[0] ?? { resource: "", message: "it did not finish" };
  const notUndone = [...unfinished, ...notUndoneIn(record)];
  const undone = record.participants
    .filter(({ status, kind }) => status === "undone" && kind !== "in-place")
    .map(({ resource }) => resource);
  const where = failed.resource === "" ? "" : `${failed.resource}: `;
  const pending = PENDING[record.phase];
  const message =
    pending === "find-out"
      ? `Whether the plan is ${verb} is not known yet: ${where}${failed.message}`
      : pending === "finish"
        ? `The plan is being ${verb}, but not all of it could be finished yet: ${where}${failed.message}`
        : `The plan was not ${verb}: ${where}${failed.message}`;
  return new AtomicCommitError(
    message,
    {
      failed,
      undone,
      notUndone,
      conflicts: record.failure?.conflicts ?? [],
      ...reasonOf(cause),
      ...(pending !== undefined && { pending }),
      ...(cause instanceof SelfRunningError && {
        selfRunning: cause.files.map((file) => ({ ...file, resource: file.resource ?? failed.resource })),
      }),
    },
    { cause, hint: hintFor(pending, notUndone, cause) },
  );
}

function notUndoneIn(record: TransactionRecord): ParticipantReport[] {
  return record.participants.flatMap(({ status, resource, message }) =>
    status === "not-undone" ? [{ resource, message: message ?? "" }] : [],
  );
}

/**
 * A commit that ends in `preparing` could write neither the decision nor its failure: only the journal on
 * disk tells.
 */
const PENDING: { readonly [phase in TransactionPhase]?: PendingCommit } = {
  preparing: "find-out",
  landing: "finish",
  aborting: "take-back",
  "in-doubt": "in-doubt",
};

const HINTS: { readonly [pending in PendingCommit]: string } = {
  "find-out": "Mend the cause; `recover` finds out, and finishes it or takes it back.",
  finish: "Mend the cause; `recover` finishes it.",
  "take-back": "Mend the cause; `recover` takes the rest back.",
  "in-doubt": "Find out whether it happened, and say so by `settle`.",
};

function hintFor(
  pending: PendingCommit | undefined,
  notUndone: readonly ParticipantReport[],
  cause: unknown,
): string {
  if (pending !== undefined) return HINTS[pending];
  if (notUndone.length > 0) return "Look at what could not be taken back.";
  return cause instanceof DrydockError
    ? cause.hint
    : "Nothing was changed, and the work is still in the sandbox: mend the cause and try again.";
}
