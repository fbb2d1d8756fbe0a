import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
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
import { bytesFromPath, pathFromBytes } from "../core/byte-path.ts";
import { armFailpoints, failpoint } from "./failpoints.ts";
import {
  durableWriteFile,
  ownershipOf,
  readTextFile,
  realPathOf,
  removeUnfinishedWrites,
  whileFolderLocked,
} from "./text-files.ts";

const POINT = failpoint("test.text");
const ODD_NAME = pathFromBytes(Buffer.from([0x61, 0xff, 0x0a, 0x62]));

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "drydock-text-"));
});

afterEach(() => {
  armFailpoints(undefined);
  rmSync(folder, { recursive: true, force: true });
});

const at = (name: string) => join(folder, name);
const write = (name: string, text: string) => durableWriteFile(POINT, at(name), Buffer.from(text), 0o600);

describe("readTextFile", () => {
  it("gives the bytes, the text and whose it is", () => {
    writeFileSync(at("a"), "größe\n");
    chmodSync(at("a"), 0o640);
    const file = readTextFile(at("a"), 100);
    assert.equal(file?.text, "größe\n");
    assert.deepEqual(file.bytes, readFileSync(at("a")));
    assert.deepEqual([file.mode, file.uid], [0o640, process.getuid?.()]);
  });

  it("keeps bytes that are not UTF-8 as lone surrogates", () => {
    writeFileSync(at("a"), Buffer.from([0x61, 0xfe, 0x62]));
    assert.equal(readTextFile(at("a"), 100)?.text, "a\udcfeb");
  });

  it("knows nothing where there is nothing", () => {
    writeFileSync(at("a"), "");
    assert.equal(readTextFile(at("missing"), 100), undefined);
    assert.equal(readTextFile(at("a/below"), 100), undefined);
  });

  it("reads exactly as much as is allowed and refuses more", () => {
    writeFileSync(at("a"), "x".repeat(200_000));
    assert.equal(readTextFile(at("a"), 200_000)?.bytes.length, 200_000);
    assert.throws(() => readTextFile(at("a"), 199_999), { code: "EFBIG" });
  });

  it("refuses a folder, a link and, without waiting, a fifo", () => {
    mkdirSync(at("folder"));
    writeFileSync(at("a"), "a");
    symlinkSync("a", at("link"));
    assert.equal(spawnSync("mkfifo", [at("fifo")]).status, 0);
    assert.throws(() => readTextFile(at("folder"), 100), { name: "SystemCallError", code: "EINVAL" });
    assert.throws(() => readTextFile(at("link"), 100), { name: "SystemCallError", code: "ELOOP" });
    assert.throws(() => readTextFile(at("fifo"), 100), { name: "SystemCallError", message: /not a regular file/ });
  });

  it("finds files by names of any bytes", () => {
    writeFileSync(bytesFromPath(at(ODD_NAME)), "odd");
    symlinkSync(bytesFromPath(at(ODD_NAME)), at("link"));
    assert.equal(realPathOf(at("link")), at(ODD_NAME));
    assert.equal(readTextFile(at(ODD_NAME), 100)?.text, "odd");
    assert.equal(ownershipOf(at(ODD_NAME))?.uid, process.getuid?.());
    assert.equal(realPathOf(at("missing")), undefined);
    assert.equal(ownershipOf(at("missing")), undefined);
  });
});

describe("durableWriteFile", () => {
  it("makes a file and replaces it, with this mode whatever the umask is", () => {
    const umask = process.umask(0o077);
    try {
      durableWriteFile(POINT, at("a"), Buffer.from("one"), 0o644);
    } finally {
      process.umask(umask);
    }
    assert.equal(statSync(at("a")).mode & 0o777, 0o644);
    write("a", "two");
    assert.equal(readFileSync(at("a"), "utf8"), "two");
    assert.equal(statSync(at("a")).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(folder), ["a"]);
  });

  it("replaces a link, not what it points to", () => {
    writeFileSync(at("target"), "old");
    symlinkSync("target", at("a"));
    write("a", "new");
    assert.equal(readFileSync(at("target"), "utf8"), "old");
    assert.equal(readFileSync(at("a"), "utf8"), "new");
  });

  it("[X4] names the place and the reason when the folder is missing", () => {
    assert.throws(() => write("missing/a", "text"), {
      name: "SystemCallError",
      code: "ENOENT",
      message: /missing\/\.a\./,
    });
  });

  it("leaves the old content and nothing else when any step before the rename fails", () => {
    writeFileSync(at("a"), "old");
    for (const nth of [1, 2, 3]) {
      armFailpoints(`test.text:${nth}=enospc`);
      assert.throws(() => write("a", "new"), { code: "ENOSPC" });
      assert.deepEqual([readFileSync(at("a"), "utf8"), readdirSync(folder)], ["old", ["a"]]);
    }
    armFailpoints("test.text:4=error");
    assert.throws(() => write("a", "new"), { code: "EIO" });
    assert.deepEqual([readFileSync(at("a"), "utf8"), readdirSync(folder)], ["new", ["a"]]);
  });

  it("[A3] leaves all of the old or all of the new content when it is killed, and the rest can be swept away", () => {
    const module = JSON.stringify(new URL("./text-files.ts", import.meta.url).href);
    const failpoints = JSON.stringify(new URL("./failpoints.ts", import.meta.url).href);
    for (const [nth, content] of [
      [1, "old"],
      [2, "old"],
      [3, "old"],
      [4, "new"],
    ] as const) {
      writeFileSync(at("a"), "old");
      const script = `
        import { durableWriteFile } from ${module};
        import { armFailpoints, failpoint } from ${failpoints};
        armFailpoints("test.text:${nth}=kill");
        durableWriteFile(failpoint("test.text"), ${JSON.stringify(at("a"))}, Buffer.from("new"), 0o600);`;
      const { signal } = spawnSync(process.execPath, ["--input-type=module", "-e", script]);
      assert.equal(signal, "SIGKILL");
      assert.equal(readFileSync(at("a"), "utf8"), content);
      removeUnfinishedWrites(POINT, at("a"));
      assert.deepEqual(readdirSync(folder), ["a"]);
    }
  });

  it("flushes the content before the rename and the folder after it", () => {
    const trace = at("trace");
    const script = `
      import { durableWriteFile } from ${JSON.stringify(new URL("./text-files.ts", import.meta.url).href)};
      durableWriteFile("test.text", ${JSON.stringify(at("a"))}, Buffer.from("new"), 0o600);`;
    const calls = "trace=fsync,fdatasync,rename,renameat,renameat2";
    const node = [process.execPath, "--input-type=module", "-e", script];
    assert.equal(spawnSync("strace", ["-f", "-y", "-e", calls, "-o", trace, ...node]).status, 0);
    const steps = readFileSync(trace, "utf8")
      .split("\n")
      .filter((line) => line.includes(folder));
    assert.match(steps[0] ?? "", /fsync\(\d+<.*\/\.a\.[0-9a-f]{24}\.tmp>/);
    assert.match(steps[1] ?? "", /rename/);
    assert.match(steps[2] ?? "", new RegExp(`fsync\\(\\d+<${folder}>`));
    assert.equal(steps.length, 3);
  });
});

describe("removeUnfinishedWrites", () => {
  it("removes only what a write of that very file left", () => {
    const left = `.a.${"0".repeat(24)}.tmp`;
    for (const name of ["a", "b", left, `.b.${"0".repeat(24)}.tmp`, ".a.tmp", ".a.backup"]) writeFileSync(at(name), "");
    removeUnfinishedWrites(POINT, at("a"));
    assert.equal(existsSync(at(left)), false);
    assert.equal(readdirSync(folder).length, 5);
  });
});

describe("whileFolderLocked", () => {
  it("frees the lock also when the work fails", () => {
    assert.throws(
      () =>
        whileFolderLocked(folder, () => {
          throw new TypeError("the work failed");
        }),
      TypeError,
    );
    assert.equal(
      whileFolderLocked(folder, () => 7),
      7,
    );
  });
});
