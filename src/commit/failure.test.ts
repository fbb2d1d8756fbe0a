import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AtomicCommitError, SelfRunningError, UsageError } from "../core/errors/errors.ts";
import { failingAsOne } from "./failure.ts";

/** The error that a commit or an undo fails by if it meets this. */
async function refusal(direction: "commit" | "undo", thrown: Error): Promise<AtomicCommitError> {
  try {
    return await failingAsOne(direction, () => Promise.reject(thrown));
  } catch (error) {
    assert.ok(error instanceof AtomicCommitError);
    return error;
  }
}

describe("a commit or an undo that is refused", () => {
  const cause = new UsageError("The plan fix is read-only.", { hint: "Make another plan." });

  it("says which of the two did not happen, and why", async () => {
    assert.equal(
      (await refusal("commit", cause)).message,
      "The plan was not applied: The plan fix is read-only.",
    );
    assert.equal(
      (await refusal("undo", cause)).message,
      "The plan was not undone: The plan fix is read-only.",
    );
  });

  it("keeps the cause and its hint, and says that nothing was done", async () => {
    const error = await refusal("undo", cause);
    assert.equal(error.cause, cause);
    assert.equal(error.hint, "Make another plan.");
    assert.deepEqual([error.undone, error.notUndone, error.conflicts], [[], [], []]);
    assert.equal((await refusal("undo", new Error("no hint"))).hint, "Nothing was changed.");
  });

  it("names the files that tools run by themselves", async () => {
    const files = [{ resource: "app", path: ".envrc", tool: "direnv", why: "runs it" }];
    assert.deepEqual((await refusal("commit", new SelfRunningError(files))).selfRunning, files);
  });

  it("leaves alone what says more already", async () => {
    const failure = {
      failed: { resource: "app", message: "full" },
      undone: ["app"],
      notUndone: [],
      conflicts: [],
    };
    const error = new AtomicCommitError("It failed.", failure);
    assert.equal(await refusal("commit", error), error);
  });
});
