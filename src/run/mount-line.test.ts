import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bindLine, mountTableFile } from "./mount-line.ts";

describe("mountTableFile", () => {
  it("escapes what separates fields and lines, and keeps every other byte", () => {
    const bytes = mountTableFile([
      bindLine("/a b\t#\\", "/x\ny\udcff\u00a0é", "ro"),
      { source: "proc", target: "/proc", type: "proc", options: ["nosuid", "nodev"] },
    ]);
    const text = Buffer.concat([
      Buffer.from("/a\\040b\\011\\043\\134 /x\\012y"),
      Buffer.from([0xff]),
      Buffer.from("\u00a0é none bind,ro 0 0\nproc /proc proc nosuid,nodev 0 0\n"),
    ]);
    assert.deepEqual(bytes, text);
  });
});
