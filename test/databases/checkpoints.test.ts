import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { SandboxRef } from "../../src/core/sandbox.ts";
import { SqliteSnapshotStrategy } from "../../src/strategies/sqlite-snapshot/sqlite-snapshot.ts";
import { buildDatabase, changeDatabase, snapshotDatabase } from "../support/sample-database.ts";
import { contextIn } from "../support/strategy-context.ts";
import { assertSameTree } from "../support/tree-snapshot.ts";
import { DatabaseScene } from "./database-scene.ts";

describe("checkpoints of a sandboxed database", () => {
  let here: DatabaseScene;
  let strategy: SqliteSnapshotStrategy;
  let ref: SandboxRef;
  before(async () => {
    here = new DatabaseScene();
    mkdirSync(here.stateDir);
    buildDatabase(here.database, { journal: "wal" });
    strategy = new SqliteSnapshotStrategy(contextIn(here.stateDir));
    const resource = {
      id: "r",
      name: "db",
      type: "sqlite-database",
      location: here.database,
      properties: {},
    };
    ref = await strategy.create("01J00000000000000000000000", resource);
  });
  after(() => here[Symbol.dispose]());
  const look = async () => snapshotDatabase(await strategy.path(ref));

  it("[T3][C6] bring back exactly what was, rows and definitions, as often as asked", async () => {
    const first = await look();
    await strategy.checkpoint(ref, "one");
    changeDatabase(await strategy.path(ref), { change: "rows" });
    const second = await look();
    await strategy.checkpoint(ref, "two");
    here.sql("DROP TABLE plain; CREATE TABLE other(a); PRAGMA user_version = 99", await strategy.path(ref));
    for (let round = 0; round < 2; round += 1) {
      await strategy.restoreCheckpoint(ref, "two");
      assertSameTree(await look(), second, "restored to the second");
      here.sql("DELETE FROM named", await strategy.path(ref));
    }
    await strategy.restoreCheckpoint(ref, "one");
    assertSameTree(await look(), first, "restored to the first");
    assert.deepEqual((await strategy.diff(ref)).changes, []);
  });

  it("[A8] what is still the same is not saved again", async () => {
    const first = await strategy.checkpoint(ref, "same-1");
    const second = await strategy.checkpoint(ref, "same-2", { id: "same-1", mark: first.mark ?? "" });
    assert.deepEqual([first.isSame, second.isSame], [false, true]);
    await assert.rejects(strategy.restoreCheckpoint(ref, "same-2"), /There is no checkpoint/);
    here.sql("INSERT INTO bare VALUES ('more')", await strategy.path(ref));
    assert.equal(
      (await strategy.checkpoint(ref, "same-2", { id: "same-1", mark: first.mark ?? "" })).isSame,
      false,
    );
    await strategy.restoreCheckpoint(ref, "same-1");
  });

  it("[C7] one that is discarded is gone, and the others stay", async () => {
    await strategy.discardCheckpoint(ref, "two");
    await assert.rejects(strategy.restoreCheckpoint(ref, "two"), /There is no checkpoint two/);
    await strategy.restoreCheckpoint(ref, "one");
  });

  it("[C6] what was restored lands", async () => {
    changeDatabase(await strategy.path(ref), { change: "schema" });
    const wanted = await look();
    await strategy.checkpoint(ref, "three");
    here.sql("DROP TABLE made", await strategy.path(ref));
    await strategy.restoreCheckpoint(ref, "three");
    await strategy.commit(ref);
    assertSameTree(snapshotDatabase(here.database), wanted, "landed");
    await strategy.cleanup(ref);
    const left = readdirSync(join(here.stateDir, "sandboxes"), { recursive: true, encoding: "utf8" });
    assert.deepEqual(
      left.filter((name) => !/^[^/]+(?:\/landings.*)?$/.test(name)),
      [],
      "more than the undo record is left",
    );
  });
});
