import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";

describe("extended attributes on a kernel that can't read them by folder and name", () => {
  it("[A11] pass all tests of attributes through the folder's handle in /proc", () => {
    const olderKernel = join(import.meta.dirname, "../../../test/support/older-kernel-program.ts");
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { status, stdout } = spawnSync(
      process.execPath,
      ["--import", olderKernel, "--test-reporter=tap", join(import.meta.dirname, "xattrs.test.ts")],
      { encoding: "utf8", env },
    );
    assert.equal(status, 0, stdout);
    assert.match(stdout, /^# pass [1-9]/m);
  });
});
