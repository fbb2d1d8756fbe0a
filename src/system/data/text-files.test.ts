import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { realPathOf } from "./locations.ts";
import { ownershipOf, readTextFile } from "./text-files.ts";

const ODD_NAME = pathFromBytes(Buffer.from([0x61, 0xff, 0x0a, 0x62]));

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "drydock-text-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const at = (name: string) => join(folder, name);

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
    assert.throws(() => readTextFile(at("fifo"), 100), {
      name: "SystemCallError",
      message: /not a regular file/,
    });
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
