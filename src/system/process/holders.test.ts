import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { fileWriters, folderHolders } from "./holders.ts";

let root: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drydock-holders-"));
  mkdirSync(join(root, "in/deep"), { recursive: true });
  mkdirSync(join(root, "in2"));
});

afterEach(() => {
  child?.kill("SIGKILL");
  rmSync(root, { recursive: true, force: true });
});

async function start(cwd: string, program: string): Promise<number> {
  child = spawn(
    process.execPath,
    ["-e", `${program}; process.stdout.write("ready"); setInterval(() => {}, 1000)`],
    {
      cwd,
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  await once(child.stdout!, "data");
  return child.pid!;
}

describe("folderHolders", () => {
  it("[O5] names a process that works in the folder, or deeper, with what it holds", async () => {
    const pid = await start(join(root, "in/deep"), "");
    const [holder] = folderHolders(join(root, "in"));
    assert.deepEqual([holder?.pid, holder?.path], [pid, join(root, "in/deep")]);
    assert.ok(holder!.command.length > 0);
  });

  it("[O5] names a process that has it open", async () => {
    const pid = await start("/", `require("node:fs").openSync(${JSON.stringify(join(root, "in"))}, "r")`);
    assert.deepEqual(
      folderHolders(join(root, "in")).map((holder) => holder.pid),
      [pid],
    );
  });

  it("names nobody who is beside it, above it, or gone", async () => {
    await start(join(root, "in2"), `process.chdir(${JSON.stringify(root)}); process.chdir("in2")`);
    assert.deepEqual(folderHolders(join(root, "in")), []);
    assert.deepEqual(folderHolders(join(root, "in2")).length, 1);
  });

  it("goes on when a stranger works in a folder that is too deep to be named", async () => {
    const dive = `for (let at = 0; at < 25; at += 1) { const name = "d".repeat(200); require("node:fs").mkdirSync(name); process.chdir(name); }`;
    await start(join(root, "in2"), dive);
    assert.deepEqual(folderHolders(join(root, "in")), []);
  });
});

describe("fileWriters", () => {
  it("finds a process that has a file open for writing, and not one that reads it", async () => {
    const path = join(root, "file");
    writeFileSync(path, "x");
    const children = ["<", ">>"].map((how) =>
      spawn("sh", ["-c", `exec 3${how}"${path}"; echo ready; read x`]),
    );
    await Promise.all(children.map((child) => once(child.stdout, "data")));
    assert.deepEqual(
      fileWriters([path]).map(({ pid }) => pid),
      [children[1]?.pid],
    );
    for (const child of children) child.stdin.end();
    await Promise.all(children.map((child) => once(child, "exit")));
    assert.deepEqual(fileWriters([path]), []);
  });
});
