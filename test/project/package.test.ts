import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { IS_LONG } from "../support/long-form.ts";
import { projectRoot, runProgram, TemporaryFolder } from "./project-copy.ts";

const SOURCES = [
  "src",
  "page",
  "bin",
  "clients",
  "scripts",
  "docs",
  "schema",
  "integrations",
  "skills",
  ".claude-plugin",
  "tsconfig.json",
  "tsconfig.build.json",
  "package.json",
];
const TEXTS = ["README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md"];

/** What a program that uses the package may look like; its types must fit, and wrong ones must not. */
const CONSUMER = `
import * as drydock from "drydock-sandbox";
import { FilesystemCopyStrategy } from "drydock-sandbox/strategies";
import type { SandboxRef, SandboxStrategy } from "drydock-sandbox/strategy";
import * as testing from "drydock-sandbox/testing";

export const everything: readonly string[] = [...Object.keys(drydock), ...Object.keys(testing)];
export async function size(strategy: SandboxStrategy, ref: SandboxRef): Promise<number> {
  return (await strategy.read(ref, "file")).length;
}
export class Mine extends FilesystemCopyStrategy {
  override readonly name = "mine";
}
// @ts-expect-error a name is a string
export const wrong = (strategy: SandboxStrategy): number => strategy.name;
`;

/**
 * Counts the names that two entries share, and lists those of them that are not the same thing, and errors
 * that have another name.
 */
const COMPARE = `
import * as library from "drydock-sandbox";
import * as strategy from "drydock-sandbox/strategy";
import * as strategies from "drydock-sandbox/strategies";
import * as testing from "drydock-sandbox/testing";
const shared = Object.keys(strategy).filter((name) => name in library);
const apart = shared.filter((name) => library[name] !== strategy[name]);
const misnamed = Object.keys(library).filter((name) => library[name]?.prototype instanceof Error && library[name].name !== name);
console.log(JSON.stringify({ shared: shared.length, apart, misnamed, testing: Object.keys(testing).length, strategies: Object.keys(strategies).length }));
`;

const QUIETLY = ["--prefer-offline", "--no-audit", "--no-fund"];

describe("the package", () => {
  const version: string = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")).version;
  let sources: TemporaryFolder;
  let consumer: TemporaryFolder;
  let tarball: string;
  let packed: readonly { readonly path: string; readonly mode: number }[];

  // npm pack builds, so it works on a copy: other tests use the build of the project meanwhile. In a normal
  // run it packs that build, which is of the same sources, and does not build a second time.
  before(() => {
    sources = new TemporaryFolder();
    consumer = new TemporaryFolder();
    sources.copy(...SOURCES, ...TEXTS);
    sources.linkPackages();
    if (!IS_LONG)
      cpSync(join(projectRoot, "dist"), join(sources.path, "dist"), {
        recursive: true,
        filter: (path) => !path.endsWith(".compile-cache"),
      });
    const building = IS_LONG ? [] : ["--ignore-scripts"];
    const pack = run(sources.path, "npm", "pack", "--json", ...building, "--pack-destination", consumer.path);
    packed = JSON.parse(pack.slice(pack.lastIndexOf("\n[") + 1))[0].files;
    consumer.write("package.json", '{ "name": "consumer", "version": "1.0.0", "type": "module" }\n');
    [tarball = ""] = readdirSync(consumer.path).filter((name) => name.endsWith(".tgz"));
    run(consumer.path, "npm", "install", ...QUIETLY, `./${tarball}`);
  });
  after(() => {
    sources[Symbol.dispose]();
    consumer[Symbol.dispose]();
  });

  it("has what a user needs and nothing else", () => {
    const paths = packed.map(({ path }) => path);
    for (const path of [
      "LICENSE",
      "package.json",
      "bin/drydock",
      "bin/start.cjs",
      "bin/compiled.cjs",
      "dist/program/cli.js",
      "dist/types/index.d.ts",
      "dist/man/drydock.1",
      "dist/page/index.html",
      "dist/page/main.js",
      "dist/page/licences.txt",
      "clients/python/drydock.py",
      "clients/python/drydock_strategy.py",
      ".claude-plugin/marketplace.json",
      "integrations/claude-code/.claude-plugin/plugin.json",
      "integrations/claude-code/hooks/hooks.json",
      "integrations/claude-code/.mcp.json",
      "skills/drydock/SKILL.md",
    ]) {
      assert.ok(paths.includes(path), `${path} is missing`);
    }
    const known =
      /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md|SECURITY\.md|(?:bin|clients|dist|docs|schema|integrations|skills|\.claude-plugin)\/.+)$/;
    assert.deepEqual(
      paths.filter((path) => !known.test(path) || path.includes(".compile-cache")),
      [],
    );
    assert.equal((packed.find(({ path }) => path === "bin/drydock")?.mode ?? 0) & 0o111, 0o111);
  });

  it("names no place of the machine that built it", () => {
    const installed = join(consumer.path, "node_modules/drydock-sandbox");
    const builtIn = IS_LONG ? sources.path : projectRoot;
    const places = [`${builtIn}/src/`, `${builtIn}/page/`, `${builtIn}/node_modules/`];
    for (const { path } of packed) {
      const text = readFileSync(join(installed, path));
      for (const place of [sources.path, ...places]) assert.ok(!text.includes(place), `${path}: ${place}`);
    }
  });

  it("[P13] installs globally, with its man page, and starts the command line", () => {
    using everywhere = new TemporaryFolder();
    run(consumer.path, "npm", "install", "--global", "--prefix", everywhere.path, ...QUIETLY, `./${tarball}`);
    assert.match(readFileSync(join(everywhere.path, "share/man/man1/drydock.1"), "utf8"), /^\.TH /m);
    const program = join(everywhere.path, "bin/drydock");
    assert.ok(run(consumer.path, program, "--version").includes(version));
    const plans = JSON.parse(
      run(consumer.path, program, "plan", "list", "--json", "--state-dir", join(consumer.path, "state")),
    );
    assert.deepEqual(plans, { plans: [] });
  });

  it("gives a program the library, with the same classes from every entry", () => {
    consumer.write("compare.js", COMPARE);
    const answer = JSON.parse(run(consumer.path, process.execPath, "compare.js"));
    const { shared, apart, misnamed, testing, strategies } = answer;
    assert.ok(shared > 0 && testing > 0);
    assert.equal(strategies, 9);
    assert.deepEqual({ apart, misnamed }, { apart: [], misnamed: [] });
  });

  it("[P12] brings no framework, loads no adapter that is not asked for, and an adapter loads no framework", () => {
    const installed = readdirSync(join(consumer.path, "node_modules"));
    const frameworks = ["ai", "@ai-sdk", "deepagents", "@langchain", "langchain", "@opencode-ai"];
    assert.deepEqual(
      installed.filter((name) => frameworks.includes(name)),
      [],
    );
    consumer.write(
      "adapters.js",
      `import { sandboxSession } from "drydock-sandbox/ai-sdk";
import { sandboxBackend } from "drydock-sandbox/deepagents";
import { drydockWorkspaces } from "drydock-sandbox/opencode";
console.log(typeof sandboxSession, typeof sandboxBackend, typeof drydockWorkspaces);`,
    );
    assert.equal(run(consumer.path, process.execPath, "adapters.js"), "function function function\n");
    const dist = join(consumer.path, "node_modules/drydock-sandbox/dist");
    const opencode = readFileSync(join(dist, "opencode.js"), "utf8");
    const imported = [...opencode.matchAll(/\b(?:from|import|require)\b\s*\(?"([^"]*)"/g)].map(
      ([, name]) => name,
    );
    assert.ok(imported.length > 0);
    assert.deepEqual(
      imported.filter((name) => !isBuiltin(name ?? "")),
      [],
      "opencode runs it in Bun, where the program does not run",
    );
    const program = join(dist, "program");
    for (const entry of ["cli.js", "index.js", "strategy.js", "strategies.js", "testing.js"]) {
      const reached = reachedFrom(program, entry);
      assert.ok(reached.size > 1);
      assert.deepEqual(
        ["ai-sdk.js", "deepagents.js"].filter((name) => reached.has(name)),
        [],
      );
    }
  });

  it("ships declarations that a strict program is checked against", () => {
    consumer.write("consumer.ts", CONSUMER);
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "esnext"];
    const types = ["--typeRoots", join(projectRoot, "node_modules/@types"), "--types", "node"];
    const tsc = join(projectRoot, "node_modules/typescript-7/bin/tsc");
    run(consumer.path, process.execPath, tsc, ...options, ...types, "consumer.ts");
  });

  it("ships declarations that show nothing but what an entry exports", () => {
    const folder = join(consumer.path, "node_modules/drydock-sandbox/dist/types");
    const names = readdirSync(folder);
    const texts = new Map(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
    const entries = names.filter((name) => !name.startsWith("shared-"));
    const known = ["ai-sdk", "deepagents", "index", "opencode", "strategies", "strategy", "testing"];
    assert.deepEqual(
      entries,
      known.map((name) => `${name}.d.ts`),
    );
    const exported = new Set(entries.flatMap((name) => exportedBy(texts.get(name) ?? "")));
    assert.ok(
      exported.has("Plan") && exported.has("DrydockError") && exported.has("TwoPhaseSandboxStrategy"),
    );
    const declared = [...texts.values()].flatMap((text) => [
      ...text.matchAll(/^(?:declare )?(?:abstract )?(?:class|interface|type|const|function) (\w+)/gm),
    ]);
    assert.ok(declared.length > 100);
    // A union is made from a list, which is shown with it.
    const hidden = declared.flatMap(([, name = ""]) =>
      exported.has(name) || /^[A-Z_]+$/.test(name) ? [] : [name],
    );
    assert.deepEqual(hidden, []);
  });
});

/** The names that a rolled up declaration exports. */
function exportedBy(text: string): readonly string[] {
  return [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = ""]) =>
    list.split(",").map((item) => item.trim().split(" ").at(-1) ?? ""),
  );
}

/** The modules of the program that one of them loads, at once or when it is used. */
function reachedFrom(program: string, entry: string): ReadonlySet<string> {
  const reached = new Set([entry]);
  for (const name of reached) {
    const text = readFileSync(join(program, name), "utf8");
    for (const [, other = ""] of text.matchAll(/(?:require|[$]mport)\("[.][/]([^"/]+[.]js)"\)/g))
      reached.add(other);
  }
  return reached;
}

/** Runs a program that must succeed, and gives what it printed. */
function run(cwd: string, program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = runProgram(program, args, { cwd });
  assert.equal(status, 0, `${program} ${args.join(" ")}\n${stdout}${stderr}`);
  return stdout;
}
