import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { runProgram, TemporaryFolder } from "./project-copy.ts";

/**
 * Imports that break a rule: the file, what it imports, the rule ("" if it is fine), and a few words of the
 * reason.
 */
const IMPORTS = [
  ["core/planted.ts", "../system/calls/target.ts", "layer-core", "knows no other folder"],
  ["core/planted-type.ts", "type ../system/calls/target.ts", "layer-core", "knows no other folder"],
  ["core/planted-package.ts", "zod", "core-without-packages", "uses no npm package"],
  ["core/planted-system.ts", "node:os", "core-is-pure", "do no input or output"],
  [
    "fleet/protocol/planted.ts",
    "../../system/calls/target.ts",
    "layer-fleet/protocol",
    "does nothing itself",
  ],
  ["fleet/protocol/planted-system.ts", "node:os", "core-is-pure", "do no input or output"],
  ["system/calls/planted.ts", "../process/target.ts", "layer-system/calls", "starts and mounts nothing"],
  ["system/mount/planted.ts", "../../engine/tree/target.ts", "layer-system/mount", "nothing of our state"],
  ["engine/tree/planted.ts", "../base/target.ts", "layer-engine/tree", "neither base nor sandbox"],
  ["engine/landing/planted.ts", "../part/target.ts", "layer-engine/landing", "no kind of sandbox"],
  ["engine/tree/planted-fs.ts", "node:fs", "only-system-touches-the-system", "names its failpoint"],
  [
    "engine/tree/planted-promises.ts",
    "node:fs/promises",
    "only-system-touches-the-system",
    "names its failpoint",
  ],
  ["database/mysql/planted.ts", "../../store/target.ts", "layer-database/mysql", "one dialect"],
  ["store/planted.ts", "../config/target.ts", "layer-store", "must not act on what they describe"],
  ["config/planted.ts", "../strategies/one/target.ts", "layer-config", "must not use them"],
  [
    "config/planted-process.ts",
    "node:child_process",
    "only-system-touches-the-system",
    "names its failpoint",
  ],
  [
    "strategies/planted.ts",
    "../sandboxes/target.ts",
    "layer-strategies",
    "knows nothing of managers, plans or commits",
  ],
  ["strategies/two/planted.ts", "../one/target.ts", "strategy-alone", "imports no other strategy"],
  [
    "strategies/two/planted-store.ts",
    "../../store/target.ts",
    "strategy-without-store",
    "never sees the store",
  ],
  [
    "sandboxes/planted.ts",
    "../commit/target.ts",
    "layer-sandboxes",
    "what lands together is decided above it",
  ],
  ["sandboxes/planted-koffi.ts", "koffi", "only-system-touches-the-system", "names its failpoint"],
  ["commit/planted.ts", "../plans/target.ts", "layer-commit", "whatever they are"],
  ["plans/planted.ts", "../run/target.ts", "layer-plans", "what users do"],
  ["plans/planted-sqlite.ts", "node:sqlite", "only-store-uses-sqlite", "keep our state"],
  ["run/planted.ts", "../testing/target.ts", "layer-run", "starts commands inside sandboxes"],
  ["housekeeping.ts", "./testing/target.ts", "layer-housekeeping", "what every start does"],
  ["testing/planted.ts", "../cli/target.ts", "layer-testing", "shipped for authors of strategies"],
  ["runtime.ts", "./cli/target.ts", "layer-runtime", "must not depend on who uses"],
  ["cli/planted.ts", "../index.ts", "layer-cli", "shows the services to people"],
  ["library/planted.ts", "../cli/target.ts", "library-without-cli", "must not load the command line"],
  ["library/planted-entry.ts", "../strategy.ts", "layer-library", "shows the services to programs"],
  ["index.ts", "./core/target.ts", "", ""],
  ["strategy.ts", "./cli/target.ts", "library-without-cli", "must not load the command line"],
  ["unknown/planted.ts", "../core/target.ts", "known-layer", "belongs to a layer"],
  ["core/planted-circle.ts", "./planted-circle-back.ts", "", ""],
  ["core/planted-circle-back.ts", "./planted-circle.ts", "no-circle", "in a circle"],
  ["core/planted-nowhere.ts", "./planted-missing.ts", "resolvable", "leads nowhere"],
  [
    "core/planted-tested.ts",
    "./planted.test.ts",
    "source-without-tests",
    "what is shipped must not import what is not",
  ],
  ["core/planted.test.ts", "node:fs", "", ""],
] as const;

const PROJECT = [
  "src",
  "test/support",
  "scripts/layers.ts",
  ".dependency-cruiser.cjs",
  "tsconfig.json",
  "package.json",
];

describe("the import rule", () => {
  let folder: TemporaryFolder;
  before(() => {
    folder = new TemporaryFolder();
    folder.copy(...PROJECT);
    folder.linkPackages();
  });
  after(() => folder[Symbol.dispose]());

  const check = () => runProgram(process.execPath, ["scripts/layers.ts"], { cwd: folder.path });

  // That it holds in the project is a step of `npm test`.
  it("looks at every file, refuses each kind of violation with its reason, and lets tests import what they need", () => {
    for (const [file, imported] of IMPORTS) {
      const [kind, path] = imported.startsWith("type ") ? ["type ", imported.slice(5)] : ["", imported];
      if (path.endsWith("/target.ts"))
        folder.write(join("src", file, "..", path), "export const target = 1;\n");
      folder.write(
        `src/${file}`,
        `import ${kind}* as planted from "${path}";\nexport type Planted = typeof planted;\n`,
      );
    }
    const { status, stdout } = check();
    assert.equal(status, 1);
    const looked = Number(/(\d+) modules/.exec(stdout)?.[1]);
    assert.ok(looked >= globSync("src/**/*.ts", { cwd: folder.path }).length, stdout);
    const reports = stdout.split(/^ {2}error /m).map((report) => report.replace(/\s+/g, " "));
    for (const [file, , rule, reason] of IMPORTS) {
      const about = reports.filter((report) => report.includes(`: src/${file} `));
      const expected = about.filter((report) => report.startsWith(`${rule}: `) && report.includes(reason));
      assert.equal(expected.length, rule === "" ? 0 : 1, `${rule} for ${file} in\n${stdout}`);
      assert.equal(about.length, expected.length, `something else about ${file} in\n${stdout}`);
    }
  });

  it("fails when there was nothing to look at", () => {
    using empty = new TemporaryFolder();
    empty.copy(...PROJECT.slice(1));
    empty.linkPackages();
    empty.write("src/readme.txt", "no source here");
    const { status, stderr } = runProgram(process.execPath, ["scripts/layers.ts"], { cwd: empty.path });
    assert.equal(status, 1);
    assert.match(stderr, /No file was looked at/);
  });
});
