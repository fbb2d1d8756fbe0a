import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  AtomicCommitError,
  BusyError,
  ConfigError,
  DrydockError,
  InterruptedError,
  messageOf,
  PlanStateError,
  SandboxCommitError,
  SandboxConflictError,
  SandboxCreationError,
  SandboxRollbackError,
  SandboxStateError,
  StateError,
  SystemCallError,
  UnsupportedError,
  UsageError,
} from "./errors.ts";

const FAILURE = {
  failed: { resource: "app", message: "no room" },
  undone: ["db"],
  notUndone: [],
  conflicts: [],
};

const ALL: readonly (readonly [name: string, code: string, error: DrydockError])[] = [
  ["UsageError", "USAGE", new UsageError("m")],
  ["ConfigError", "CONFIG", new ConfigError("m", { file: "drydock.yaml" })],
  ["UnsupportedError", "UNSUPPORTED", new UnsupportedError("m")],
  ["BusyError", "BUSY", new BusyError("m", { holder: "another plan" })],
  ["StateError", "STATE", new StateError("m")],
  ["InterruptedError", "INTERRUPTED", new InterruptedError()],
  ["SystemCallError", "ENOENT", new SystemCallError("ENOENT", "open", "/f", "no such file")],
  ["PlanStateError", "PLAN_STATE", new PlanStateError({ id: "1", name: "p", state: "applied" }, "open")],
  ["SandboxStateError", "SANDBOX_STATE", new SandboxStateError("m", { from: "A", to: "B" })],
  ["SandboxCreationError", "SANDBOX_CREATION", new SandboxCreationError("m")],
  ["SandboxCommitError", "SANDBOX_COMMIT", new SandboxCommitError("m")],
  ["SandboxRollbackError", "SANDBOX_ROLLBACK", new SandboxRollbackError("m")],
  ["SandboxConflictError", "CONFLICT", new SandboxConflictError([{ path: "f", why: "changed" }])],
  ["AtomicCommitError", "ATOMIC_COMMIT", new AtomicCommitError("m", FAILURE)],
];

describe("an error of Drydock", () => {
  for (const [name, code, error] of ALL) {
    it(`[X4] ${name} has its name, its code, a message and something to do`, () => {
      assert.ok(error instanceof DrydockError && error instanceof Error);
      assert.deepEqual([error.name, error.code], [name, code]);
      assert.ok(error.message.length > 0 && error.hint.length > 0);
      assert.equal(error.cause, undefined);
    });
  }

  it("[X4] keeps its cause once, and takes a code and a hint of its own", () => {
    const cause = new Error("inner");
    const error = new UsageError("outer", { cause, code: "BAD_PATH", hint: "Do this." });
    assert.deepEqual(
      [error.cause, error.code, error.hint, error.message],
      [cause, "BAD_PATH", "Do this.", "outer"],
    );
  });

  it("[X4] gives its facts to programs", () => {
    assert.deepEqual(new ConfigError("m", { file: "f", line: 3, column: 4 }).details, {
      file: "f",
      line: 3,
      column: 4,
    });
    assert.deepEqual(new BusyError("m", { holder: "h" }).details, { holder: "h" });
    assert.deepEqual(new SandboxStateError("m", { from: "A", to: "B" }).details, { from: "A", to: "B" });
    assert.deepEqual(new SystemCallError("EIO", "read", "/f", "broken").details, {
      call: "read",
      path: "/f",
    });
    assert.deepEqual(new AtomicCommitError("m", FAILURE).details, FAILURE);
    assert.deepEqual(new UsageError("m").details, {});
  });

  it("[X4] says what to do about the failures of a disk", () => {
    for (const [errno, part] of [
      ["ENOSPC", "Make room"],
      ["EDQUOT", "Make room"],
      ["EACCES", "permissions"],
      ["EPERM", "permissions"],
      ["EROFS", "read-only"],
      ["EIO", "kernel log"],
      ["ELOOP", "link"],
      ["EXDEV", "link"],
      ["ENOENT", "Check /the/file"],
    ] as const) {
      const error = new SystemCallError(errno, "open", "/the/file", "it failed");
      assert.ok(error.hint.includes(part), error.hint);
      assert.equal(error.message, `open failed on /the/file: it failed (${errno})`);
    }
  });

  it("[A15] names every conflict, and the first of them in its message", () => {
    const conflicts = [
      { path: "a", why: "changed in the original" },
      { path: "b", why: "deleted in the original" },
    ];
    const error = new SandboxConflictError(conflicts);
    assert.deepEqual(error.details, { conflicts });
    assert.equal(error.message, "The original changed meanwhile: a (changed in the original) and 1 more.");
    assert.equal(
      new SandboxConflictError(conflicts.slice(0, 1)).message,
      "The original changed meanwhile: a (changed in the original).",
    );
    assert.equal(new SandboxConflictError(conflicts, { message: "Other words." }).message, "Other words.");
  });
});

describe("messageOf", () => {
  it("has words for anything that is thrown", () => {
    assert.deepEqual(
      [messageOf(new Error("m")), messageOf("text"), messageOf(undefined), messageOf(7)],
      ["m", "text", "undefined", "7"],
    );
  });
});
