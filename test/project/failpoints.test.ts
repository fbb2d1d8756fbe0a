import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { runProgram, TemporaryFolder } from "./project-copy.ts";

const LIST = "test/failpoint-names.ts";

function project(source: string): TemporaryFolder {
  const folder = new TemporaryFolder();
  folder.copy("scripts/failpoints.ts", "package.json");
  folder.linkPackages();
  folder.write("src/system/rename.ts", source);
  folder.write("src/system/rename.test.ts", 'pass(failpoint("only-in-a-test"));\n');
  folder.write(LIST, "");
  return folder;
}

const generate = (folder: TemporaryFolder, ...args: readonly string[]) =>
  runProgram(process.execPath, ["scripts/failpoints.ts", ...args], { cwd: folder.path });

describe("the list of failpoints", () => {
  it("has every literal name once, sorted, and nothing out of comments, texts and tests", () => {
    using folder = project(
      [
        'pass(failpoint("stage.rename"));',
        'pass(failpoint("apply.exchange"), "failpoint(\\"in-a-text\\")");',
        '// failpoint("in-a-comment")',
        'pass(failpoint("stage.rename"));',
      ].join("\n"),
    );
    folder.write("src/files/apply.ts", "pass(failpoint(`apply.add`));\n");
    assert.equal(generate(folder).status, 0);
    const text = readFileSync(join(folder.path, LIST), "utf8");
    assert.deepEqual(text.match(/(?<=^ {2}").*(?=",$)/gm), ["apply.add", "apply.exchange", "stage.rename"]);
    assert.match(
      text,
      /^\/\/ Generated .*\n[\s\S]*export const FAILPOINT_NAMES = \[\n[\s\S]*\] as const;\n$/,
    );
  });

  it("is refused when it is stale, until it is generated again", () => {
    using folder = project('pass(failpoint("stage.rename"));\n');
    assert.equal(generate(folder, "--check").status, 1);
    generate(folder);
    assert.equal(generate(folder, "--check").status, 0);
    folder.write("src/system/more.ts", 'pass(failpoint("stage.more"));\n');
    const { status, stderr } = generate(folder, "--check");
    assert.equal(status, 1);
    assert.match(stderr, /stale.*npm run failpoints/);
  });

  it("refuses a name that is put together at run time or that can't be armed, with its line", () => {
    using folder = project(`\npass(failpoint(\`stage.\${step}\`));\npass(failpoint("Stage:1"));\n`);
    const { status, stderr } = generate(folder);
    assert.equal(status, 1);
    assert.match(stderr, /src\/system\/rename\.ts:2: .*\n.*src\/system\/rename\.ts:3: /);
  });
});
