import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assertRefused, program } from "../end-to-end/workplace.ts";
import { Stage } from "./stage.ts";

describe("Where a machine does not let commands be put inside", () => {
  it("says so, and leaves nothing behind", {
    skip: process.geteuid?.() !== 0 && "a limit can be set by root only",
  }, () => {
    using stage = new Stage("root");
    // Root of a user namespace in which no other can be made, as in a container.
    const limited = (...args: string[]) =>
      stage.run("unshare", [
        ...["--user", "--map-root-user", "--", "sh", "-c"],
        'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"',
        ...["sh", program, ...args],
      ]);
    const refused = limited("run", "-r", `${stage.project},strategy=filesystem_copy`, "--", "true");
    assertRefused(
      refused,
      1,
      /could not be put inside: unshare: .*No space left/,
      /does not allow it.*doctor/,
    );
    assert.deepEqual(readdirSync(join(stage.state, "sandboxes")), []);
    assert.deepEqual(readdirSync(join(stage.state, "runs")), []);
    const { status, stdout } = limited("doctor");
    assert.equal(status, 1);
    assert.match(stdout, /\nno +run +The command could not be put inside/);
  });
});
