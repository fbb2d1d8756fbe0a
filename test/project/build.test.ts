import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { ownProgram } from "../../src/system/process/own-program.ts";
import { projectRoot, runProgram, TemporaryFolder } from "./project-copy.ts";

/** A project of tiny entries. */
function project(): TemporaryFolder {
  const folder = new TemporaryFolder();
  folder.copy("bin", "docs", "scripts", "package.json", "tsconfig.json", "tsconfig.build.json");
  folder.linkPackages();
  folder.write("src/core/shared.ts", "export class Shared {}\n");
  folder.write("src/cli/main.ts", 'export { finished } from "../work.ts";\n');
  folder.write("src/work.ts", 'export const finished = import("./command.ts");\n');
  folder.write(
    "src/command.ts",
    'import { Shared } from "./core/shared.ts";\nconsole.log(Shared.name);\nexport const hasOpened = true;\n',
  );
  folder.write("src/index.ts", 'export { Shared } from "./core/shared.ts";\n');
  folder.write("src/strategy.ts", 'export { Shared } from "./core/shared.ts";\n');
  folder.write("src/strategies.ts", 'export { Shared } from "./core/shared.ts";\n');
  folder.write("src/testing/process/victim-main.ts", "export {};\n");
  folder.write("src/detached/detached-main.ts", "export {};\n");
  folder.write("src/serve/channel/channel-main.ts", 'console.log("answered");\n');
  folder.write("src/testing/index.ts", 'export { Shared } from "../core/shared.ts";\n');
  for (const name of ["ai-sdk", "deepagents"])
    folder.write(`src/adapters/${name}.ts`, 'export { Shared } from "../core/shared.ts";\n');
  folder.write("src/adapters/opencode.ts", 'export { spawn } from "node:child_process";\n');
  folder.write("src/strategies/transaction-rollback/holder/holder-main.ts", 'console.log("kept");\n');
  folder.write(
    "src/run/launch/launcher-main.ts",
    'console.log("launched", import.meta.url.startsWith("file:"));\n',
  );
  folder.write("page/main.tsx", 'document.title = "page";\n');
  folder.write("page/style/main.css", "main { color: red; }\n");
  folder.write("page/index.html", "<!doctype html>\n");
  folder.write("page/icon.svg", "<svg/>\n");
  return folder;
}

/** The file of the build that has the command in it, which is loaded when it is needed. */
function fileOfCommand({ path }: TemporaryFolder): string {
  const program = join(path, "dist/program");
  const files = readdirSync(program).filter((name) => name.endsWith(".js"));
  const holding = files.filter((name) =>
    /console[.]log\([^"]*Shared/.test(readFileSync(join(program, name), "utf8")),
  );
  assert.equal(holding.length, 1, holding.join(", "));
  return holding.join("");
}

const build = (folder: TemporaryFolder) =>
  runProgram(process.execPath, ["scripts/build.ts"], { cwd: folder.path });

describe("the build", () => {
  it("makes files that are loaded on demand, entries that share their classes, and declarations that resolve", () => {
    using folder = project();
    const { status, stderr } = build(folder);
    assert.equal(status, 0, stderr);
    const dist = join(folder.path, "dist");
    assert.match(readFileSync(join(dist, "program/cli.js"), "utf8"), /mport\("\.\/drydock-rarely-\w+\.js"\)/);
    assert.notEqual(fileOfCommand(folder), "cli.js");
    assert.equal(runProgram(join(folder.path, "bin/drydock"), []).stdout, "Shared\n");
    assert.equal(runProgram(process.execPath, [join(dist, "holder.js")]).stdout, "kept\n");
    assert.match(runProgram(process.execPath, [join(dist, "channel.js")]).stdout, /^answered$/m);
    assert.equal(runProgram(process.execPath, [join(dist, "launcher.cjs")]).stdout, "launched true\n");
    const definitions = readdirSync(dist, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".js"))
      .filter((name) => /class\b/.test(readFileSync(join(dist, name), "utf8")));
    assert.equal(definitions.length, 1, definitions.join(", "));
    const types = readdirSync(join(dist, "types")).filter((name) => !name.startsWith("shared-"));
    const names = ["ai-sdk", "deepagents", "index", "opencode", "strategies", "strategy", "testing"];
    assert.deepEqual(
      types,
      names.map((name) => `${name}.d.ts`),
    );
    const declarations = readdirSync(join(dist, "types")).map((name) =>
      readFileSync(join(dist, "types", name), "utf8"),
    );
    assert.equal(declarations.filter((text) => /\bclass Shared\b/.test(text)).length, 1);
    const others = declarations.filter((text) => !/\bShared\b/.test(text));
    assert.equal(others.length, 1, "opencode's");
  });

  it("keeps the last good build when it fails, leaves nothing else behind, and says what is missing", () => {
    using folder = project();
    build(folder);
    folder.write("src/cli/main.ts", "this is not TypeScript\n");
    assert.equal(build(folder).status, 1);
    using incomplete = project();
    incomplete.write("dist/program/cli.js", "kept\n");
    incomplete.remove("src/strategy.ts");
    const { status, stderr } = build(incomplete);
    assert.equal(status, 1);
    assert.equal(stderr, "Nothing was built: src/strategy.ts is missing.\n");
    assert.equal(readFileSync(join(incomplete.path, "dist/program/cli.js"), "utf8"), "kept\n");
    assert.equal(runProgram(join(folder.path, "bin/drydock"), []).stdout, "Shared\n");
    assert.deepEqual(
      readdirSync(folder.path).filter((name) => name.startsWith("dist")),
      ["dist"],
    );
  });

  it("keeps what a command compiled, and compiles again what has changed since", () => {
    using folder = project();
    build(folder);
    const program = join(folder.path, "bin/drydock");
    const cache = join(folder.path, "dist/.compile-cache");
    const kept = () =>
      readdirSync(cache, { recursive: true, encoding: "utf8" }).filter((name) => /[.]js-/.test(name));
    const first = kept();
    assert.ok(
      ["cli.js", fileOfCommand(folder), "launch.js"].every((name) =>
        first.some((path) => path.includes(name)),
      ),
      first.join(", "),
    );
    runProgram(program, []);
    assert.deepEqual(kept(), first);
    for (const name of ["run", "plan-list"])
      assert.ok(
        first.some((path) => path.includes(`/${name}/cli.js-`)),
        first.join(", "),
      );
    runProgram(program, ["plan", "show"]);
    const more = kept().filter((path) => !first.includes(path));
    assert.ok(more.length > 0 && more.every((path) => path.includes("/plan-show/")), more.join(", "));
    runProgram(program, ["plan", "../show"]);
    assert.equal(kept().length, first.length + more.length);
    const command = fileOfCommand(folder);
    const text = readFileSync(join(folder.path, "dist/program", command), "utf8");
    folder.write(`dist/program/${command}`, text.replace(/console[.]log\([^)]*\)/, 'console.log("other")'));
    assert.equal(runProgram(program, []).stdout, "other\n");
    assert.equal(runProgram(program, []).stdout, "other\n");
  });

  it("runs without what is kept, where nothing can be written or V8 refuses it", () => {
    using folder = project();
    build(folder);
    const program = join(folder.path, "bin/drydock");
    const cache = join(folder.path, "dist/.compile-cache");
    for (const name of readdirSync(cache, { recursive: true, encoding: "utf8" }).filter((path) =>
      /[.]js-/.test(path),
    ))
      folder.write(`dist/.compile-cache/${name}`, "of another version");
    assert.equal(runProgram(program, []).stdout, "Shared\n");
    rmSync(cache, { recursive: true });
    folder.write("dist/.compile-cache", "in the way");
    assert.equal(runProgram(program, []).stdout, "Shared\n");
  });

  it("starts V8 with settings that let it take the compiled code which Node brings of its own modules", () => {
    using folder = new TemporaryFolder();
    folder.copy("bin");
    folder.linkPackages();
    const tag = 'console.log(require("node:v8").cachedDataVersionTag());';
    folder.write("dist/program/cli.js", `${tag}\nexports.finished = Promise.resolve({});\n`);
    const plain = runProgram(process.execPath, ["-e", tag]).stdout;
    assert.match(plain, /^\d+\n$/);
    assert.equal(runProgram(join(folder.path, "bin/drydock"), []).stdout, plain);
    const here = dirname(folder.write("launcher.cjs", `${tag}\n`));
    const { args } = ownProgram(here, [{ program: "./launcher.cjs", compiled: "./compiled" }]);
    assert.equal(runProgram(process.execPath, args).stdout, plain);
  });

  it("runs from source when there is no build, or when asked to", () => {
    using folder = project();
    const program = join(folder.path, "bin/drydock");
    assert.equal(runProgram(program, []).stdout, "Shared\n");
    folder.write("dist/program/cli.js", 'console.log("built");\nexports.finished = Promise.resolve({});\n');
    assert.equal(runProgram(program, []).stdout, "built\n");
    assert.equal(runProgram(program, [], { env: { DRYDOCK_FROM_SOURCE: "1" } }).stdout, "Shared\n");
  });
});

/** Writes the names of the files that a command reads of the build beside itself. */
const NOTE_READS = `const fs = require("node:fs");
const { appendFileSync, openSync } = fs;
fs.openSync = (path, ...rest) => {
  if (/[/]dist[/]program[/]/.test(path)) appendFileSync(__dirname + "/reads", path + "\\n");
  return openSync(path, ...rest);
};
`;

describe("the program as it is built", () => {
  it("reads for small commands only what they need", () => {
    using folder = new TemporaryFolder();
    const hook = folder.write("note-reads.cjs", NOTE_READS);
    folder.write("folder/file", "content\n");
    const reads = (...args: readonly string[]) => {
      folder.write("reads", "");
      const { status, stderr } = runProgram(join(projectRoot, "bin/drydock"), args, {
        cwd: join(folder.path, "folder"),
        env: { NODE_OPTIONS: `--require=${hook}`, DRYDOCK_STATE_DIR: join(folder.path, "state") },
      });
      assert.equal(status, 0, stderr);
      const text = readFileSync(join(folder.path, "reads"), "utf8");
      const files = ["cli[.]js", "drydock-later-", "drydock-landing-", "drydock-rarely-"];
      return files.filter((name) => new RegExp(name).test(text));
    };
    assert.deepEqual(reads("plan", "list"), ["cli[.]js"]);
    assert.deepEqual(reads("run", "--discard", "--", "true"), ["cli[.]js", "drydock-later-"]);
    const applied = reads("run", "--apply", "--", "sh", "-c", "echo new > file");
    assert.deepEqual(applied, ["cli[.]js", "drydock-later-", "drydock-landing-"]);
    assert.deepEqual(reads("doctor"), ["cli[.]js", "drydock-later-", "drydock-rarely-"]);
  });
});
