import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileWriters } from "./file-holders.ts";

describe("fileWriters", () => {
  it("finds who has a file open for writing, and not who reads it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "drydock-holders-"));
    try {
      const path = join(folder, "file");
      writeFileSync(path, "x");
      const children = ["<", ">>"].map((how) => spawn("sh", ["-c", `exec 3${how}"${path}"; echo ready; read x`]));
      await Promise.all(children.map((child) => once(child.stdout, "data")));
      assert.deepEqual(
        fileWriters([path]).map(({ pid }) => pid),
        [children[1]?.pid],
      );
      for (const child of children) child.stdin.end();
      await Promise.all(children.map((child) => once(child, "exit")));
      assert.deepEqual(fileWriters([path]), []);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
