import assert from "node:assert/strict";
import { it } from "node:test";
import type { ChangedRow } from "../../src/core/values/changed-rows.ts";
import type { TestServer } from "../support/database-servers.ts";
import { HeldScene, type ServerKind } from "./held-scene.ts";

/** A row in short: what happens to it, and its texts on both sides. */
function short({ operation, before, after, changed }: ChangedRow) {
  const texts = (side: ChangedRow["before"]) => side?.map((value) => value?.text ?? null);
  return [operation, texts(before), texts(after), changed];
}

/** The changed rows of a held transaction, as a table. */
export function describeRows(kind: ServerKind, server: () => TestServer): void {
  const rowsOf = (scene: HeldScene, path: string, more: { limit?: number; cursor?: string } = {}) =>
    scene.with(async ({ reviews }) => await (await reviews()).rows("p", { path, ...more }));

  if (kind !== "postgres") {
    it("[V1] says that it shows statements, because the server does not tell which rows they changed", async () => {
      await using scene = await HeldScene.make(server());
      await scene.plan();
      await scene.run("UPDATE T SET v = 'x'");
      await assert.rejects(
        rowsOf(scene, "statement-1"),
        /does not tell which rows a transaction has changed/,
      );
    });
    return;
  }

  it("[V1] shows exactly the rows that it changed, old and new, whatever others do meanwhile", async () => {
    await using scene = await HeldScene.make(server());
    await scene.rival("ALTER TABLE T ALTER COLUMN v TYPE TEXT");
    await scene.rival("INSERT INTO T SELECT n, 'row ' || n FROM generate_series(3, 50) AS n");
    await scene.plan();
    await scene.run(
      "UPDATE T SET v = 'changed' WHERE id = 10; UPDATE T SET v = 'twice' WHERE id = 10; DELETE FROM T WHERE id = 2; INSERT INTO T VALUES (100, repeat('x', 600)), (101, 'gone'); DELETE FROM T WHERE id = 101",
    );
    await scene.run(
      "UPDATE T SET v = v WHERE id = 11; UPDATE T SET id = 60 WHERE id = 12; SELECT * FROM T WHERE id = 13 FOR UPDATE",
    );
    // Others change, delete, add and lock other rows.
    await scene.rival(
      "UPDATE T SET v = 'theirs' WHERE id = 20; DELETE FROM T WHERE id = 21; INSERT INTO T VALUES (200, 'theirs')",
    );
    await scene.rival("SELECT * FROM T WHERE id IN (22, 200) FOR UPDATE");
    const found = await rowsOf(scene, "statement-1");
    const expected = [
      ["deleted", ["2", "two"], undefined, [0, 1]],
      ["modified", ["10", "row 10"], ["10", "twice"], [1]],
      ["modified", ["11", "row 11"], ["11", "row 11"], []],
      ["deleted", ["12", "row 12"], undefined, [0, 1]],
      ["added", undefined, ["60", "row 12"], [0, 1]],
      ["added", undefined, ["100", "x".repeat(512)], [0, 1]],
    ];
    assert.deepEqual(found.rows.map(short), expected);
    assert.equal(found.rows.at(-1)?.after?.[1]?.size, 600);
    assert.deepEqual([found.total, found.columns.map(({ isKey }) => isKey)], [6, [true, false]]);
    const first = await rowsOf(scene, scene.table, { limit: 4 });
    const second = await rowsOf(scene, scene.table, { limit: 4, cursor: first.next ?? "" });
    assert.deepEqual([...first.rows, ...second.rows].map(short), expected);
    await scene.run("UPDATE T SET v = 'again' WHERE id = 10");
    await assert.rejects(rowsOf(scene, scene.table, { limit: 4, cursor: first.next ?? "" }), {
      code: "STALE_CURSOR",
    });
    // Looking has changed nothing, and the transaction still lands.
    await scene.with(({ plans }) => plans.apply("p"));
    assert.match(await scene.original(), /^1\|one 3\|row 3 .* 10\|again .* 20\|theirs .* 200\|theirs$/);
  });

  it("[V1] shows rows of new tables and of tables without a key, and says why it can't show others", async () => {
    await using scene = await HeldScene.make(server());
    const bare = `${scene.table}_bare`;
    await scene.rival(
      `CREATE TABLE ${bare} (v TEXT, b BYTEA); INSERT INTO ${bare} VALUES ('one', NULL), ('two', '\\x00ff')`,
    );
    await scene.plan();
    await scene.run(
      `CREATE TABLE ${bare}_new (v TEXT); INSERT INTO ${bare}_new VALUES ('new'); UPDATE ${bare} SET v = 'TWO' WHERE v = 'two'; LOCK TABLE T; UPDATE T SET v = 'x'; WITH w AS (SELECT 1) INSERT INTO ${bare} SELECT 'w' FROM w WHERE false`,
    );
    assert.deepEqual((await rowsOf(scene, `${bare}_new`)).rows.map(short), [
      ["added", undefined, ["new"], [0]],
    ]);
    const unpaired = (await rowsOf(scene, "statement-3")).rows.map(short);
    assert.deepEqual(unpaired.toSorted(), [
      ["added", undefined, ["TWO", "00ff"], [0, 1]],
      ["deleted", ["two", "00ff"], undefined, [0, 1]],
    ]);
    await assert.rejects(rowsOf(scene, "statement-5"), /altered, emptied or locked/);
    await assert.rejects(rowsOf(scene, "statement-6"), /the table of statement-6 is not known/);
    await assert.rejects(rowsOf(scene, "nothing"), /no table with rows of its own/);
    assert.equal((await scene.with(({ plans }) => plans.apply("p"))).participants[0]?.outcome, "committed");
  });
}
