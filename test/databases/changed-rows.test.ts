import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { type ChangedRow, type Drydock, openDrydock, type Plan } from "drydock-sandbox";
import { Workplace } from "../end-to-end/workplace.ts";

async function planOver(place: Workplace, script: string): Promise<{ drydock: Drydock; plan: Plan }> {
  const file = join(place.path, "shop.db");
  const database = new DatabaseSync(file);
  database.exec(script);
  database.close();
  const drydock = await openDrydock({ stateDir: place.state, cwd: place.path, environment: {} });
  return { drydock, plan: await drydock.plans.create({ resources: [{ location: file }] }) };
}

/** A row in short: what happens to it, and its texts on both sides. */
function short({ operation, before, after, changed }: ChangedRow) {
  const texts = (side: ChangedRow["before"]) => side?.map((value) => value?.text ?? null);
  return [operation, texts(before), texts(after), changed];
}

describe("the changed rows of a database, as data", () => {
  it("are paired by their key, with the columns that differ, page by page", async () => {
    using place = new Workplace();
    const { drydock, plan } = await planOver(
      place,
      `CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price);
       INSERT INTO items VALUES (1, 'tea', 320), (2, 'milk', 99), (10, 'old', NULL);
       CREATE TABLE words (word TEXT COLLATE NOCASE PRIMARY KEY, n) WITHOUT ROWID;
       INSERT INTO words VALUES ('Hello', 1);`,
    );
    await using _ = drydock;
    await plan.sql(
      `UPDATE items SET price = 340.5 WHERE id = 1; DELETE FROM items WHERE id = 10; UPDATE words SET word = 'HELLO';
       INSERT INTO items VALUES (9007199254740993, 'far', x'00ff');`,
    );
    const { columns, rows, total, same, definitions, next } = await plan.review.rows({ path: "items" });
    assert.deepEqual(
      columns.map(({ name, isKey }) => [name, isKey]),
      [
        ["id", true],
        ["name", false],
        ["price", false],
      ],
    );
    assert.deepEqual(rows.map(short), [
      ["modified", ["1", "tea", "320"], ["1", "tea", "340.5"], [2]],
      ["deleted", ["10", "old", "NULL"], undefined, [0, 1, 2]],
      ["added", undefined, ["9007199254740993", "far", "00ff"], [0, 1, 2]],
    ]);
    assert.deepEqual(
      rows.map(({ after }) => after?.[2]?.type),
      ["real", undefined, "bytes"],
    );
    assert.deepEqual([total, same, definitions, next], [3, 0, [], undefined]);
    const paths = (await plan.diff()).changes.map(({ path }) => path);
    for (const { path } of rows) assert.ok(paths.includes(path), path);

    const first = await plan.review.rows({ path: "items", limit: 2 });
    const second = await plan.review.rows({ path: "items", limit: 2, cursor: first.next ?? "" });
    assert.deepEqual([...first.rows, ...second.rows], rows);
    assert.equal(second.next, undefined);
    assert.deepEqual((await plan.review.rows({ path: "items/10" })).rows, [rows[1]]);
    // A diff names both spellings; they are one row.
    for (const path of ["words/Hello", "words/HELLO"])
      assert.deepEqual((await plan.review.rows({ path })).rows.map(short), [
        ["modified", ["Hello", "1"], ["HELLO", "1"], [0]],
      ]);
    await plan.sql("UPDATE items SET name = 'x' WHERE id = 2");
    await assert.rejects(plan.review.rows({ path: "items", limit: 2, cursor: first.next ?? "" }), {
      code: "STALE_CURSOR",
    });
    await assert.rejects(plan.review.rows({ path: "items/77" }), { code: "NO_MATCH" });
    await assert.rejects(plan.review.rows({ path: "nothing" }), { code: "NO_MATCH" });
  });

  it("come with the definitions: of tables that are made, altered and dropped, and of everything else", async () => {
    using place = new Workplace();
    const { drydock, plan } = await planOver(
      place,
      `CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO items VALUES (1, 'tea'), (2, 'milk');
       CREATE TABLE gone (a); INSERT INTO gone VALUES (1); CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT);`,
    );
    await using _ = drydock;
    await plan.sql(
      `ALTER TABLE items ADD COLUMN tax; UPDATE items SET tax = 7 WHERE id = 2; DROP TABLE gone;
       CREATE TABLE made (b); INSERT INTO made VALUES ('x'); CREATE INDEX by_name ON items (name);
       CREATE TRIGGER items AFTER INSERT ON made BEGIN SELECT 1; END; INSERT INTO counted VALUES (NULL); ANALYZE`,
    );
    await plan.sql("PRAGMA user_version = 7");
    const at = async (path: string) => await plan.review.rows({ path });
    const altered = await at("items");
    assert.deepEqual(
      altered.definitions.map(({ type, before, after }) => [type, before?.text.slice(0, 14), after?.text]),
      [
        ["table", "CREATE TABLE i", "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, tax)"],
        ["trigger", undefined, "CREATE TRIGGER items AFTER INSERT ON made BEGIN SELECT 1; END"],
      ],
    );
    assert.deepEqual(altered.columns.at(-1), { name: "tax", isKey: false, only: "after" });
    assert.deepEqual(altered.rows.map(short), [["modified", ["2", "milk", null], ["2", "milk", "7"], [2]]]);
    assert.equal(altered.same, 1);
    assert.deepEqual((await at("gone")).rows.map(short), [["deleted", ["1"], undefined, [0]]]);
    assert.deepEqual((await at("made")).rows.map(short), [["added", undefined, ["x"], [0]]]);
    const texts = async (path: string) =>
      (await at(path)).definitions.map(({ type, before, after }) => [type, before?.text, after?.text]);
    assert.deepEqual(await texts("by_name"), [["index", undefined, "CREATE INDEX by_name ON items (name)"]]);
    assert.deepEqual(await texts("user_version"), [["number", "0", "7"]]);
    assert.deepEqual(await texts("sqlite_sequence/counted"), [["number", undefined, "1"]]);
    assert.match(String((await texts("sqlite_stat1"))[0]?.[2]), /by_name/);
    // Every change of the diff has something to show.
    for (const { path } of (await plan.diff()).changes) {
      const { rows, definitions } = await at(path);
      assert.ok(rows.length + definitions.length > 0, path);
    }
  });

  it("are bounded whatever the values are, and say what is cut; long keys keep their rows apart", async () => {
    using place = new Workplace();
    const { drydock, plan } = await planOver(place, "CREATE TABLE t (id TEXT PRIMARY KEY, v)");
    await using _ = drydock;
    const [long, columns] = ["k".repeat(500), Array.from({ length: 1200 }, (_, at) => `c${at}`)];
    await plan.sql(
      `INSERT INTO t VALUES ('${long}a', zeroblob(5000000)), ('${long}b', '${"ä".repeat(1000)}'),
        ('bytes', CAST(x'61ff00' AS TEXT)), ('nul', 'a' || char(0) || 'b');
       CREATE TABLE wide (${columns.join(", ")}); INSERT INTO wide (c1199) VALUES (1)`,
    );
    const { rows, total } = await plan.review.rows({ path: "t" });
    assert.equal(total, 4);
    assert.equal(new Set(rows.map(({ path }) => path)).size, 4);
    const values = rows.map(({ after }) => after?.[1]);
    assert.deepEqual(values[0], { type: "text", text: "a\udcff\0" });
    assert.deepEqual(values[1], { type: "bytes", text: "00".repeat(512), size: 5_000_000 });
    assert.deepEqual(values[2], { type: "text", text: "ä".repeat(256), size: 2000 });
    assert.deepEqual(values[3], { type: "text", text: "a\0b" });
    assert.equal((await plan.diff()).changes.filter(({ kind }) => kind === "row").length, 4);
    const wide = await plan.review.rows({ path: "wide" });
    assert.deepEqual([wide.columns.length, wide.rows[0]?.after?.at(-1)?.text], [1200, "1"]);
  });

  it("keep their text where the database has another encoding", async () => {
    using place = new Workplace();
    const { drydock, plan } = await planOver(place, "PRAGMA encoding = 'UTF-16be'; CREATE TABLE t (v)");
    await using _ = drydock;
    await plan.sql("INSERT INTO t VALUES ('grün')");
    assert.equal((await plan.review.rows({ path: "t" })).rows[0]?.after?.[0]?.text, "grün");
  });

  it("are refused where there are none", async () => {
    using place = new Workplace();
    const { drydock, plan } = await planOver(place, "CREATE TABLE t (v)");
    await using _ = drydock;
    await plan.cancel();
    const folder = place.folder("app", { "a.txt": "a" });
    const other = await drydock.plans.create({ resources: [{ location: folder }] });
    await assert.rejects(other.review.rows({ path: "a.txt" }), { code: "UNSUPPORTED" });
  });
});
