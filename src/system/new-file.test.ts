import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { SystemCallError } from "../core/errors.ts";
import { isThere } from "./existence.ts";
import { armFailpoints, failpoint } from "./failpoints.ts";
import { createTextFile } from "./new-file.ts";

const point = failpoint("test.new-file");

describe("a new text file", () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "drydock-new-file-"));
    file = join(folder, "caf\u00e9.txt");
  });
  afterEach(() => {
    armFailpoints(undefined);
    rmSync(folder, { recursive: true, force: true });
  });

  it("is made where nothing is", () => {
    assert.equal(isThere(file), false);
    createTextFile(point, file, "text\n");
    assert.equal(isThere(file), true);
    assert.equal(readFileSync(file, "utf8"), "text\n");
    assert.equal(lstatSync(file).mode & 0o133, 0);
  });

  it("never takes the place of anything, not even of a link that leads nowhere", () => {
    const exists = (thrown: unknown) => thrown instanceof SystemCallError && thrown.code === "EEXIST";
    writeFileSync(file, "old");
    assert.throws(() => createTextFile(point, file, "new"), exists);
    assert.equal(readFileSync(file, "utf8"), "old");
    const link = join(folder, "link");
    symlinkSync(join(folder, "nowhere"), link);
    assert.equal(isThere(link), true);
    assert.throws(() => createTextFile(point, link, "new"), exists);
    assert.equal(existsSync(join(folder, "nowhere")), false);
  });

  it("leaves nothing behind when it can't be written", () => {
    armFailpoints("test.new-file:2=enospc");
    assert.throws(() => createTextFile(point, file, "new"), { code: "ENOSPC" });
    assert.deepEqual(readdirSync(folder), []);
  });
});
