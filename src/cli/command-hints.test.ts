import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ERROR_CODES, hintOfCode } from "../core/errors/error-codes.ts";
import {
  AtomicCommitError,
  DrydockError,
  PlanStateError,
  SandboxCommitError,
  SelfRunningError,
  UsageError,
} from "../core/errors/errors.ts";
import { plainError, reviveError } from "../core/errors/revive-error.ts";
import { commandHint } from "./command-hints.ts";

const FAILURE = { failed: { resource: "app", message: "m" }, undone: [], notUndone: [], conflicts: [] };
/** A function or an option of the library, as its hints write it. */
const LIBRARY = /`/;
const COMMAND_LINE = /'drydock |--[a-z]|drydock command/;

describe("the hint of an error on the command line", () => {
  it("[X4] is in words of the command line for every code, as that of the library is in words of programs", () => {
    for (const code of ERROR_CODES) {
      assert.doesNotMatch(hintOfCode(code), COMMAND_LINE, code);
      const shown = commandHint(new DrydockError(code, "m"));
      assert.doesNotMatch(shown, LIBRARY, code);
      assert.doesNotMatch(shown, /undefined/, code);
    }
  });

  it("[X4] names the thing that the error is about", () => {
    const of = (code: DrydockError["code"], details: object) =>
      commandHint(new UsageError("m", { code, details: { ...details } }));
    assert.equal(of("UNKNOWN_CHECKPOINT", { planId: "01ID" }), "See 'drydock plan checkpoints 01ID'.");
    assert.match(of("UNFINISHED_COMMIT", { planId: "01ID" }), /'drydock recover 01ID --commit'/);
    assert.match(of("NOT_ALLOWED", { type: "fs-file" }), /'drydock resource-type show fs-file'/);
    assert.match(of("LIMIT_TOO_LOW", { limit: "memory" }), /--limit memory=/);
    assert.match(of("NO_STRATEGY", { known: false }), /^'drydock resource-type list'/);
    assert.match(of("NO_STRATEGY", { known: true }), /^See 'drydock strategy list'/);
    assert.match(of("COMMAND_NOT_STARTED", {}), /--strict/);
    assert.match(of("NOT_CONFINED", { remedy: "mend it" }), /To have them, mend it; or .*--unconfined/);
    assert.match(of("NOT_CONFINED", { strict: true }), /doctor.*leave out --strict/);
  });

  it("[X4] says what follows from the state of a plan", () => {
    const of = (state: string, to: string) =>
      commandHint(new PlanStateError({ id: "01ID", name: "fix", state }, to));
    for (const [state, to, part] of [
      ["undone", "undoing", "taken back already"],
      ["open", "undoing", "plan rollback"],
      ["applied", "applying", "plan undo"],
      ["applying", "applying", "--abandon"],
      ["undoing", "cancelled", "--abandon"],
      ["open", "restoring", "plan show"],
      ["adding", "open", "recover"],
      ["restoring", "open", "plan cancel"],
      ["cancelled", "open", "plan create"],
    ] as const)
      assert.ok(of(state, to).includes(part), of(state, to));
  });

  it("[A4] says what is to be done about a commit that is not settled, and else what its cause says", () => {
    const of = (failure: object, cause?: unknown, hint?: string) =>
      commandHint(
        new AtomicCommitError(
          "m",
          { ...FAILURE, ...failure },
          { cause, ...(hint !== undefined && { hint }) },
        ),
      );
    assert.match(of({ pending: "in-doubt" }), /'drydock recover PLAN --commit'/);
    for (const pending of ["finish", "take-back", "find-out"])
      assert.match(of({ pending }), /the next drydock command .*'drydock recover'/);
    const restarted = new SandboxCommitError("m", { code: "RESTARTED" });
    assert.match(of({}, restarted, restarted.hint), /--after-restart/);
    const running = new SelfRunningError([]);
    assert.match(of({}, running, running.hint), /--allow PATTERN/);
    assert.equal(of({}, running, "Look at it."), "Look at it.");
  });

  it("[X4] is the error's own, if it has one", () => {
    const own = new UsageError("m", { code: "NO_SUCH_FILE", hint: "Open the drawer." });
    assert.equal(commandHint(own), "Open the drawer.");
    assert.match(commandHint(new UsageError("m")), /--debug/);
  });

  it("[X4] is the same for an error of another process", () => {
    const error = new UsageError("m", { code: "UNKNOWN_CHECKPOINT", details: { planId: "01ID" } });
    const revived = reviveError(JSON.parse(JSON.stringify(plainError(error))));
    assert.ok(revived !== undefined);
    assert.equal(commandHint(revived), commandHint(error));
  });
});
