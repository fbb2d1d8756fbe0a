import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import mysql from "mysql2/promise";
import { type TestServer, whyNoServer } from "../support/database-servers.ts";
import { startServer, until } from "./held-scene.ts";
import { describeMysqlAttacks } from "./mysql-attacks.ts";
import { describeMysqlMessages } from "./mysql-messages.ts";
import { mysqlTools } from "./mysql-tools.ts";
import { describeMysqlWork } from "./mysql-work.ts";
import { keyIn } from "./raw-mysql-client.ts";

/** What people write for the mariadb client: transactions, savepoints, variables, procedures, dumps. */
const SCRIPT = `
SET NAMES utf8mb4;
INSERT INTO people (name, n) VALUES ('Ann', 1), ('Bob', 2.5);
BEGIN;
SAVEPOINT one;
DELETE FROM people;
ROLLBACK TO SAVEPOINT one;
UPDATE people SET n = n + 1 WHERE name = 'Ann';
COMMIT;
START TRANSACTION;
UPDATE people SET n = 100;
ROLLBACK;
INSERT INTO people (name) VALUES ('Ann');
SET @name = 'Cäm; \\\\ -- it''s', @n = 0.1;
INSERT INTO people (name, n) VALUES (@name, @n);
SELECT LAST_INSERT_ID(), ROW_COUNT();
INSERT IGNORE INTO people (name) VALUES ('Bob');
SHOW WARNINGS;
SET autocommit = 0;
INSERT INTO people (name) VALUES ('gone');
ROLLBACK;
INSERT INTO people (name) VALUES ('Dora');
SET autocommit = 1;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
INSERT INTO people (id, name) VALUES (0, 'zero') /*!99999 , (99, 'never') */ /*M!100000 , (98, 'here') */;
/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;
CALL grow(10);
CALL fails();
SELECT SQL_CALC_FOUND_ROWS name FROM people ORDER BY name LIMIT 1;
SELECT FOUND_ROWS();
CREATE TABLE IF NOT EXISTS people (id INT);
SELECT * FROM people ORDER BY id;
`;
const TABLES = [
  "CREATE TABLE people (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(50) NOT NULL UNIQUE, n DECIMAL(10,2))",
  `CREATE PROCEDURE grow(x INT) BEGIN SELECT 'before'; UPDATE people SET n = n + x WHERE n > 0;
   SELECT COUNT(*) FROM people; END`,
  `CREATE PROCEDURE fails() BEGIN INSERT INTO people (name) VALUES ('half');
   INSERT INTO people (name) VALUES ('half'); END`,
];

describe("clients of MariaDB in a held transaction", { skip: whyNoServer("mariadb") ?? false }, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer("mariadb");
    await server.sql("SET GLOBAL max_allowed_packet = 48 * 1024 * 1024");
    for (const database of ["app", "direct"]) {
      if (database !== "app") await server.sql(`CREATE DATABASE ${database}`);
      await server.sql(`GRANT ALL PRIVILEGES ON ${database}.* TO owner@localhost`);
      for (const sql of TABLES) await server.sql(sql, database);
    }
  });
  after(() => server?.remove());

  const tools = mysqlTools(() => server);
  const { socketOf, mariadb, dump, open, connect, rows, apply } = tools;

  it("[B1] no text of a client ends the transaction of the plan, however a COMMIT is hidden in it", async () => {
    for (const sql of [
      "CREATE OR REPLACE PROCEDURE commits() BEGIN DELETE FROM people; COMMIT; END",
      "CREATE OR REPLACE PROCEDURE defines() CREATE TABLE hidden (id INT)",
      "CREATE OR REPLACE PROCEDURE runs(sql_text TEXT) EXECUTE IMMEDIATE sql_text",
      "CREATE OR REPLACE PROCEDURE switches() BEGIN SET autocommit = 0; SET autocommit = 1; END",
    ])
      await server.sql(sql);
    await using at = await open();
    await using client = await connect(at.url, { multipleStatements: true });
    const { table } = at.scene;
    const remove = `DELETE FROM ${table}`;
    for (const text of [
      ...[
        "/*!99999 SELECT */ XA END 'a','b'",
        "XA END 'a'",
        "/*!50000 XA */ RECOVER",
        "SET @a = 1; XA RECOVER",
      ],
      `${remove}; /*!50000 CREATE */ TABLE hidden (id INT)`,
      `${remove}; CALL commits()`,
      ...["CALL defines()", "CALL runs('COMMIT')", "CALL runs('TRUNCATE people')", "CALL switches()"],
      `${remove}; BEGIN NOT ATOMIC COMMIT; END`,
      ...[
        "IF 1 THEN COMMIT; END IF",
        "EXECUTE IMMEDIATE 'COMMIT'",
        "SET STATEMENT max_statement_time=1 FOR COMMIT",
      ],
      `${remove}; PREPARE s FROM 'COMMIT'`,
      `SELECT /*!99999 ' */ 1; ${remove}; LOCK TABLES ${table} WRITE; -- '`,
      `SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT '\\'; ${remove}; ALTER TABLE ${table} ADD c INT; -- '`,
      `${remove}; ROLLBACK TO \`DRYDÖCK_guard\``,
      ...["SAVEPOINT drydock_guard", "SAVEPOINT `drydock_1`", "RELEASE SAVEPOINT Drydock_Guard"],
      ...["SET GLOBAL max_connections = 7", "SET @a = 'x', @@GLOBAL.max_connections = 7", "FLUSH TABLES"],
    ]) {
      await assert.rejects(client.query(text), text);
      assert.equal(await at.scene.original(), "1|one 2|two", text);
      await client.query(`REPLACE INTO ${table} VALUES (1, 'one'), (2, 'two')`);
    }
    await assert.rejects(client.execute("XA RECOVER"), /can't be run in a plan/);
    assert.equal(await at.scene.inside(), "1|one 2|two");
    assert.equal(
      await server.sql("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'hidden'"),
      "0",
    );
  });

  it("[B1][B3] a script of the mariadb client does in a plan what it does in the database, and lands it", async () => {
    await using at = await open();
    const before = dump("", "app", "people");
    const planned = mariadb(at.url, SCRIPT, "--force", "-t", "-vvv", "app");
    const directly = mariadb("", SCRIPT, "--force", "-t", "-vvv", "direct");
    const plain = (text: string) => text.replaceAll(/\(\d+\.\d+ sec\)/g, "");
    assert.equal(plain(planned.stdout), plain(directly.stdout));
    assert.deepEqual(planned.stderr, directly.stderr);
    assert.equal(dump("", "app", "people"), before, "nothing has landed yet");
    assert.equal(dump(at.url, "app", "people"), dump("", "direct", "people"), "mariadb-dump inside");
    await apply(at.scene);
    assert.equal(dump("", "app", "people"), dump("", "direct", "people"));
  });

  it("[B3] what clients did is gone without a trace when the plan is rolled back", async () => {
    await using at = await open();
    const before = dump("", "app");
    const done = mariadb(
      at.url,
      "INSERT INTO people (name) VALUES ('brief'); UPDATE people SET n = 0",
      "app",
    );
    assert.equal(done.status, 0, done.stderr);
    await at.scene.with(({ plans }) => plans.rollback("p"));
    assert.equal(dump("", "app"), before);
    const url = await at.scene.with(({ plans }) => plans.path("p", "db"));
    assert.equal(mariadb(url, "SELECT COUNT(*) FROM people WHERE name = 'brief'", "-N", "app").stdout, "0\n");
  });

  it("[B1] a pool of connections works as at a server: transactions one after the other", async () => {
    await using at = await open();
    const { table } = at.scene;
    const pool = mysql.createPool(at.url.replace(/socket=[^&]*&/, ""));
    try {
      await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          const client = await pool.getConnection();
          try {
            await client.beginTransaction();
            await client.execute(`INSERT INTO ${table} VALUES (?, ?)`, [n + 10, "x"]);
            await (n % 2 === 0 ? client.commit() : client.rollback());
          } finally {
            client.release();
          }
        }),
      );
      await assert.rejects(pool.execute(`INSERT INTO ${table} VALUES (?, ?)`, [1, "twice"]), { errno: 1062 });
      const [found] = await pool.execute(`SELECT COUNT(*) AS n FROM ${table} WHERE v = ?`, ["x"]);
      assert.deepEqual(found, [{ n: 10 }]);
    } finally {
      await pool.end();
    }
    assert.equal((await at.scene.original()).includes("x"), false);
    await apply(at.scene);
    assert.equal((await at.scene.original()).match(/x/g)?.length, 10);
  });

  it("[B2] an error, a rollback and a savepoint affect only the work of their client", async () => {
    await using at = await open();
    await using one = await connect(at.url);
    await using two = await connect(at.url);
    const { table } = at.scene;
    await one.query(`INSERT INTO ${table} VALUES (3, 'kept')`);
    await assert.rejects(two.query(`INSERT INTO ${table} VALUES (4, 'gone'), (1, 'twice')`), { errno: 1062 });
    await two.query("BEGIN");
    await two.query("SAVEPOINT mine");
    await two.query(`INSERT INTO ${table} VALUES (5, 'kept too')`);
    await assert.rejects(two.query("SELEC 1"), { errno: 1235 });
    await assert.rejects(two.query("SELECT nothing"), { errno: 1054 });
    await two.query("COMMIT");
    await one.query("BEGIN");
    await assert.rejects(
      one.query("ROLLBACK TO mine"),
      { errno: 1305 },
      "the savepoint of another is not reached",
    );
    await one.query(`DELETE FROM ${table}`);
    await one.query("ROLLBACK");
    assert.equal(await at.scene.inside(), "1|one 2|two 3|kept 5|kept too");
  });

  it("[B3] what a client rolls back to a savepoint is not shown, and nothing else is left out", async () => {
    await using at = await open();
    await using client = await connect(at.url);
    const add = (id: string) => `INSERT INTO ${at.scene.table} VALUES (${id}, 0)`;
    for (const text of [
      ...["BEGIN", "SAVEPOINT a", add("11"), "SAVEPOINT b", add("12"), "ROLLBACK TO b"],
      ...["COMMIT", "BEGIN", "SAVEPOINT a", add("14"), "SAVEPOINT A", add("15"), "ROLLBACK TO a", "COMMIT"],
    ])
      await client.query(text);
    const { changes } = await at.scene.with(({ plans }) => plans.diff("p"));
    const shown = changes.map(({ statement }) => /\b1[1-5]\b/.exec(statement ?? "")?.[0]);
    assert.deepEqual(shown, ["11", "14"]);
    assert.equal(await at.scene.inside(), "1|one 2|two 11|0 14|0");
  });

  it("[B1][B2] settings, variables and prepared statements are those of one client", async () => {
    await using at = await open();
    await using one = await connect(at.url);
    await using two = await connect(at.url, { charset: "latin1" });
    const { table } = at.scene;
    const look = "SELECT @@time_zone, @@character_set_client, @x, LAST_INSERT_ID(), DATABASE()";
    await one.query("SET time_zone = '+09:00', @x = 1.50");
    await one.query("USE direct");
    await two.query("SET @x = 'é', sql_mode = ''");
    await one.query("INSERT INTO people (name) VALUES ('numbered')");
    const [[id]] = (await rows(one, "SELECT LAST_INSERT_ID()")) as [[number]];
    assert.ok(id > 0);
    assert.deepEqual(await rows(two, look), [["SYSTEM", "latin1", "é", 0, "app"]]);
    assert.deepEqual(await rows(one, look), [["+09:00", "utf8mb4", "1.50", id, "direct"]]);
    await assert.rejects(one.query(`INSERT INTO app.${table} VALUES (3, REPEAT('x', 101))`), { errno: 1406 });
    await two.query(`INSERT INTO ${table} VALUES (3, REPEAT('x', 101))`);
    const prepared = await one.prepare("SELECT ? AS v");
    const stolen = await two.prepare("SELECT 2 AS v");
    Object.assign((stolen as unknown as { statement: object }).statement, {
      id: (prepared as unknown as { statement: { id: number } }).statement.id,
    });
    await assert.rejects(stolen.execute([]), { errno: 1243 });
    assert.deepEqual((await prepared.execute(["mine"]))[0], [{ v: "mine" }]);
    const [inside] = await at.scene.run("SELECT @@time_zone, @@sql_mode <> '', @x, DATABASE()");
    assert.deepEqual(inside?.rows[0], ["SYSTEM", 1, null, "app"]);
    await one.changeUser({});
    assert.deepEqual((await rows(one, look))[0]?.slice(0, 3), ["SYSTEM", "utf8mb4", null]);
  });

  it("[B1] what a plan can't do is refused with a sentence, and harms nothing", async (t) => {
    await server.sql("CREATE TABLE plain_rows (id INT) ENGINE=Aria");
    t.after(() => server.sql("DROP TABLE plain_rows"));
    await using at = await open();
    await using client = await connect(at.url);
    const { table } = at.scene;
    const refused = [
      ...[
        "CREATE TABLE x (id INT)",
        `ALTER TABLE ${table} ADD c INT`,
        `TRUNCATE ${table}`,
        "DROP TABLE people",
      ],
      ...["CREATE TEMPORARY TABLE x (id INT)", "XA START 'x'", `LOCK TABLES ${table} WRITE`, "FLUSH TABLES"],
      ...["SELECT 1 INTO OUTFILE '/tmp/x'", "LOAD DATA LOCAL INFILE 'x' INTO TABLE people", "START REPLICA"],
      ...["SET GLOBAL wait_timeout = 1", "SET PASSWORD = ''", "HANDLER people OPEN", "GRANT ALL ON *.* TO x"],
      ...["SET innodb_snapshot_isolation = OFF", "INSERT INTO plain_rows VALUES (1)"],
    ];
    await client.query("BEGIN");
    await client.query(`INSERT INTO ${table} VALUES (3, 'kept')`);
    for (const sql of refused) {
      await assert.rejects(client.query(sql), /can't be (?:run|changed) in a plan: /, sql);
      await assert.rejects(client.execute(sql), /can't be (?:run|changed) in a plan: /, sql);
    }
    await client.query("COMMIT");
    await client.query("START TRANSACTION READ ONLY");
    await assert.rejects(client.query(`DELETE FROM ${table}`), { errno: 1792 });
    await client.query("ROLLBACK");
    await assert.rejects(connect(at.url, { database: "nowhere" }), { errno: 1044 });
    await assert.rejects(client.query("SELECT 1; SELECT 2"), { errno: 1064 });
    assert.equal(await at.scene.inside(), "1|one 2|two 3|kept");
  });

  it("[B1][B2] one client waits for the transaction of another, within bounds", async () => {
    await using at = await open();
    await using one = await connect(at.url, { connectAttributes: { program_name: "holder of the turn" } });
    await using two = await connect(at.url);
    await two.query("SET innodb_lock_wait_timeout = 1");
    await one.query("SET autocommit = 0");
    await one.query(`INSERT INTO ${at.scene.table} VALUES (3, 'three')`);
    await assert.rejects(two.query("SELECT 1"), { errno: 1205, message: /at work: holder of the turn/ });
    await two.ping();
    const [diff] = (await at.scene.with(({ plans }) => plans.diff("p"))).changes;
    assert.equal(diff, undefined, "the diff does not wait, and shows what is committed");
    await one.query("COMMIT");
    assert.deepEqual(await rows(two, `SELECT COUNT(*) FROM ${at.scene.table}`), [[3]]);
  });

  async function sleeps(): Promise<boolean> {
    const state = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep'";
    return (await server.sql(state)) === "1";
  }

  it("[B2] a cancelled statement fails alone", async () => {
    await using at = await open();
    await using one = await connect(at.url);
    await using two = await connect(at.url);
    const { table } = at.scene;
    await one.query(`INSERT INTO ${table} VALUES (3, 'three')`);
    const slow = one.query(`INSERT INTO ${table} SELECT 4, SLEEP(600)`);
    slow.catch(() => undefined);
    await until(sleeps, "the statement runs");
    await assert.rejects(two.query(`KILL QUERY ${one.threadId + 100}`), { errno: 1094 });
    await two.query(`KILL QUERY ${one.threadId}`);
    await assert.rejects(slow, { errno: 1317 });
    assert.equal(await at.scene.inside(), "1|one 2|two 3|three");
    await two.query(`KILL ${one.threadId}`);
    await assert.rejects(one.query("SELECT 1"));
  });

  it("[B2] a client that is killed in a query or a transaction leaves nothing of it", async () => {
    await using at = await open();
    const { table } = at.scene;
    const kill = async (script: string, when: () => Promise<boolean>) => {
      const args = ["--no-defaults", "-S", socketOf(at.url), "-n", "app"];
      const child = spawn("mariadb", args, {
        stdio: ["pipe", "ignore", "ignore"],
        env: { ...process.env, MYSQL_PWD: keyIn(at.url) },
      });
      try {
        child.stdin.on("error", () => undefined);
        child.stdin.write(script);
        await until(when, script);
      } finally {
        const ended = once(child, "exit");
        child.kill("SIGKILL");
        await ended;
      }
    };
    await kill(`INSERT INTO ${table} SELECT 3, SLEEP(600);\n`, sleeps);
    assert.equal(await at.scene.inside(), "1|one 2|two");
    await kill(`BEGIN; INSERT INTO ${table} VALUES (4, 'killed'); SELECT SLEEP(600);\n`, sleeps);
    assert.equal(await at.scene.inside(), "1|one 2|two");
    assert.equal(mariadb(at.url, `INSERT INTO ${table} VALUES (3, 'alive')`, "app").stderr, "");
    await apply(at.scene);
    assert.equal(await at.scene.original(), "1|one 2|two 3|alive");
  });

  describeMysqlWork(tools, () => server);
  describeMysqlMessages(open);
  describeMysqlAttacks(tools, () => server);
});
