import type { z } from "zod";
import type { ErrorCode } from "../../core/errors/error-codes.ts";
import {
  AtomicCommitError,
  DrydockError,
  InterruptedError,
  messageOf,
  SandboxConflictError,
  StatementError,
  UnsupportedError,
  UsageError,
} from "../../core/errors/errors.ts";
import { apiHint } from "../api-hints.ts";
import type { problemShape } from "../shapes/machine-shapes.ts";

/** A request that is refused as such, before it reaches an operation. */
export class RequestError extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string;
  readonly details: { readonly [fact: string]: unknown };

  constructor(
    [status, code]: readonly [number, string],
    message: string,
    {
      hint,
      details = {},
      cause,
    }: Pick<RequestError, "hint"> & Partial<Pick<RequestError, "details" | "cause">>,
  ) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.details = details;
  }
}

/** A failure after which a plan that the client can't know holds its work. */
export class FailedWithWork extends Error {
  readonly planId: string;

  constructor(planId: string, cause: unknown) {
    super(messageOf(cause), { cause });
    this.planId = planId;
  }
}

export type Problem = z.output<typeof problemShape>;

/** An error as a problem document (RFC 9457): our code, what is wrong, what to do. Never a stack trace. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof FailedWithWork) {
    const problem = problemOf(thrown.cause);
    return { ...problem, details: { ...problem.details, planId: thrown.planId } };
  }
  if (thrown instanceof DrydockError || thrown instanceof RequestError) {
    const { code, message, details } = thrown;
    const [status, hint] =
      thrown instanceof RequestError ? [thrown.status, thrown.hint] : [statusOf(thrown), apiHint(thrown)];
    return problem(status, code, { detail: message, hint, details });
  }
  const hint = "This is a defect of Drydock; please report it.";
  return problem(500, "DEFECT", { detail: messageOf(thrown), hint, details: {} });
}

function problem(
  status: number,
  code: string,
  { details, ...texts }: Pick<Problem, "detail" | "hint"> & { readonly details: object },
): Problem {
  const type = `urn:drydock:problem:${code}`;
  const title = code.toLowerCase().replaceAll("_", " ");
  const facts = JSON.parse(JSON.stringify(details)) as { [fact: string]: unknown };
  return { type, title, status, code, ...texts, ...(Object.keys(facts).length > 0 && { details: facts }) };
}

/** Codes whose status is not that of their class. */
const STATUSES: { readonly [code in ErrorCode]?: number } = {
  UNKNOWN_PLAN: 404,
  UNKNOWN_RESOURCE: 404,
  UNKNOWN_CHECKPOINT: 404,
  UNKNOWN_TYPE: 404,
  NO_SUCH_FILE: 404,
  NO_SUCH_COMMAND: 404,
  AMBIGUOUS_PLAN: 409,
  AMBIGUOUS_CHECKPOINT: 409,
  PLAN_NAME_TAKEN: 409,
  LABEL_TAKEN: 409,
  PATH_TAKEN: 409,
  NOT_EMPTY: 409,
  STALE_CURSOR: 409,
  NOT_APPROVED: 409,
  PLAN_STATE: 409,
  SANDBOX_STATE: 409,
  BUSY: 409,
  CLAIMED: 409,
  NOT_ALLOWED: 403,
  READ_ONLY: 403,
  BAD_RANGE: 416,
  TOO_LARGE: 413,
};

function statusOf(error: DrydockError): number {
  if (error instanceof AtomicCommitError) return statusOfCommit(error);
  const known = STATUSES[error.code];
  if (known !== undefined) return known;
  if (error instanceof UsageError || error instanceof StatementError) return 400;
  if (error instanceof SandboxConflictError) return 409;
  if (error instanceof UnsupportedError) return 422;
  // The server stops, or the client that would have read it is gone.
  if (error instanceof InterruptedError) return 503;
  return 500;
}

/** What is not settled matters more than the reason; a refusal has the status of its reason. */
function statusOfCommit(error: AtomicCommitError): number {
  if (error.notUndone.length > 0 || error.pending !== undefined) return 500;
  return error.cause instanceof DrydockError ? statusOf(error.cause) : 409;
}
