import type { CheckResult } from "../values/checks.ts";
import { DrydockError, type ErrorDetails } from "./errors.ts";

/** A check before a landing failed. Nothing was changed. */
export class CheckFailedError extends DrydockError {
  readonly check: CheckResult;

  constructor(check: CheckResult) {
    const { exitCode, signal, limit } = check;
    const how =
      limit !== undefined
        ? `was ended because it met its limit of ${limit}`
        : signal !== undefined
          ? `was ended by ${signal}`
          : `failed with exit code ${exitCode}`;
    super("CHECK_FAILED", `The check '${check.check}' ${how}.`);
    this.check = check;
  }

  override get details(): ErrorDetails {
    return { ...super.details, check: this.check };
  }
}
