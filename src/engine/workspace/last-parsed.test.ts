import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Folder } from "../../system/calls/folder.ts";
import { LastParsed } from "./last-parsed.ts";

describe("LastParsed", () => {
  it("parses a file once, and again when another takes its place", (t) => {
    const root = mkdtempSync(join(tmpdir(), "drydock-parsed-"));
    t.after(() => rmSync(root, { recursive: true }));
    using folder = Folder.open(root);
    const parsed: string[] = [];
    const last = new LastParsed((bytes) => {
      parsed.push(bytes.toString());
      return bytes.toString();
    });
    const put = (content: string) => {
      writeFileSync(join(root, "new"), content);
      renameSync(join(root, "new"), join(root, "file"));
    };
    assert.equal(last.of(folder, "file"), undefined);
    put("one");
    assert.deepEqual([last.of(folder, "file"), last.of(folder, "file")], ["one", "one"]);
    put("two");
    assert.deepEqual([last.of(folder, "file"), last.of(folder, "file")], ["two", "two"]);
    assert.deepEqual(parsed, ["one", "two"]);
    rmSync(join(root, "file"));
    assert.equal(last.of(folder, "file"), undefined);
  });
});
