import assert from "node:assert/strict";
import { readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { Workplace } from "../end-to-end/workplace.ts";

/** A database with a rollback journal, into which a plan has landed. */
class JournalledDatabase extends Workplace {
  readonly database = join(this.folder("data", {}), "shop.db");

  constructor() {
    super();
    this.#sql((db) =>
      db.exec("PRAGMA journal_mode = delete; CREATE TABLE t(a); INSERT INTO t VALUES ('old')"),
    );
    this.done("plan", "create", "--name", "p", "-r", this.database);
    this.done("plan", "sql", "p", "shop.db", "-c", "INSERT INTO t VALUES ('new')");
    this.done("plan", "apply", "p");
  }

  /**
   * Kills an undo while it holds the database, before it is decided: it has written its transaction, and its
   * journal is there.
   */
  dieInUndo(): void {
    for (let write = 1; ; write += 1) {
      const { status } = this.drydock(["plan", "undo", "p"], {
        env: { DRYDOCK_FAILPOINT: `store.write:${write}=kill` },
      });
      assert.notEqual(status, 0, "it was never killed while it had a journal");
      if (this.beside().length > 0) return;
      assert.equal(this.drydock(["recover"]).status, 0);
    }
  }

  rows(): readonly unknown[] {
    return this.#sql((db) =>
      db
        .prepare("SELECT a FROM t")
        .all()
        .map(({ a }) => a),
    );
  }

  /** What is in the folder of the database besides it. */
  beside(): readonly string[] {
    return readdirSync(join(this.path, "data")).filter((name) => name !== "shop.db");
  }

  #sql<T>(work: (db: DatabaseSync) => T): T {
    const db = new DatabaseSync(this.database);
    try {
      return work(db);
    } finally {
      db.close();
    }
  }
}

describe("The journal of a SQLite database after a crash", () => {
  it("[A3] [A17] of an undo is gone when it is recovered, and all that had landed is there", () => {
    using scene = new JournalledDatabase();
    scene.dieInUndo();
    assert.deepEqual(scene.beside(), ["shop.db-journal"]);
    assert.equal(scene.drydock(["recover"]).status, 0);
    assert.deepEqual([scene.beside(), scene.rows()], [[], ["old", "new"]]);
    scene.done("plan", "undo", "p");
    assert.deepEqual([scene.beside(), scene.rows()], [[], ["old"]]);
  });

  it("[A3] [A17] goes too if nothing had been written to it yet, and if the recovery dies in removing it", () => {
    using scene = new JournalledDatabase();
    scene.dieInUndo();
    // As if it had died between making the file and writing to it. Nothing of the transaction is in the
    // database yet.
    truncateSync(`${scene.database}-journal`);
    scene.drydock(["recover"], { env: { DRYDOCK_FAILPOINT: "sqlite.remove-journal:1=kill" } });
    assert.deepEqual(scene.beside(), ["shop.db-journal"]);
    assert.equal(scene.drydock(["recover"]).status, 0);
    assert.deepEqual([scene.beside(), scene.rows()], [[], ["old", "new"]]);
  });
});
