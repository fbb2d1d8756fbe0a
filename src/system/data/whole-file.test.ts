import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { Folder } from "../calls/folder.ts";
import { armFailpoints, failpoint } from "../failpoints.ts";
import { createWhole, type Durability, readWhole, writeWhole } from "./whole-file.ts";

const POINT = failpoint("test.whole");
const MODULES = ["../calls/folder.ts", "./whole-file.ts", "../failpoints.ts"].map(
  (path) => new URL(path, import.meta.url).href,
);

let path: string;
let folder: Folder;

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), "drydock-whole-"));
  folder = Folder.open(path);
});

afterEach(() => {
  armFailpoints(undefined);
  folder.close();
  rmSync(path, { recursive: true, force: true });
});

const at = (name: string) => join(path, name);
const write = (name: string, text: string, how?: Durability) =>
  writeWhole(POINT, folder, name, Buffer.from(text), how);

/** A program that writes `a`, killed at this failpoint if one is given. */
function programThatWrites(how: Durability, trap = ""): string[] {
  const [folders, whole, failpoints] = MODULES.map((url) => JSON.stringify(url));
  const script = `
    import { Folder } from ${folders};
    import { writeWhole } from ${whole};
    import { armFailpoints, failpoint } from ${failpoints};
    if (${JSON.stringify(trap)} !== "") armFailpoints(${JSON.stringify(trap)} + "=kill");
    writeWhole(failpoint("test.whole"), Folder.open(${JSON.stringify(path)}), "a", Buffer.from("new"), "${how}");`;
  return [process.execPath, "--input-type=module", "-e", script];
}

describe("writeWhole", () => {
  it("makes a file for us alone and replaces it", () => {
    write("a", "one");
    assert.equal(statSync(at("a")).mode & 0o777, 0o600);
    assert.equal(readWhole(folder, "a")?.toString(), "one");
    write("a", "two", "flushed");
    write("a", "three", "durable");
    assert.equal(readWhole(folder, "a")?.toString(), "three");
    assert.deepEqual(readdirSync(path), ["a"]);
    assert.equal(readWhole(folder, "b"), undefined);
  });

  it("replaces a link, not what it points to", () => {
    writeFileSync(at("target"), "old");
    symlinkSync("target", at("a"));
    write("a", "new");
    assert.equal(readFileSync(at("target"), "utf8"), "old");
    assert.equal(readFileSync(at("a"), "utf8"), "new");
  });

  it("[X4] names the place and the reason when the folder is gone", () => {
    rmSync(path, { recursive: true });
    assert.throws(() => write("a", "text"), { name: "SystemCallError", code: "ENOENT", message: /a\.new/ });
  });

  it("leaves the old content and nothing else when any step before the rename fails", () => {
    writeFileSync(at("a"), "old");
    for (const step of ["test.whole:1", "test.whole:2", "record.flush:1"]) {
      armFailpoints(`${step}=enospc`);
      assert.throws(() => write("a", "new", "durable"), { code: "ENOSPC" });
      assert.deepEqual([readFileSync(at("a"), "utf8"), readdirSync(path)], ["old", ["a"]], step);
    }
    armFailpoints("record.flush:2=error");
    assert.throws(() => write("a", "new", "durable"), { code: "EIO" });
    assert.deepEqual([readFileSync(at("a"), "utf8"), readdirSync(path)], ["new", ["a"]]);
  });

  it("[A3] leaves all of the old or all of the new content when it is killed, and the next write removes the rest", () => {
    for (const [how, step, content] of [
      ["durable", "test.whole:1", "old"],
      ["durable", "test.whole:2", "old"],
      ["durable", "record.flush:1", "old"],
      ["durable", "record.replace:1", "old"],
      ["durable", "record.flush:2", "new"],
      ["buffered", "test.whole:1", "old"],
      ["buffered", "test.whole:2", "old"],
      ["buffered", "record.replace:1", "old"],
      ["buffered", "record.remove-old:1", "new"],
    ] as const) {
      writeFileSync(at("a"), "old");
      const [node = "", ...args] = programThatWrites(how, step);
      assert.equal(spawnSync(node, args).signal, "SIGKILL", step);
      assert.equal(readFileSync(at("a"), "utf8"), content, step);
      write("a", "next");
      assert.deepEqual([readFileSync(at("a"), "utf8"), readdirSync(path)], ["next", ["a"]], step);
    }
  });

  it("flushes the content before the new file takes the name, and the folder after it, if it is to be durable", () => {
    const stepsOf = (how: Durability) => {
      const trace = join(tmpdir(), `drydock-whole-trace-${process.pid}`);
      const calls = "trace=fsync,fdatasync,rename,renameat,renameat2";
      assert.equal(
        spawnSync("strace", ["-f", "-y", "-e", calls, "-o", trace, ...programThatWrites(how)]).status,
        0,
      );
      const lines = readFileSync(trace, "utf8").split("\n");
      rmSync(trace);
      const known = {
        content: /fsync\(\d+<.*\/a\.new>/,
        name: /rename/,
        folder: new RegExp(`fsync\\(\\d+<${path}>`),
      };
      return lines
        .filter((line) => line.includes(path))
        .map((line) => Object.entries(known).find(([, pattern]) => pattern.test(line))?.[0]);
    };
    assert.deepEqual(stepsOf("buffered"), ["name"]);
    assert.deepEqual(stepsOf("flushed"), ["content", "name"]);
    assert.deepEqual(stepsOf("durable"), ["content", "name", "folder"]);
  });
});

describe("createWhole", () => {
  const NAME = "caf\u00e9.txt";

  it("makes a file where nothing is", () => {
    createWhole(POINT, folder, NAME, "text\n");
    assert.equal(readFileSync(at(NAME), "utf8"), "text\n");
    assert.equal(lstatSync(at(NAME)).mode & 0o133, 0);
  });

  it("never takes the place of anything, not even of a link that leads nowhere", () => {
    const exists = { name: "SystemCallError", code: "EEXIST" };
    writeFileSync(at(NAME), "old");
    assert.throws(() => createWhole(POINT, folder, NAME, "new"), exists);
    assert.equal(readFileSync(at(NAME), "utf8"), "old");
    symlinkSync(at("nowhere"), at("link"));
    assert.throws(() => createWhole(POINT, folder, "link", "new"), exists);
    assert.equal(existsSync(at("nowhere")), false);
  });

  it("leaves nothing behind when it can't be written", () => {
    armFailpoints("test.whole:2=enospc");
    assert.throws(() => createWhole(POINT, folder, NAME, "new"), { code: "ENOSPC" });
    assert.deepEqual(readdirSync(path), []);
  });
});
