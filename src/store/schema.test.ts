import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, it } from "node:test";
import { isCurrent, MIGRATIONS, migrate, SCHEMA_VERSION } from "./schema.ts";

describe("the schema", () => {
  let folder: string;
  let file: string;
  let db: DatabaseSync;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "drydock-schema-"));
    file = join(folder, "test.db");
    db = new DatabaseSync(file);
  });

  afterEach(() => {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const version = () => db.prepare("PRAGMA user_version").get()?.["user_version"];
  const tables = () =>
    db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .all()
      .map((row) => row["name"]);

  it("is made in an empty database, which is then current", () => {
    assert.equal(isCurrent(db, file), false);
    migrate(db, file);
    assert.equal(isCurrent(db, file), true);
    assert.equal(version(), SCHEMA_VERSION);
    assert.deepEqual(tables(), [
      "checkpoints",
      "claims",
      "history",
      "intents",
      "plans",
      "sandboxes",
      "sqlite_sequence",
      "transactions",
    ]);
  });

  it("stays as it is when it is migrated again", () => {
    migrate(db, file);
    db.exec("INSERT INTO history (plan_id, record) VALUES ('P', '{}')");
    migrate(db, file);
    assert.equal(db.prepare("SELECT count(*) AS rows FROM history").get()?.["rows"], 1);
  });

  it("runs only the migrations that are missing, in their order", () => {
    migrate(db, file);
    db.exec("INSERT INTO history (plan_id, record) VALUES ('P', '{}')");
    const more = ["ALTER TABLE history ADD COLUMN extra TEXT", "UPDATE history SET extra = 'filled'"];
    migrate(db, file, [...MIGRATIONS, ...more]);
    assert.equal(version(), SCHEMA_VERSION + 2);
    assert.equal(db.prepare("SELECT extra FROM history").get()?.["extra"], "filled");
    assert.throws(() => isCurrent(db, file), { code: "STATE" });
    assert.throws(() => migrate(db, file), {
      code: "STATE",
      message: new RegExp(`version ${SCHEMA_VERSION + 2};`),
    });
  });

  it("is as before when a migration fails", () => {
    migrate(db, file);
    const before = tables();
    const broken = [...MIGRATIONS, "CREATE TABLE more (x)", "INSERT INTO nowhere VALUES (1)"];
    assert.throws(() => migrate(db, file, broken), /no such table: nowhere/);
    assert.deepEqual(tables(), before);
    assert.equal(isCurrent(db, file), true);
  });

  it("is not current when the database lost its write-ahead mode, which a migration gives back", () => {
    migrate(db, file);
    db.exec("PRAGMA journal_mode = DELETE");
    assert.equal(isCurrent(db, file), false);
    migrate(db, file);
    assert.equal(isCurrent(db, file), true);
  });

  it("refuses a database that cannot do write-ahead logging", () => {
    const inMemory = new DatabaseSync(":memory:");
    try {
      assert.throws(() => migrate(inMemory, file), { code: "STATE", message: /write-ahead/ });
    } finally {
      inMemory.close();
    }
  });
});
