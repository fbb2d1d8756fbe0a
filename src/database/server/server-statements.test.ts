import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assertRunnable } from "./refused-statements.ts";
import { type Dialect, statementsOf, withoutOwnTransactions } from "./server-statements.ts";

const sqlOf = (script: string, dialect: Dialect) => statementsOf(script, dialect).map(({ sql }) => sql);

describe("statementsOf", () => {
  it("ends a statement at a semicolon that is not part of something else", () => {
    assert.deepEqual(sqlOf("SELECT 1; ;\n-- only; a comment\n; SELECT ';' , \"a;b\" ;", "postgres"), [
      "SELECT 1",
      "SELECT ';' , \"a;b\"",
    ]);
  });

  it("knows what only PostgreSQL has: nested comments, dollar quotes, escapes, bodies of functions and rules", () => {
    const statements = [
      "/* a /* b; */ c; */ SELECT 1",
      "DO $x$ BEGIN; $$ ; $x$",
      "SELECT E'it\\'s; '",
      "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END",
      "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)",
    ];
    assert.deepEqual(sqlOf(statements.join(";\n"), "postgres"), statements);
  });

  it("knows what only MySQL has: escapes in every string, comments to the end of a line, and comments that run", () => {
    const statements = [
      "SELECT 'it\\'s;', \"a\\\";b\"",
      "SELECT `a;b` # c;\n, 2",
      "/*!40101 SET NAMES utf8 */",
    ];
    assert.deepEqual(sqlOf(statements.join(";\n"), "mysql"), statements);
    assert.deepEqual(statementsOf("/*!50000 COMMIT */", "mysql")[0]?.words, ["COMMIT"]);
  });
});

describe("withoutOwnTransactions", () => {
  const kept = (script: string) =>
    withoutOwnTransactions(statementsOf(script, "postgres")).map(({ sql }) => sql);

  it("leaves out BEGIN and COMMIT where they belong together", () => {
    assert.deepEqual(kept("SELECT 1; begin; SELECT 2; COMMIT; START TRANSACTION; SELECT 3; END; SELECT 4"), [
      "SELECT 1",
      "SELECT 2",
      "SELECT 3",
      "SELECT 4",
    ]);
  });

  it("leaves everything else for what refuses it", () => {
    for (const script of [
      ...["COMMIT", "BEGIN; SELECT 1", "BEGIN; SELECT 1; COMMIT AND CHAIN", "BEGIN; SELECT 1; ROLLBACK"],
      "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1; COMMIT",
    ])
      assert.match(kept(script).join(";"), /BEGIN|COMMIT|ROLLBACK/, script);
    assert.deepEqual(kept("BEGIN; SELECT 1; COMMIT; COMMIT"), ["SELECT 1", "COMMIT"]);
    assert.deepEqual(kept("BEGIN; BEGIN; COMMIT"), ["BEGIN"]);
  });
});

describe("assertRunnable", () => {
  const refuses = (sql: string, dialect: Dialect) => {
    const [statement] = statementsOf(sql, dialect);
    assert.ok(statement !== undefined);
    assert.throws(() => assertRunnable(statement, dialect), { code: "SQL" }, sql);
  };
  const takes = (sql: string, dialect: Dialect) => {
    const [statement] = statementsOf(sql, dialect);
    assert.ok(statement !== undefined);
    assertRunnable(statement, dialect);
  };

  it("refuses what would end a transaction, or keep it from being prepared", () => {
    for (const sql of [
      "commit",
      "--x\nROLLBACK",
      "PREPARE TRANSACTION 'x'",
      "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    ])
      refuses(sql, "postgres");
    for (const sql of ["SELECT 1 INTO TEMP t", "CREATE LOCAL TEMPORARY TABLE t (a int)", "UNLISTEN *"])
      refuses(sql, "postgres");
    for (const sql of [
      "XA COMMIT 'x'",
      "UNLOCK TABLES",
      "SET @@autocommit=1",
      "RENAME TABLE a TO b",
      "KILL 3",
      "USE other",
    ])
      refuses(sql, "mysql");
  });

  it("takes what is fine in a transaction", () => {
    for (const sql of [
      "CREATE TABLE t (a int)",
      "PREPARE q AS SELECT 1",
      "SET search_path = x",
      "LOCK TABLE t",
      "COPY t FROM '/x'",
    ])
      takes(sql, "postgres");
    for (const sql of [
      "SET FOREIGN_KEY_CHECKS = 0",
      "(SELECT 1)",
      "CALL p()",
      "INSERT INTO commit_log VALUES ('COMMIT')",
    ])
      takes(sql, "mysql");
  });
});
