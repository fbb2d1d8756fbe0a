import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { managesTransaction, splitStatements } from "./sql-statements.ts";

describe("splitStatements", () => {
  const CASES: readonly (readonly [title: string, script: string, statements: readonly string[]])[] = [
    ["ends each at its semicolon", "SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]],
    ["leaves out what is empty", " ; ;\n-- nothing\n; SELECT 1 ;;", ["SELECT 1"]],
    [
      "knows strings, names and comments",
      `SELECT ';', "a;b", [c;d], \`e;f\` -- x;y\n/* ; */; SELECT 'it''s;'`,
      [`SELECT ';', "a;b", [c;d], \`e;f\` -- x;y\n/* ; */`, "SELECT 'it''s;'"],
    ],
    [
      "keeps the body of a trigger together",
      "CREATE TEMP TRIGGER t AFTER INSERT ON x BEGIN SELECT 1; SELECT CASE WHEN 1 THEN 2 END; END; SELECT 3",
      [
        "CREATE TEMP TRIGGER t AFTER INSERT ON x BEGIN SELECT 1; SELECT CASE WHEN 1 THEN 2 END; END",
        "SELECT 3",
      ],
    ],
    ["takes what is not closed as it is", "SELECT 'open; SELECT 2", ["SELECT 'open; SELECT 2"]],
    ["gives nothing for nothing", "-- only this", []],
  ];
  for (const [title, script, statements] of CASES)
    it(title, () => assert.deepEqual(splitStatements(script), statements));
});

describe("managesTransaction", () => {
  it("knows what begins, ends or does not go into a transaction", () => {
    for (const sql of ["begin", "/* x */ COMMIT", "PRAGMA foreign_keys = ON", "VACUUM", "ROLLBACK TO x"])
      assert.ok(managesTransaction(sql), sql);
    for (const sql of [
      "SELECT 1",
      "CREATE TRIGGER t AFTER INSERT ON x BEGIN SELECT 1; END",
      "INSERT INTO begin VALUES (1)",
    ])
      assert.ok(!managesTransaction(sql), sql);
  });
});
