import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { describe, it } from "node:test";
import { SystemCallError } from "../../core/errors/errors.ts";
import { failedWith, systemCallError } from "./errno.ts";

describe("systemCallError", () => {
  it("[X4] says what failed, on what, in words and with the name of the errno", () => {
    const error = systemCallError(constants.errno.ENOSPC, "write", "/the/file");
    assert.ok(error instanceof SystemCallError);
    assert.equal(error.message, "write failed on /the/file: no space left on device (ENOSPC)");
    assert.deepEqual([error.code, error.call, error.path], ["ENOSPC", "write", "/the/file"]);
  });

  it("[X4] has words for the errno that share a number with another", () => {
    assert.match(systemCallError(constants.errno.EAGAIN, "flock", "f").message, /resource busy/);
    assert.match(
      systemCallError(constants.errno.EOPNOTSUPP, "ioctl", "f").message,
      /not supported by this file system/,
    );
  });

  it("[X4] shows a path without what a terminal would act on", () => {
    assert.equal(systemCallError(constants.errno.ENOENT, "open", "a\u001b[31m\n").path, "a\\u001b[31m\\n");
  });

  it("names an errno that it does not know by its number", () => {
    assert.equal(systemCallError(9999, "open", "f").code, "E9999");
  });
});

describe("failedWith", () => {
  it("knows our errors and Node's by their code, and nothing else", () => {
    assert.equal(failedWith(systemCallError(constants.errno.ENOENT, "open", "f"), "EEXIST", "ENOENT"), true);
    assert.equal(failedWith(systemCallError(constants.errno.ENOENT, "open", "f"), "EEXIST"), false);
    assert.throws(
      () => readFileSync("/does/not/exist"),
      (thrown) => failedWith(thrown, "ENOENT"),
    );
    for (const thrown of [new Error("ENOENT"), "ENOENT", undefined, { code: "ENOENT" }])
      assert.equal(failedWith(thrown, "ENOENT"), false);
  });
});
