import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { Folder } from "../../system/calls/folder.ts";
import { type BaseFacts, baseFacts } from "../base/base-facts.ts";
import { BaseContents } from "./base-contents.ts";

describe("the base contents of a sandbox", () => {
  const content = Buffer.from("one\n{}\0\u00e9\n");
  let place: string;
  let original: Folder;
  let workspace: Folder;
  let before: BaseFacts;
  const kept = () => new BaseContents(workspace, 1000);
  const file = () => join(place, "workspace/bases", readdirSync(join(place, "workspace/bases"))[0] ?? "");

  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), "drydock-bases-"));
    for (const folder of ["original", "workspace"]) mkdirSync(join(place, folder));
    writeFileSync(join(place, "original/file"), content);
    original = Folder.open(join(place, "original"));
    workspace = Folder.open(join(place, "workspace"));
    before = baseFacts(original, "file", original.facts("file") ?? assert.fail());
    kept().keep([{ path: "file", before }], original, () => true);
  });

  afterEach(() => {
    for (const folder of [original, workspace]) folder.close();
    rmSync(place, { recursive: true, force: true });
  });

  it("are read as they were, to the byte, and so are their facts", () => {
    assert.deepEqual(kept().read("file", before), content);
    assert.deepEqual(kept().factsOf("file", { ...before, mode: 0 }), before);
    assert.equal(readdirSync(join(place, "workspace/bases")).length, 1);
  });

  it("count as missing where a power cut has left less of them", () => {
    for (const size of [content.length + 5, content.length, 3, 0]) {
      truncateSync(file(), size);
      assert.equal(kept().read("file", before), undefined);
    }
  });
});
