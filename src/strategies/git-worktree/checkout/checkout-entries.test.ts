import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { Folder } from "../../../system/calls/folder.ts";
import { EntryBuilder } from "./checkout-entries.ts";

describe("EntryBuilder", () => {
  let base: string;

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "drydock-entries-"));
    for (const name of ["original", "incoming"]) mkdirSync(join(base, name));
  });

  afterEach(() => rmSync(base, { recursive: true, force: true }));

  function files(folder: string, ...paths: readonly string[]): void {
    for (const path of paths) {
      const full = join(base, folder, path);
      mkdirSync(path.endsWith("/") ? full : dirname(full), { recursive: true });
      if (!path.endsWith("/")) writeFileSync(full, path);
    }
  }

  function build(writes: readonly string[], removes: readonly string[]) {
    files("incoming", ...writes);
    using original = Folder.open(join(base, "original"));
    using incoming = Folder.open(join(base, "incoming"));
    const request = { writes, removes, incoming };
    const { changes, conflicts } = new EntryBuilder(original, request).build(request);
    return {
      entries: Array.from(changes.entries, ({ path, operation, before, after }) =>
        [operation, path, before?.kind ?? "-", after?.kind ?? "-"].join(" "),
      ),
      conflicts: conflicts.map(({ path }) => path),
    };
  }

  it("brings a folder that is not there as one, and files into one that is", () => {
    files("original", "src/a");
    assert.deepEqual(build(["src/a", "src/b", "new/x", "new/deep/y"], []), {
      entries: ["add new - directory", "replace src/a file file", "add src/b - file"],
      conflicts: [],
    });
  });

  it("takes a folder away with the last file in it, unless something else is there", () => {
    files("original", "all/a", "all/deep/b", "some/a", "some/untracked", "hollow/a", "hollow/empty/", "top");
    assert.deepEqual(build([], ["all/a", "all/deep/b", "some/a", "hollow/a", "top", "gone/already"]), {
      entries: [
        "delete all directory -",
        "delete hollow/a file -",
        "delete some/a file -",
        "delete top file -",
      ],
      conflicts: [],
    });
  });

  it("keeps a folder into which something comes", () => {
    files("original", "src/a");
    assert.deepEqual(build(["src/b"], ["src/a"]), {
      entries: ["delete src/a file -", "add src/b - file"],
      conflicts: [],
    });
  });

  it("lets files and folders take each other's place", () => {
    files("original", "file", "folder/a", "folder/deep/b", "hollow/");
    symlinkSync("file", join(base, "original/link"));
    const writes = ["file/inside", "folder", "link/inside", "hollow"];
    assert.deepEqual(build(writes, ["file", "folder/a", "folder/deep/b", "link"]), {
      entries: [
        "replace file file directory",
        "replace folder directory file",
        "replace hollow directory file",
        "replace link symlink directory",
      ],
      conflicts: [],
    });
  });

  it("names what is in the way and is not the plan's to remove", () => {
    files("original", "file", "folder/tracked", "folder/untracked");
    assert.deepEqual(build(["file/inside", "folder"], ["folder/tracked"]).conflicts, ["file", "folder"]);
  });
});
