import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Folder } from "../calls/folder.ts";
import { flushEach } from "./flush.ts";

const source = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
const hasStrace = spawnSync("strace", ["-V"]).status === 0;
/** More than are open at a time. */
const MANY = 300;

describe("flushing one by one", () => {
  it("stops where there is more than it is worth, and says so", () => {
    const path = mkdtempSync(join(tmpdir(), "drydock-flush-"));
    try {
      for (let at = 0; at < MANY; at += 1) writeFileSync(join(path, `f${at}`), "x");
      using folder = Folder.open(path);
      let asked = 0;
      const targets = function* () {
        for (; asked < MANY; asked += 1) yield { parent: folder, name: `f${asked}` };
      };
      assert.equal(flushEach(targets(), 10), false);
      assert.equal(asked, 10);
      assert.equal(flushEach([{ parent: folder, name: "f0" }], 1), true);
    } finally {
      rmSync(path, { recursive: true, force: true });
    }
  });
});

describe("flushEach", { skip: hasStrace ? false : "needs strace" }, () => {
  let folder = "";
  before(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "drydock-flush-")));
    for (const name of ["all/inner", "alone/inner", "other"])
      mkdirSync(join(folder, name), { recursive: true });
    for (let at = 0; at < MANY; at += 1) writeFileSync(join(folder, "all/inner", `f${at}`), "x");
    for (const name of ["all/top", "alone/not", "other/file", "other/not"])
      writeFileSync(join(folder, name), "x");
    symlinkSync("nowhere", join(folder, "all/link"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("[A3] flushes everything that is named, with all that is in it, also when its folder has been closed since", () => {
    const program = `import { Folder } from ${source("../calls/folder.ts")}; import { ${flushEach.name} } from ${source("./flush.ts")};
      function* targets() {
        using root = Folder.open(process.argv[1]);
        { using other = root.openChild("other"); yield { parent: other, name: "file" }; yield { parent: other, name: "." }; }
        yield { parent: root, name: "all" }; yield { parent: root, name: "alone", alone: true };
        yield { parent: root, name: "missing" }; yield { parent: root, name: "." };
      }
      ${flushEach.name}(targets());`;
    const trace = join(folder, "..", `${folder.split("/").at(-1)}.trace`);
    try {
      const args = ["-f", "-y", "-o", trace, "-e", "trace=fsync,sync_file_range", process.execPath];
      const end = spawnSync("strace", [...args, "--input-type=module", "-e", program, folder], {
        encoding: "utf8",
      });
      assert.equal(end.status, 0, end.stderr);
      const lines = readFileSync(trace, "utf8")
        .split("\n")
        .filter((line) => line.includes(folder));
      const named = (call: string) =>
        lines
          .filter((line) => line.includes(` ${call}(`))
          .map((line) => /<([^>]*)>/.exec(line)?.[1]?.slice(folder.length));
      const files = Array.from({ length: MANY }, (_, at) => `/all/inner/f${at}`).concat(
        "/all/top",
        "/other/file",
      );
      assert.deepEqual(named("sync_file_range").sort(), files.toSorted());
      assert.deepEqual(
        named("fsync").sort(),
        [...files, "", "/all", "/all/inner", "/alone", "/other"].sort(),
      );
      assert.ok(
        lines.every((line) => line.includes(" = 0")),
        "one of them failed",
      );
    } finally {
      rmSync(trace, { force: true });
    }
  });
});
