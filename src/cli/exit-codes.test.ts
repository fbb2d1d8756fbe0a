import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  AtomicCommitError,
  type AtomicCommitFailure,
  BusyError,
  ConfigError,
  SandboxConflictError,
  StateError,
  UsageError,
} from "../core/errors/errors.ts";
import { exitCodeOf } from "./exit-codes.ts";

const conflict = { resource: "app", path: "x", why: "changed" };

function failedApply(parts: Partial<AtomicCommitFailure>, cause?: Error): AtomicCommitError {
  const failed = { resource: "app", message: "it failed" };
  const failure = { failed, undone: [], notUndone: [], conflicts: [], ...parts };
  return new AtomicCommitError("The apply failed.", failure, { cause });
}

describe("the exit code", () => {
  it("is 2 for wrong use", () => {
    assert.equal(exitCodeOf(new UsageError("There is no such plan.")), 2);
    assert.equal(exitCodeOf(failedApply({}, new UsageError("The plan is read-only."))), 2);
    assert.equal(exitCodeOf(new ConfigError("It is broken.", { file: "drydock.yaml" })), 2);
  });

  it("is 3 for a conflict", () => {
    assert.equal(exitCodeOf(new SandboxConflictError([conflict])), 3);
    assert.equal(exitCodeOf(failedApply({ conflicts: [conflict] })), 3);
  });

  it("[A4] is 4 if something could not be undone, whatever else happened", () => {
    const notUndone = [{ resource: "db", message: "it is gone" }];
    assert.equal(exitCodeOf(failedApply({ notUndone })), 4);
    assert.equal(exitCodeOf(failedApply({ notUndone, conflicts: [conflict] })), 4);
  });

  it("is 1 for any other failure", () => {
    assert.equal(exitCodeOf(failedApply({})), 1);
    assert.equal(exitCodeOf(new StateError("It is corrupt.")), 1);
    assert.equal(exitCodeOf(new BusyError("It is held.", { holder: "drydock plan apply" })), 1);
    assert.equal(exitCodeOf(new TypeError("x is not a function")), 1);
    assert.equal(exitCodeOf("thrown text"), 1);
  });
});
