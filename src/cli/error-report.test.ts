import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AtomicCommitError, SandboxConflictError, UsageError } from "../core/errors/errors.ts";
import { errorDocument, errorLines, traceOf } from "./error-report.ts";
import { NO_STYLES } from "./render/styles.ts";

const usage = new UsageError("There is no plan 'x'.", { hint: "Run 'drydock plan list'." });

describe("the report of an error", () => {
  it("[X4] is a line that says what is wrong and a line that says what to do", () => {
    assert.deepEqual(errorLines(usage, NO_STYLES), [
      "error: There is no plan 'x'.",
      "  hint: Run 'drydock plan list'.",
    ]);
  });

  it("[X4] stays on its lines and does nothing to a terminal, whatever the message holds", () => {
    const [first] = errorLines(new UsageError("a\nb\u001b[2Jc\udcff\\n"), NO_STYLES);
    assert.equal(first, "error: a\\nb\\u001b[2Jc\\xff\\n");
  });

  it("[A15] names every conflict", () => {
    const conflicts = [
      { resource: "app", path: "x", why: "changed since" },
      { resource: "app", path: ".", why: "replaced" },
    ];
    const lines = errorLines(
      new SandboxConflictError(conflicts, { message: "Conflict.", hint: "Look." }),
      NO_STYLES,
    );
    assert.deepEqual(lines.slice(2), ["  conflict: app/x: changed since", "  conflict: app: replaced"]);
    const [, , bare] = errorLines(new SandboxConflictError([{ path: "x", why: "changed since" }]), NO_STYLES);
    assert.equal(bare, "  conflict: x: changed since");
  });

  it("[A4] names everything that is not undone", () => {
    const notUndone = [{ resource: "db", message: "the server is gone" }];
    const failure = {
      failed: { resource: "app", message: "full" },
      undone: ["app"],
      notUndone,
      conflicts: [],
    };
    const error = new AtomicCommitError("The apply failed.", failure, { hint: "Make room." });
    assert.deepEqual(errorLines(error, NO_STYLES).slice(2), ["  not undone: db: the server is gone"]);
    assert.deepEqual(errorDocument(error), {
      error: { code: "ATOMIC_COMMIT", message: "The apply failed.", hint: "Make room.", details: failure },
    });
  });

  it("[X4] calls what nobody expected a defect, in as few lines", () => {
    const lines = errorLines(new TypeError("x is not a function"), NO_STYLES);
    assert.equal(lines.length, 2);
    assert.equal(lines[0], "error: x is not a function");
    assert.match(lines[1] ?? "", /^ {2}hint: This is a defect of Drydock\./);
    assert.deepEqual(Object.keys(errorDocument("text")), ["error"]);
  });

  it("[X4] gives the traces of an error and of its causes for --debug", () => {
    const trace = traceOf(new UsageError("outer", { cause: new Error("inner", { cause: "text" }) }));
    assert.match(
      trace,
      /^UsageError: outer\n {4}at .*\ncaused by: Error: inner\n {4}at .*\ncaused by: text$/s,
    );
  });
});
