import assert from "node:assert/strict";
import { accessSync, constants, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, it } from "node:test";
import { projectRoot, runProgram, TemporaryFolder } from "./project-copy.ts";

/** A copy of bin/ without the Node that the project installs, started with only this folder on PATH. */
function start(folder: TemporaryFolder, path: string) {
  folder.copy("bin");
  return runProgram(join(folder.path, "bin/drydock"), ["plan", "list"], {
    env: { PATH: path },
    cwd: folder.path,
  });
}

/** Checks for one line that says what is wrong and one that says what to do. */
function assertRefused(result: ReturnType<typeof start>, wrong: RegExp): void {
  assert.equal(result.status, 2, result.stderr);
  assert.equal(result.stdout, "");
  const [first = "", second = "", ...more] = result.stderr.trimEnd().split("\n");
  assert.match(first, wrong);
  assert.match(second, /npm ci/);
  assert.deepEqual(more, []);
}

function oldNodesOnPath(): readonly string[] {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => isExecutable(join(folder, "node")))
    .filter(
      (folder) => Number.parseInt(runProgram(join(folder, "node"), ["--version"]).stdout.slice(1), 10) < 24,
    );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

describe("bin/drydock", () => {
  it("[X5] refuses a Node that is too old in two lines, with exit code 2", () => {
    using folder = new TemporaryFolder();
    const claim = folder.write(
      "old.cjs",
      'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });\n',
    );
    folder.write("path/node", `#!/bin/sh\nexec "${process.execPath}" --require "${claim}" "$@"\n`, 0o755);
    assertRefused(
      start(folder, join(folder.path, "path")),
      /^drydock needs Node 24 or newer, but this is Node 20\.20\.2 /,
    );
  });

  it("[X5] is understood by each older Node that this machine happens to have", () => {
    for (const path of oldNodesOnPath()) {
      using folder = new TemporaryFolder();
      assertRefused(start(folder, path), /^drydock needs Node 24 or newer, but this is Node \d+\.\d+\.\d+ /);
    }
  });

  it("[X5] and the library, on an older Node, say so in one line", () => {
    using folder = new TemporaryFolder();
    const claim = folder.write(
      "old.cjs",
      'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });\n',
    );
    const say = `import(${JSON.stringify(join(projectRoot, "dist/index.js"))}).catch((error) => console.log(error.message))`;
    const nodes = [
      [process.execPath, "--require", claim],
      ...oldNodesOnPath().map((path) => [join(path, "node")]),
    ];
    for (const [node = "", ...flags] of nodes)
      assert.match(
        runProgram(node, [...flags, "-e", say]).stdout,
        /^drydock needs Node 24 or newer, but this is Node \d+\.\d+\.\d+ \(.*\)\.\n$/,
      );
  });

  it("[X5] says so when there is no Node at all", () => {
    using folder = new TemporaryFolder();
    assertRefused(
      start(folder, folder.path),
      /^drydock needs Node 24 or newer, and there is no node on PATH\.$/,
    );
  });

  it("starts from any folder and through symbolic links, on the Node of the project, whatever is on PATH", () => {
    using folder = new TemporaryFolder();
    const absolute = join(folder.path, "absolute");
    symlinkSync(join(projectRoot, "bin/drydock"), absolute);
    symlinkSync("absolute", join(folder.path, "relative"));
    const { PATH = "" } = process.env;
    folder.write("path/node", "#!/bin/sh\necho the wrong Node; exit 1\n", 0o755);
    for (const program of [join(projectRoot, "bin/drydock"), absolute, "./relative"]) {
      const env = { PATH: `${join(folder.path, "path")}:${PATH}` };
      const { status, stdout, stderr } = runProgram(program, ["--version"], { cwd: folder.path, env });
      assert.equal(status, 0, stderr);
      assert.match(stdout, /\d+\.\d+\.\d+/);
    }
  });
});
