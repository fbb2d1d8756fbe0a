import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AtomicCommitError, SelfRunningError, UsageError } from "../core/errors.ts";
import { refusal } from "./failure.ts";

describe("a commit or an undo that is refused", () => {
  const cause = new UsageError("The plan fix is read-only.", { hint: "Make another plan." });

  it("says which of the two did not happen, and why", () => {
    assert.equal(refusal("commit", cause).message, "The plan was not applied: The plan fix is read-only.");
    assert.equal(refusal("undo", cause).message, "The plan was not undone: The plan fix is read-only.");
  });

  it("keeps the cause and its hint, and says that nothing was done", () => {
    const error = refusal("undo", cause);
    assert.equal(error.cause, cause);
    assert.equal(error.hint, "Make another plan.");
    assert.deepEqual([error.undone, error.notUndone, error.conflicts], [[], [], []]);
    assert.equal(refusal("undo", new Error("no hint")).hint, "Nothing was changed.");
  });

  it("names the files that tools run by themselves", () => {
    const files = [{ resource: "app", path: ".envrc", tool: "direnv", why: "runs it" }];
    assert.deepEqual(refusal("commit", new SelfRunningError(files)).selfRunning, files);
  });

  it("leaves alone what says more already", () => {
    const failure = { failed: { resource: "app", message: "full" }, undone: ["app"], notUndone: [], conflicts: [] };
    const error = new AtomicCommitError("It failed.", failure);
    assert.equal(refusal("commit", error), error);
  });
});
