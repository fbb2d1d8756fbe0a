import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { TestServer } from "../support/database-servers.ts";
import type { MysqlTools } from "./mysql-tools.ts";
import { command, RawMysqlClient } from "./raw-mysql-client.ts";

const bytes = (text: string) => Buffer.from(text, "latin1");

/** Texts that hide what they do, by what only the server knows: its settings, its objects, its engines. */
export function describeMysqlAttacks({ open, connect, rows }: MysqlTools, server: () => TestServer): void {
  describe("what a text of a client hides", () => {
    /** Sends texts, which may be no UTF-8; the first packet of each answer. */
    async function answers(url: string, texts: readonly string[]): Promise<string[]> {
      using client = await RawMysqlClient.open(url);
      const got: string[] = [];
      for (const text of texts) got.push(await client.ask(command(3, bytes(text))));
      return got;
    }

    it("[B1] is found whatever character set and mode the client has: nothing is written beside the plan", async () => {
      await using at = await open();
      await server().sql("GRANT FILE ON *.* TO owner@localhost");
      const file = join(server().data, "hidden");
      const out = `INTO OUTFILE '${file}'`;
      const ansi = `SELECT * FROM (SELECT 1 AS "a\\") t ${out} -- "`;
      for (const [why, ...texts] of [
        ["a byte that is half a letter", "SET NAMES sjis", `SELECT '\x95\\', 1 ${out} -- '`],
        ["by the default", "SET character_set_client = gbk", `SELECT '\x95\\', 1 ${out} -- '`],
        ["double quotes", "SET sql_mode = 'ANSI_QUOTES'", ansi],
        ["no backslashes", "SET sql_mode = CONCAT('NO_BACKSLASH_', 'ESCAPES')", `SELECT '\\', 1 ${out} -- '`],
        ["a space that is no ASCII", "SET NAMES latin1", `SELECT 'x' INTO\xa0OUTFILE '${file}'`],
        ["a comment to the server", `SELECT 1 --\x01 '\n ${out} -- '`],
        ["a variable in quotes", `SELECT @'a\\', ', 1 ${out} -- '`],
        ["two in one", `SET sql_mode = 'ANSI_QUOTES'; ${ansi}`],
        ["one that looks like two", `SELECT @'a\\', ', 1 ${out} -- ;SELECT 1'`],
      ] as const) {
        const got = await answers(at.url, texts);
        const isThere = existsSync(file);
        rmSync(file, { force: true });
        assert.equal(isThere, false, why);
        if (!texts[0].includes(";")) assert.match(got.at(-1) ?? "", /^E/, why);
      }
      await using several = await connect(at.url, { multipleStatements: true });
      await assert.rejects(several.query(`SET sql_mode = 'ANSI_QUOTES'; ${ansi}`), { errno: 1235 });
      assert.equal(existsSync(file), false);
      await assert.rejects(connect(at.url, { charset: "gbk" }), { errno: 1115 });
      assert.deepEqual(await rows(several, "SELECT 5--1, 'ä' AS ä"), [[6, "ä"]]);
    });

    it("[B3] is in the diff where a function writes: in quotes, in a SET, in a view", async () => {
      await server().sql("CREATE OR REPLACE TABLE written (t TEXT)");
      await server().sql(
        "CREATE OR REPLACE FUNCTION writes(t TEXT) RETURNS INT BEGIN INSERT INTO written VALUES (t); RETURN 1; END",
      );
      await server().sql("CREATE OR REPLACE VIEW looks AS SELECT writes('by a view')");
      await server().sql("CREATE OR REPLACE VIEW looks_again AS SELECT * FROM looks");
      await using at = await open();
      await using client = await connect(at.url);
      const texts = ["SELECT `writes`('quoted')", "SET @a = writes('by SET')", "SELECT * FROM looks_again"];
      for (const text of texts) await client.query(text);
      await client.query("BEGIN");
      for (const text of texts) await client.query(text);
      await client.query("ROLLBACK");
      const { changes } = await at.scene.with(({ plans }) => plans.diff("p"));
      assert.deepEqual(
        changes.map(({ statement }) => statement),
        texts,
      );
      const [inside] = await at.scene.run("SELECT t FROM written ORDER BY BINARY t");
      assert.deepEqual(inside?.rows.flat(), ["by SET", "by a view", "quoted"]);
      await client.query("START TRANSACTION READ ONLY");
      for (const text of texts) await assert.rejects(client.query(text), { errno: 1792 }, text);
    });

    it("[B1] does not write into tables without transactions, wherever they are", async () => {
      const lines = [
        "CREATE DATABASE IF NOT EXISTS beside",
        "CREATE OR REPLACE TABLE beside.plain (id INT) ENGINE=MyISAM",
        "CREATE OR REPLACE TABLE `with-hyphen` (id INT) ENGINE=Aria",
        "CREATE OR REPLACE TABLE logged (id INT)",
        "CREATE OR REPLACE TRIGGER logs AFTER INSERT ON logged FOR EACH ROW INSERT INTO beside.plain VALUES (1)",
        "CREATE OR REPLACE PROCEDURE writes_plain() INSERT INTO beside.plain VALUES (1)",
        "CREATE OR REPLACE VIEW shows_plain AS SELECT * FROM beside.plain",
      ];
      for (const line of lines) await server().sql(line);
      await server().sql("GRANT ALL PRIVILEGES ON *.* TO owner@localhost");
      try {
        await using at = await open();
        await using client = await connect(at.url, { multipleStatements: true });
        for (const text of [
          ...["INSERT INTO `with-hyphen` VALUES (1)", "INSERT INTO beside.plain VALUES (1)"],
          ...["USE beside; INSERT INTO plain VALUES (1)", "INSERT INTO app.logged VALUES (1)"],
          ...["CALL app.writes_plain()", "INSERT INTO app.shows_plain VALUES (1)"],
          "INSERT INTO mysql.plugin VALUES ('x', 'y')",
        ])
          await assert.rejects(client.query(text), /its engine has no transactions/, text);
        assert.deepEqual(await rows(client, "SELECT COUNT(*) FROM beside.plain"), [[0]]);
        // Words are no names of other databases' tables.
        await using other = await connect(at.url);
        await other.query(`INSERT INTO app.${at.scene.table} VALUES (3, 'a mysql event, plain beside')`);
      } finally {
        await server().sql("REVOKE ALL PRIVILEGES ON *.* FROM owner@localhost");
        await server().sql("GRANT ALL PRIVILEGES ON app.* TO owner@localhost");
        await server().sql("GRANT ALL PRIVILEGES ON direct.* TO owner@localhost");
        await server().sql("DROP TABLE app.`with-hyphen`");
        await server().sql("DROP DATABASE beside");
      }
    });

    it("[B2] a setting of one client, however it is made, does not harm the plan or the others", async () => {
      await server().sql(
        "CREATE OR REPLACE PROCEDURE sets() SET time_zone = '+05:00', innodb_snapshot_isolation = OFF",
      );
      await using at = await open();
      const { table } = at.scene;
      const look = "SELECT @@time_zone, @@innodb_snapshot_isolation, @@sql_select_limit > 9";
      await using other = await connect(at.url);
      for (const [set, ...work] of [
        ["SET sql_select_limit = 0", "SET @x = 1", "SET time_zone = '+01:00'", "SELECT @x"],
        ["SET character_set_results = utf16", "SET sql_mode = ''", "SET @x = 'ä'", "SELECT @x"],
        ["SET net_write_timeout = 1, wait_timeout = 1", "SELECT 1"],
        ["CALL sets()", "SELECT @@time_zone", `DELETE FROM ${table} WHERE id = 9`],
      ] as const) {
        await using client = await connect(at.url);
        for (const text of [set, ...work]) await client.query(text);
        assert.deepEqual(await rows(other, look), [["SYSTEM", 1, 1]], set);
        if (set.startsWith("CALL")) assert.deepEqual(await rows(client, look), [["+05:00", 1, 1]]);
      }
      await other.query(`INSERT INTO ${table} VALUES (3, 'kept')`);
      assert.equal(await at.scene.inside(), "1|one 2|two 3|kept");
      assert.deepEqual(
        await rows(other, "SELECT @@net_write_timeout > 9999, @@wait_timeout > 9999"),
        [[1, 1]],
        "no client that reads slowly makes the server end the session",
      );
    });
  });
}
