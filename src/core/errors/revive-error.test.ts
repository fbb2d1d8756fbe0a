import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as errors from "./errors.ts";
import { plainError, reviveError } from "./revive-error.ts";

const SAMPLES: readonly errors.DrydockError[] = [
  new errors.UsageError("used wrongly", { hint: "use it well", code: "BAD_URL" }),
  new errors.UnsupportedError("not here"),
  new errors.StateError("gone", { code: "NOT_HELD", details: { planId: "01ID" } }),
  new errors.StatementError("no such table", { hint: "make one" }),
  new errors.InterruptedError(),
  new errors.SandboxCreationError("not made"),
  new errors.SandboxCommitError("not landed"),
  new errors.SandboxRollbackError("not taken back", { code: "IRREVERSIBLE" }),
  new errors.SandboxStateError("is over", { from: "ACTIVE", to: "ERRORED" }),
  new errors.BusyError("in use", {
    holder: "vi (pid 7)",
    code: "UNFINISHED_COMMIT",
    details: { planId: "01ID" },
  }),
  new errors.SandboxConflictError([{ path: "items/7", why: "this row was changed meanwhile" }]),
];

describe("reviveError", () => {
  for (const error of SAMPLES)
    it(`makes a ${error.name} anew from what it is as JSON, with everything that it says`, () => {
      const revived = reviveError(JSON.parse(JSON.stringify(plainError(error))));
      assert.ok(revived !== undefined);
      assert.equal(revived.constructor, error.constructor);
      assert.deepEqual(plainError(revived), plainError(error));
    });

  it("keeps the code and the details of an error whose class it does not make", () => {
    const full = new errors.SystemCallError("ENOSPC", "write", "/f", "no room");
    const revived = reviveError(JSON.parse(JSON.stringify(plainError(full))));
    assert.ok(revived instanceof errors.DrydockError);
    const { message, code, hint, details } = full;
    assert.deepEqual({ ...plainError(revived), name: "" }, { name: "", message, code, hint, details });
  });

  it("keeps the cause that is given", () => {
    const cause = new Error("first");
    assert.equal(reviveError({ name: "UsageError", message: "x" }, cause)?.cause, cause);
  });

  it("makes nothing of a name that is not one of these", () => {
    for (const name of ["Error", "AtomicCommitError", "constructor", "SandboxStateError"])
      assert.equal(reviveError({ name, message: "x" }), undefined);
  });

  it("does not rely on the facts being what they should be", () => {
    const conflict = reviveError({
      name: "SandboxConflictError",
      message: "both",
      conflicts: [null, 3, { path: "a" }],
    });
    assert.deepEqual(conflict?.details, { conflicts: [{ path: "a", why: "it changed meanwhile" }] });
    assert.deepEqual(reviveError({ name: "BusyError", message: "busy" })?.details, {
      holder: "another process",
    });
    assert.notEqual(reviveError({ name: "UsageError", message: "x", hint: 7 })?.hint, 7);
  });
});
