import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ERROR_CODES } from "../core/errors/error-codes.ts";
import { AtomicCommitError, DrydockError, PlanStateError, UsageError } from "../core/errors/errors.ts";
import { PLAN_STATES } from "../core/plan.ts";
import { BASE, OPERATIONS } from "./api.ts";
import { apiHint } from "./api-hints.ts";
import { openApiDocument } from "./openapi.ts";

const FAILURE = { failed: { resource: "app", message: "m" }, undone: [], notUndone: [], conflicts: [] };

/** Every hint that the API can give by itself. */
function* hints(): Generator<string> {
  for (const code of ERROR_CODES) yield apiHint(new DrydockError(code, "m"));
  for (const state of PLAN_STATES)
    for (const to of ["undoing", "applying"])
      yield apiHint(new PlanStateError({ id: "01ID", name: "fix", state }, to));
  for (const pending of ["find-out", "finish", "take-back", "in-doubt"] as const)
    yield apiHint(new AtomicCommitError("m", { ...FAILURE, pending }));
  yield apiHint(new AtomicCommitError("m", { ...FAILURE, later: [{ planId: "01ID", name: "fix" }] }));
}

describe("the hint of an error in the API", () => {
  it("[P4] names operations that there are, members of requests, and no function of the library", () => {
    const patterns = OPERATIONS.map(
      ({ method, path }) =>
        new RegExp(`^${method.toUpperCase()} ${BASE}${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
    );
    const document = JSON.stringify(openApiDocument());
    for (const hint of hints()) {
      for (const [named] of hint.matchAll(/\b[A-Z]+ \/v1[\w/{}-]*/g))
        assert.ok(
          patterns.some((pattern) => pattern.test(named)),
          `${named} is no operation: ${hint}`,
        );
      for (const [, word] of hint.matchAll(/`(.*?)`/g))
        assert.match(document, new RegExp(`"${word}":\\{|"name":"${word}"`), hint);
      assert.doesNotMatch(hint, /undefined|cause shows/);
    }
  });

  it("[P4] names the thing that the error is about, and is the error's own, if it has one", () => {
    const unknown = new UsageError("m", { code: "UNKNOWN_CHECKPOINT", details: { planId: "01ID" } });
    assert.match(apiHint(unknown), /^GET \/v1\/plans\/01ID\/checkpoints /);
    const own = new UsageError("m", { code: "NO_SUCH_FILE", hint: "Open the drawer." });
    assert.equal(apiHint(own), "Open the drawer.");
  });
});
