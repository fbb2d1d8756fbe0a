import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { drizzle } from "drizzle-orm/mysql2";
import { migrate } from "drizzle-orm/mysql2/migrator";
import type { TestServer } from "../support/database-servers.ts";
import { itInLongForm } from "../support/long-form.ts";
import { DrizzleProject } from "./drizzle-project.ts";
import { untilLocked } from "./held-scene.ts";
import { migrateByKnex } from "./knex-project.ts";
import type { MysqlTools } from "./mysql-tools.ts";

/** What becomes of the work of clients: it is done again, lands, or is taken back by the server. */
export function describeMysqlWork(
  { socketOf, dump, open, connect, rows, apply }: MysqlTools,
  server: () => TestServer,
): void {
  describe("the work of clients of MariaDB", () => {
    it("[B3] the work of clients is done again, the same, after an apply that fails", async () => {
      await server().sql(
        "CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, parent INT, at VARCHAR(40))",
      );
      await using at = await open();
      const { scene, url } = at;
      await using client = await connect(url);
      await client.query("SET time_zone = '+05:00', @v = 'set'");
      await client.execute("INSERT INTO child (parent, at) VALUES (?, @@time_zone)", [7]);
      await client.query(`INSERT INTO ${scene.table} VALUES (LAST_INSERT_ID() + 100, @v)`);
      await client.query("INSERT INTO child (id, parent) VALUES (500, 1)");
      await client.query("INSERT INTO child (parent, at) VALUES (2, 'a'), (3, 'b')");
      await client.query("BEGIN");
      await client.query("SET @v = 'other', sql_mode = ''");
      await client.query(`UPDATE ${scene.table} SET v = @v WHERE id = 2`);
      await client.query("COMMIT");
      const look = async () => (await scene.with(({ plans }) => plans.diff("p"))).changes;
      const all =
        "SELECT (SELECT GROUP_CONCAT(id, ' ', parent, ' ', COALESCE(at, '-') ORDER BY id) FROM child)";
      const [before, changes] = [(await scene.run(all))[0]?.rows, await look()];
      assert.match(String(before), /\+05:00/);
      assert.match(changes[0]?.statement ?? "", /\n-- \? = 7$/);
      const inside = await scene.inside();
      await scene.with(({ plans }) => plans.apply("p", { dryRun: true }));
      assert.equal(await scene.inside(), inside, "a look keeps what clients did");
      await scene.failToApply();
      assert.deepEqual((await scene.run(all))[0]?.rows, before);
      assert.equal(await scene.inside(), inside);
      assert.deepEqual(await look(), changes);
      await assert.rejects(client.query("SELECT 1"));
      await using again = await connect(await scene.with(({ plans }) => plans.path("p", "db")));
      await again.query("INSERT INTO child (parent) VALUES (9)");
      await scene.with(({ plans }) => plans.apply("p"));
      assert.equal(await server().sql("SELECT MAX(id) > 502 FROM child WHERE parent = 9"), "1");
      await server().sql("DROP TABLE child");
    });

    it("[B1] procedures with several results, parameters of every type and long values pass as they are", async () => {
      await server().sql("CREATE PROCEDURE shows() BEGIN SELECT 'before'; SELECT COUNT(*) FROM people; END");
      await server().sql("CREATE TABLE kinds (i BIGINT, d DOUBLE, t DATETIME(6), b LONGBLOB, j JSON, n INT)");
      await using at = await open();
      await using client = await connect(at.url, { multipleStatements: true });
      await using direct = await connect(server().url(), { multipleStatements: true });
      const long = Buffer.alloc(17 << 20, "0123456789abcdef\0'\\");
      const values = [
        2n ** 62n,
        1.5,
        new Date("2026-01-02T03:04:05.678Z"),
        Buffer.from([0, 255]),
        '{"a":1}',
        null,
      ];
      for (const connection of [client, direct]) {
        await connection.execute("INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?)", values as never[]);
        const both = await connection.query("SELECT 1 AS a; CALL shows(); SELECT * FROM kinds; SELECT 2");
        assert.equal((both[0] as unknown as unknown[]).length, 6);
      }
      for (const sql of ["SELECT * FROM kinds", "CALL shows()", "SHOW TABLES LIKE 'kinds'"])
        assert.deepEqual((await client.execute(sql))[0], (await direct.execute(sql))[0], sql);
      assert.deepEqual(await rows(client, "SELECT LENGTH(?)", [long as never]), [[long.length]]);
      assert.deepEqual((await client.execute("SELECT ? AS b", [long]))[0], [{ b: long }]);
    });

    it("[B1][B3] a migration tool lands data, and is told that it can't change the schema", async () => {
      await server().sql("CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(50))");
      using project = new DrizzleProject("mysql");
      {
        await using refused = await open();
        await using client = await connect(refused.url);
        const migrating = migrate(drizzle({ client }), { migrationsFolder: project.migrations });
        await assert.rejects(migrating, ({ cause }: Error) =>
          /CREATE TABLE can't be run in a plan: MySQL and MariaDB commit at once/.test(
            (cause as Error).message,
          ),
        );
      }
      const direct = `mysql://root@localhost/app?socketPath=${socketOf(server().url())}`;
      assert.equal(project.migrate(direct).status, 0);
      project.addRows();
      await using at = await open();
      const before = dump("", "app");
      const done = project.migrate(at.url);
      assert.equal(done.status, 0, done.said);
      assert.equal(dump("", "app"), before);
      await apply(at.scene);
      assert.equal(await server().sql("SELECT id, name FROM customers"), "1|Ann; --\n2|it's Bob");
    });

    itInLongForm("[B1][B3] knex lands data by its own migrations", async () => {
      const direct = (database: string) =>
        `mysql://root@localhost/${database}?socketPath=${socketOf(server().url())}`;
      for (const database of ["app", "direct"]) await migrateByKnex("mysql2", direct(database), 1);
      await using at = await open();
      const before = dump("", "app");
      const inside = await migrateByKnex("mysql2", at.url, 2);
      assert.equal(dump("", "app"), before);
      await apply(at.scene);
      assert.deepEqual(await migrateByKnex("mysql2", direct("direct"), 2), inside);
      assert.equal(dump("", "app", "goods"), dump("", "direct", "goods"));
    });

    it("[B2] a deadlock takes back the work of one client; what the plan did before is done again", async () => {
      await using at = await open();
      const { scene, url } = at;
      await using client = await connect(url);
      await using rival = await connect(server().url());
      await client.query(`UPDATE ${scene.table} SET v = 'plan' WHERE id = 1`);
      await client.query("BEGIN");
      await client.query(`INSERT INTO ${scene.table} VALUES (3, 'client')`);
      await rival.query("BEGIN");
      // The server gives up the transaction that has done less.
      await rival.query("UPDATE people SET n = COALESCE(n, 0) + 1");
      await rival.query(
        `INSERT INTO ${scene.table} VALUES (4, 'rival'), (5, 'rival'), (6, 'rival'), (7, 'rival')`,
      );
      const waits = rival.query(`SELECT * FROM ${scene.table} WHERE id = 3 FOR UPDATE`);
      await untilLocked(server(), "the rival waits");
      await assert.rejects(client.query(`INSERT INTO ${scene.table} VALUES (4, 'client')`), { errno: 1213 });
      await waits;
      await rival.query("ROLLBACK");
      assert.equal(await scene.inside(), "1|plan 2|two");
      await client.query(`INSERT INTO ${scene.table} VALUES (3, 'again')`);
      await apply(scene);
      assert.equal(await scene.original(), "1|plan 2|two 3|again");
    });
  });
}
