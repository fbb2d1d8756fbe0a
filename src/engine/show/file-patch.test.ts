import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { NEEDS_ROOT, ODD_NAME, TreeFixture } from "../../../test/support/tree-fixture.ts";
import type { Change } from "../../core/change.ts";
import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import type { DiffSides } from "./change-reader.ts";
import { shownChanges } from "./diff-view.ts";
import { filePatch, type PatchForm, type PatchSources } from "./file-patch.ts";

const trees = TreeFixture.forEachTest();

const original = (path: string) => trees.inOriginal(path);
const sandbox = (path: string) => trees.inSandbox(path);
const sources = (): PatchSources => ({
  before: async (path) => readFileSync(original(path)),
  after: async (path) => readFileSync(sandbox(path)),
});

function changes(): readonly Change[] {
  const sides: DiffSides = {
    original: trees.original,
    sandbox: trees.sandbox,
    policy: { allowSetid: false, allowDevices: false },
    originalIsBase: (now, before) => trees.originalIsBase(now, before),
  };
  return [...shownChanges(trees.diff().changes, sides)];
}

async function patchOf(path: string, from = sources(), form: PatchForm = {}): Promise<string> {
  const change = changes().find((each) => each.path === path);
  assert.ok(change, `${path} is not among the changes`);
  return (await filePatch(change, from, form)).toString("latin1");
}

/** What is in a folder, as far as git knows it, by the path below it. */
function contents(
  folder: string,
  below = "",
  found: { [path: string]: string } = {},
): { [path: string]: string } {
  for (const name of readdirSync(bytesFromPath(folder + below), "buffer")) {
    const path = `${below}/${pathFromBytes(name)}`;
    const bytes = bytesFromPath(folder + path);
    const stat = lstatSync(bytes);
    if (stat.isDirectory()) contents(folder, path, found);
    if (stat.isFile())
      found[path] = `${(stat.mode & 0o111) > 0 ? "x" : "-"} ${readFileSync(bytes, "latin1")}`;
    if (stat.isSymbolicLink()) found[path] = `link to ${readlinkSync(bytes)}`;
  }
  return found;
}

describe("filePatch", () => {
  it("[D7] shows a text file as git does", async () => {
    writeFileSync(original("f"), "a\nb\n");
    trees.copy();
    writeFileSync(sandbox("f"), "a\nc\n");
    assert.equal(await patchOf("f"), "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
  });

  it("[D7] shows files that come and go, with their modes, empty ones too", async () => {
    writeFileSync(original("gone"), "a");
    chmodSync(original("gone"), 0o644);
    trees.copy();
    unlinkSync(sandbox("gone"));
    writeFileSync(sandbox("empty"), "", { mode: 0o755 });
    assert.equal(await patchOf("empty"), "diff --git a/empty b/empty\nnew file mode 100755\n");
    assert.equal(
      await patchOf("gone"),
      "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n\\ No newline at end of file\n",
    );
  });

  it("[D7] says of binary files that they differ, and no more, if only text is wanted", async () => {
    writeFileSync(original("f"), Buffer.from([0, 1]));
    trees.copy();
    writeFileSync(sandbox("f"), Buffer.from([0, 2]));
    writeFileSync(sandbox("new"), Buffer.from([0]), { mode: 0o600 });
    const onlyText = { onlyText: true };
    assert.equal(
      await patchOf("f", sources(), onlyText),
      "diff --git a/f b/f\nBinary files a/f and b/f differ\n",
    );
    assert.equal(
      await patchOf("new", sources(), onlyText),
      "diff --git a/new b/new\nnew file mode 100600\nBinary files /dev/null and b/new differ\n",
    );
  });

  it("[V8] writes binary files as git does", async () => {
    writeFileSync(original("f"), Buffer.from([0, 1]));
    trees.copy();
    writeFileSync(sandbox("f"), Buffer.from([0, 2]));
    spawnSync("git", ["init", "-q", "."], { cwd: trees.root });
    const options = ["diff", "--no-index", "--binary", "--full-index", "original/f", "sandbox/f"];
    const { stdout } = spawnSync("git", options, { cwd: trees.root, encoding: "latin1" });
    // How well the content is compressed is up to each.
    const shape = (text: string) => text.replace(/^[A-Za-z]c\S+$/gm, "…").replace(/^(index \S+) .*$/m, "$1");
    const [, ...lines] = shape(stdout).split("\n");
    assert.deepEqual(
      shape(await patchOf("f"))
        .split("\n")
        .slice(1),
      lines,
    );
  });

  it("[D3] shows where links point, as git does", async () => {
    symlinkSync("old", original("link"));
    trees.copy();
    unlinkSync(sandbox("link"));
    symlinkSync("new", sandbox("link"));
    const end = "\\ No newline at end of file\n";
    assert.equal(
      await patchOf("link"),
      `diff --git a/link b/link\n--- a/link\n+++ b/link\n@@ -1,1 +1,1 @@\n-old\n${end}+new\n${end}`,
    );
  });

  it("[D4] notes modes in git's words, and owners and times beside them", { skip: NEEDS_ROOT }, async () => {
    for (const name of ["mode", "owner", "time"]) writeFileSync(original(name), "a\n");
    chmodSync(original("mode"), 0o644);
    mkdirSync(original("d"), { mode: 0o755 });
    trees.copy();
    chmodSync(sandbox("mode"), 0o755);
    chmodSync(sandbox("d"), 0o700);
    spawnSync("chown", ["1234:5678", sandbox("owner").toString()]);
    trees.setTime("time", [1000, 0]);
    assert.equal(await patchOf("mode"), "diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n");
    assert.equal(await patchOf("d"), "# d: mode 0755 → 0700\n".replace("→", "\u00e2\u0086\u0092"));
    assert.match(await patchOf("owner"), /^# owner: owner 0:0 .* 1234:5678\n$/);
    assert.match(await patchOf("time"), /^# time: time .* 1970-01-01T00:16:40.000000000Z\n$/);
  });

  it("notes attributes, and names that no longer share a file", async () => {
    for (const name of ["attributes", "one"]) writeFileSync(original(name), "a\n");
    linkSync(original("one"), original("two"));
    trees.copy();
    spawnSync("setfattr", ["-n", "user.drydock", "-v", "1", sandbox("attributes").toString()]);
    const { mtime } = trees.facts("sandbox", "one")!;
    unlinkSync(sandbox("one"));
    writeFileSync(sandbox("one"), "a\n");
    trees.setTime("one", mtime);
    assert.equal(await patchOf("attributes"), "# attributes: attributes changed\n");
    assert.match(await patchOf("one"), /^# one: the same content, but shared with other names\n/);
  });

  it("[D5] notes what git does not know: folders, fifos, and what changed into or from one", async () => {
    writeFileSync(original("file to folder"), "a\n");
    mkdirSync(original("folder to file"));
    mkdirSync(original("gone"), { mode: 0o755 });
    trees.copy();
    for (const name of ["file to folder", "folder to file", "gone"])
      rmSync(sandbox(name).toString(), { recursive: true });
    mkdirSync(sandbox("file to folder"), { mode: 0o700 });
    writeFileSync(sandbox("folder to file"), "b\n", { mode: 0o644 });
    spawnSync("mkfifo", ["-m", "600", sandbox("fifo").toString()]);
    assert.equal(await patchOf("fifo"), "# fifo: added fifo 0600\n");
    assert.equal(await patchOf("gone"), "# gone: deleted directory 0755\n");
    assert.match(
      await patchOf("file to folder"),
      /^# file to folder: now a directory 0700\ndiff --git .*\ndeleted file mode/,
    );
    assert.match(
      await patchOf("folder to file"),
      /^# folder to file: was of another kind\ndiff --git .*\nnew file mode 100644\n/,
    );
  });

  it("shows no lines of content that is no longer what was compared, and says so", async () => {
    writeFileSync(original("f"), "a\n");
    trees.copy();
    writeFileSync(sandbox("f"), "b\n");
    const moved = { ...sources(), before: async () => Buffer.from("rival\n") };
    assert.equal(await patchOf("f", moved), "# f: modified, but its content can't be had now\n");
    const gone = { ...sources(), after: async () => undefined };
    assert.equal(await patchOf("f", gone), "# f: modified, but its content can't be had now\n");
    writeFileSync(original("f"), "rival\n");
    const patch = await patchOf("f");
    assert.equal(
      patch,
      "# f: modified, but its content can't be had now\n# f: the original changed meanwhile\n",
    );
  });

  it("does not ask for content that is too large or did not change", async () => {
    for (const name of ["large", "mode"]) writeFileSync(original(name), "a\n");
    trees.copy();
    chmodSync(sandbox("mode"), 0o700);
    truncateSync(sandbox("large"), 0);
    for (let at = 0; at < 65; at += 1)
      writeFileSync(sandbox("large"), Buffer.alloc(1024 * 1024, "x\n"), { flag: "a" });
    const asked: string[] = [];
    const after = async (path: string) => {
      asked.push(path);
      return undefined;
    };
    assert.equal(
      await patchOf("large", { ...sources(), after }),
      "# large: modified, and too large to be shown\n",
    );
    await patchOf("mode", { before: after, after });
    assert.deepEqual(asked, []);
  });

  it("notes changes that are not in files at all", async () => {
    const row: Change = {
      path: "users/1",
      operation: "modified",
      kind: "row",
      before: { size: 3 },
      after: { size: 4 },
    };
    const added: Change = { path: "users/2", operation: "added", kind: "row" };
    const none: PatchSources = { before: async () => undefined, after: async () => undefined };
    assert.equal((await filePatch(row, none)).toString(), "# users/1: modified row\n");
    assert.equal((await filePatch(added, none)).toString(), "# users/2: added row\n");
  });

  it("puts the path that it is given into the header", async () => {
    trees.copy();
    writeFileSync(sandbox("f"), "a\n", { mode: 0o644 });
    const [change] = changes();
    const patch = await filePatch(change!, sources(), { shownPath: "app/f" });
    assert.equal(
      patch.toString(),
      "diff --git a/app/f b/app/f\nnew file mode 100644\n--- /dev/null\n+++ b/app/f\n@@ -0,0 +1,1 @@\n+a\n",
    );
  });

  it("[D7] all patches together make of a copy of the original, by git, what the sandbox is", async () => {
    const text = Array.from({ length: 50 }, (_, at) => `line ${at}\n`);
    mkdirSync(original("d/e"), { recursive: true });
    for (const name of ["d/e/f", ODD_NAME, 'a "b" \\ c', "größe", "mode", "to link", "gone", "no newline"]) {
      writeFileSync(original(name), text.join(""));
    }
    symlinkSync("old", original("link"));
    symlinkSync("d", original("link to file"));
    const noise = Array.from({ length: 3000 }, (_, at) => (at * at) % 251);
    for (const name of ["binary", "binary that goes"])
      writeFileSync(original(name), Buffer.from([0, ...noise]));
    trees.copy();
    spawnSync("cp", ["-a", "original", "applied"], { cwd: trees.root });
    for (const name of ["d/e/f", ODD_NAME, 'a "b" \\ c', "größe"]) {
      writeFileSync(
        sandbox(name),
        text.with(3, "é\r\n").with(30, "\xff\n").toSpliced(40, 2).join(""),
        "latin1",
      );
    }
    for (const name of ["link", "link to file", "to link", "gone"]) unlinkSync(sandbox(name));
    symlinkSync("new", sandbox("link"));
    symlinkSync("d/e/f", sandbox("to link"));
    writeFileSync(sandbox("link to file"), "now a file");
    writeFileSync(sandbox("no newline"), text.join("").trimEnd());
    writeFileSync(sandbox("empty"), "");
    writeFileSync(sandbox("binary"), Buffer.from([...noise.reverse(), 0]));
    writeFileSync(sandbox("new binary"), Buffer.from([0, ...noise]), { mode: 0o755 });
    unlinkSync(sandbox("binary that goes"));
    mkdirSync(sandbox("new"));
    writeFileSync(sandbox("new/f"), "a\n");
    chmodSync(sandbox("mode"), 0o755);
    const patches = await Promise.all(changes().map((change) => filePatch(change, sources())));
    const applied = spawnSync("git", ["apply", "--whitespace=nowarn", "-"], {
      cwd: join(trees.root, "applied"),
      input: Buffer.concat(patches),
      encoding: "utf8",
    });
    assert.equal(applied.stderr, "");
    assert.deepEqual(contents(join(trees.root, "applied")), contents(join(trees.root, "sandbox")));
  });
});
