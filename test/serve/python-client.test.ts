import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ERROR_CODES } from "../../src/core/errors/error-codes.ts";
import { DrydockError } from "../../src/core/errors/errors.ts";
import { apiHint } from "../../src/serve/api-hints.ts";
import { Workplace } from "../end-to-end/workplace.ts";

const hasPython = spawnSync("python3", ["--version"]).status === 0;

describe("The client for Python", { skip: !hasPython && "python3 is missing" }, () => {
  it("[P10] does what the library does, by the standard library alone", () => {
    using place = new Workplace();
    const hints = JSON.stringify(ERROR_CODES.map((code) => apiHint(new DrydockError(code, "m"))));
    const tests = join(import.meta.dirname, "python/test_client.py");
    // -S and -E leave out packages that are installed, and settings of the user.
    const { status, stderr } = place.run("python3", ["-S", "-E", "-B", tests, "--verbose"], {
      env: { DRYDOCK_PYTHON: join(import.meta.dirname, "../../clients/python"), API_HINTS: hints },
    });
    assert.equal(status, 0, stderr);
    assert.match(stderr, /Ran \d\d tests/);
  });
});
