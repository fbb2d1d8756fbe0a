import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { firstBytes } from "./locations.ts";
import { holdLocks } from "./locked-files.ts";

/** Whether another process could write to the database. */
function isFree(path: string): boolean {
  return spawnSync("sqlite3", [path, "BEGIN IMMEDIATE; ROLLBACK"]).status === 0;
}

describe("files that are locked by this process", () => {
  it("[A14] stay locked when something else here reads them", () => {
    const folder = mkdtempSync(join(tmpdir(), "drydock-locks-"));
    try {
      const path = join(folder, "app.db");
      const db = new DatabaseSync(path);
      db.exec("CREATE TABLE t(a); BEGIN IMMEDIATE");
      const release = holdLocks(path);
      assert.equal(firstBytes(path, 6).toString(), "SQLite");
      assert.ok(!isFree(path), "the lock is lost");
      closeSync(openSync(path, "r"));
      assert.ok(isFree(path), "a lock survives what this guards against, so nothing was shown");
      db.close();
      release();
      assert.equal(firstBytes(path, 6).toString(), "SQLite");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
