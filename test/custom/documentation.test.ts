import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { COMPILED } from "../support/compile-cache.ts";
import { AuthorFolder, piecesOfPage } from "./documented-files.ts";

const root = join(import.meta.dirname, "../..");

describe("docs/writing-a-strategy.md", () => {
  it("[S3] has files that compile, and scripts that print what it says", () => {
    using folder = new AuthorFolder();
    writeFileSync(
      folder.at("tsconfig.json"),
      JSON.stringify({
        extends: join(root, "tsconfig.json"),
        // As an author has it: the types of the package, not its source.
        compilerOptions: { customConditions: [] },
        include: ["*.ts"],
      }),
    );
    const tsc = spawnSync(
      process.execPath,
      [join(root, "node_modules/typescript-7/bin/tsc"), "-p", folder.path],
      {
        encoding: "utf8",
      },
    );
    assert.deepEqual(
      (tsc.stdout + tsc.stderr).split("\n").filter((line) => /^error|document[.]ts/.test(line)),
      [],
    );
    const scripts = piecesOfPage().filter((piece) => piece.kind === "script");
    assert.equal(scripts.length, 5);
    for (const { text, output } of scripts) {
      const ran = spawnSync("bash", ["-e", "-c", text], {
        cwd: folder.path,
        encoding: "utf8",
        env: environment(folder),
      });
      assert.deepEqual([ran.stderr, ran.status, ran.stdout], ["", 0, output], text);
    }
  });
});

/** With the program of this project on the path, as it is after an installation. */
function environment(folder: AuthorFolder): NodeJS.ProcessEnv {
  const { PATH = "", DRYDOCK_FROM_SOURCE, NODE_V8_COVERAGE } = process.env;
  const home = folder.at("home");
  mkdirSync(home, { recursive: true });
  return {
    PATH: `${join(root, "bin")}:${join(root, "node_modules/.bin")}:${PATH}`,
    HOME: home,
    ...COMPILED,
    ...(DRYDOCK_FROM_SOURCE !== undefined && { DRYDOCK_FROM_SOURCE }),
    ...(NODE_V8_COVERAGE !== undefined && { NODE_V8_COVERAGE }),
  };
}
