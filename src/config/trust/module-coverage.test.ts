import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { coverageOf } from "./module-coverage.ts";

let folder: string;

beforeEach(() => {
  // In a folder of its own: one module names a file outside, which others may have where they like.
  folder = join(realpathSync(mkdtempSync(join(tmpdir(), "drydock-coverage-"))), "modules");
  mkdirSync(folder);
});
afterEach(() => rmSync(dirname(folder), { recursive: true, force: true }));

function put(path: string, text: string): string {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
  return join(folder, path);
}

const covered = (...modules: readonly string[]) =>
  coverageOf(modules).files.map(({ file }) => file.slice(folder.length + 1));

describe("coverageOf", () => {
  it("[X6] follows every name in quotes, however it is imported, through circles and links", () => {
    for (const name of ["a.mjs", "b.cjs", "c/index.js", "d.json", "e.mjs", "f.wasm", "g h.mjs", "real.mjs"])
      put(name, "");
    put("a.mjs", `import x from './b.cjs'; export * from "./d.json?x#y";\nawait import(\`./link.mjs\`);`);
    put("b.cjs", 'require("./c"); require("../outside"); require("./a.mjs")');
    put("c/index.js", 'new Worker(new URL("../f.wasm", import.meta.url));');
    put("real.mjs", `import "${join(folder, "e.mjs")}"; const notAName = "./";`);
    symlinkSync("real.mjs", join(folder, "link.mjs"));
    symlinkSync("loop", join(folder, "loop"));
    put("e.mjs", 'import "./loop"; import "./missing.mjs"; import "./g%20h.mjs";');
    const all = ["a.mjs", "b.cjs", "c/index.js", "d.json", "e.mjs", "f.wasm", "g h.mjs", "real.mjs"];
    assert.deepEqual(covered(join(folder, "a.mjs")), all);
    assert.deepEqual(covered(join(folder, "missing.mjs")), []);
  });

  it("[X6] follows the imports of a Python program to the files beside it", () => {
    put("mine.py", "import helper, json\nfrom parts.one import x\n    import late\n");
    for (const name of ["helper.py", "parts/one.py", "late.py", "other.py"]) put(name, "");
    assert.deepEqual(covered(join(folder, "mine.py")), ["helper.py", "late.py", "mine.py", "parts/one.py"]);
  });

  it("[X6] names the packages that it does not cover", () => {
    const module = put(
      "a.ts",
      'import { x } from "@scope/one/deep"; import fs from "node:fs"; require("two/three"); import("./b");',
    );
    assert.deepEqual(coverageOf([module]).packages, ["@scope/one", "two"]);
  });

  it("[X6] has a digest, the owner and the mode of each file, and says which hide something", () => {
    const module = put("a.mjs", 'import "./b.mjs";');
    put("b.mjs", "// \u202e");
    chmodSync(module, 0o640);
    const [first, second] = coverageOf([module]).files;
    assert.match(first?.sha256 ?? "", /^[0-9a-f]{64}$/);
    assert.deepEqual([first?.mode, first?.uid, first?.hidesText], [0o640, process.getuid?.(), false]);
    assert.equal(second?.hidesText, true);
  });

  it("[X6] refuses to follow more than a person could ever look at", () => {
    const names = Array.from({ length: 501 }, (_, at) => `./part-${at}.json`);
    for (const name of names) put(name, "{}");
    const module = put("a.mjs", names.map((name) => `import "${name}";`).join("\n"));
    assert.throws(() => coverageOf([module]), /more than 500 files/);
  });
});
