import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

const MODULE = join(import.meta.dirname, "raw-arguments.ts");
const PROGRAM = `
import { exactArguments, exactCurrentFolder, exactEnvironment } from ${JSON.stringify(MODULE)};
let folder;
try { folder = exactCurrentFolder(); } catch (error) { folder = error.name + ": " + error.message; }
const { NAME } = exactEnvironment(process.env);
console.log(JSON.stringify({ args: exactArguments(process.argv.slice(2)), folder, NAME }));
`;

describe("what this process was started with", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "drydock-raw-"));
    writeFileSync(join(folder, "program.mjs"), PROGRAM);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Starts the program by a shell, which can pass any bytes. */
  function start(script: string): {
    readonly args: readonly string[];
    readonly folder: string;
    readonly NAME?: string;
  } {
    const env = { ...process.env, NODE: process.execPath, PROGRAM: join(folder, "program.mjs") };
    const run = '"$NODE" "$PROGRAM"';
    const shell = spawnSync("bash", ["-c", script.replace("RUN", run)], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
    assert.equal(shell.status, 0, shell.stderr);
    return JSON.parse(shell.stdout);
  }

  it("is known to the byte, empty arguments included", () => {
    const { args } = start("RUN plan '' $'caf\\xe9' '' $'\\xff\\n' é");
    assert.deepEqual(args, ["plan", "", "caf\udce9", "", "\udcff\n", "é"]);
  });

  it("tells a replacement character that was really given from a byte that Node could not decode", () => {
    assert.deepEqual(start("RUN \ufffd $'\\xff'").args, ["\ufffd", "\udcff"]);
  });

  it("is taken as Node has it where all of it is UTF-8", () => {
    assert.deepEqual(start("NAME=é RUN a é"), { args: ["a", "é"], folder, NAME: "é" });
  });

  it("has the environment and the current folder to the byte", () => {
    mkdirSync(Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.of(0xe9)]));
    const exact = start("cd $'caf\\xe9' && NAME=$'a=\\xe9' RUN");
    assert.equal(exact.folder, `${folder}/caf\udce9`);
    assert.equal(exact.NAME, "a=\udce9");
  });

  it("[X4] says so when the current folder is gone", () => {
    assert.equal(
      start("mkdir gone && cd gone && rmdir ../gone && RUN").folder,
      "UsageError: The current folder is gone.",
    );
  });
});
