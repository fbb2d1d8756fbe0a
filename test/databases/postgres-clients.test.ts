import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { OWNER, postgresProgram, type TestServer, whyNoServer } from "../support/database-servers.ts";
import { itInLongForm } from "../support/long-form.ts";
import { cancel, connectClient, openForClients } from "./client-scene.ts";
import { DrizzleProject, MIGRATED } from "./drizzle-project.ts";
import { type HeldScene, startServer, until } from "./held-scene.ts";
import { migrateByKnex } from "./knex-project.ts";
import { describeMessages, SLEEPING } from "./postgres-messages.ts";

/** What people write for psql: transactions, savepoints, COPY, cursors, prepared statements, definitions. */
const SCRIPT = `
SET client_min_messages = warning;
CREATE TABLE people (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, n numeric);
BEGIN;
INSERT INTO people (name, n) VALUES ('Ann', 1), ('Bob', 2);
SAVEPOINT one;
DELETE FROM people;
ROLLBACK TO SAVEPOINT one;
COMMIT;
BEGIN;
UPDATE people SET n = 100;
ROLLBACK;
COPY people (name, n) FROM STDIN;
Cem	3
Dora	\\N
\\.
PREPARE add (text) AS INSERT INTO people (name) VALUES ($1);
EXECUTE add('Eve');
EXECUTE add('it''s; $1');
DEALLOCATE add;
INSERT INTO people (name) VALUES ('Ann');
BEGIN;
DECLARE c CURSOR FOR SELECT name FROM people ORDER BY id;
FETCH 2 FROM c;
COMMIT;
CREATE FUNCTION grow(x numeric) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN UPDATE people SET n = n + x; RETURN (SELECT count(*) FROM people); END $$;
SELECT grow(10);
DO $$ BEGIN INSERT INTO people (name) VALUES ('Do'); EXCEPTION WHEN unique_violation THEN NULL; END $$;
CREATE SCHEMA other; SET search_path = other; CREATE TABLE here (v text); RESET search_path;
CREATE INDEX ON people (n);
SELECT lo_from_bytea(4711, 'large');
\\d people
`;

describe("clients of PostgreSQL in a held transaction", { skip: whyNoServer("postgres") ?? false }, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer("postgres");
    await server.sql("CREATE DATABASE direct TEMPLATE app OWNER owner", "postgres");
    await server.sql(`ALTER SCHEMA public OWNER TO ${OWNER.user}`, "direct");
  });
  after(() => server?.remove());

  function psql(url: string, script: string, ...options: readonly string[]) {
    const args = ["-X", "-q", ...options, "-d", url];
    const { status, stdout, stderr } = spawnSync(postgresProgram("psql"), args, {
      input: script,
      encoding: "utf8",
    });
    return { status, stdout, stderr };
  }

  /** Everything in a database, but for what differs between two dumps of the same. */
  function dump(url: string, ...options: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync(postgresProgram("pg_dump"), [...options, "-d", url], {
      encoding: "utf8",
    });
    assert.equal(status, 0, stderr);
    return stdout.replaceAll(/^\\(?:un)?restrict .*$/gm, "");
  }

  const open = async () => await openForClients(server);

  async function apply(scene: HeldScene): Promise<void> {
    await scene.with(({ plans }) => plans.apply("p"));
  }

  it("[B1] no text of a client ends the transaction of the plan, however a COMMIT is hidden in it", async () => {
    await using at = await open();
    await using client = await connectClient(at.url);
    await client.query("SELECT set_config($1, $2, false)", ["standard_conforming_strings", "off"]);
    for (const text of [
      `DELETE FROM ${at.scene.table}; SELECT E'a'\n'\\''; COMMIT; BEGIN; SAVEPOINT drydock_guard; --'`,
      "CREATE TABLE begin (atomic int); COMMIT",
      "SELECT '\\''; COMMIT; --'",
      'BEGIN; ROLLBACK TO SAVEPOINT U&"\\0064rydock_guard"',
    ]) {
      await assert.rejects(client.query(text), text);
      await client.query("ROLLBACK");
      assert.equal(await at.scene.original(), "1|one 2|two", text);
    }
  });

  it("[B3] what a client rolls back to a savepoint is not shown, and nothing else is left out", async () => {
    await using at = await open();
    await using client = await connectClient(at.url);
    const add = (name: string) => `INSERT INTO ${at.scene.table} VALUES (${name}, 0)`;
    for (const text of [
      ...["BEGIN", "SAVEPOINT a", add("11"), "SAVEPOINT b", add("12"), "ROLLBACK TO b -- a", "SELECT 13"],
      ...["COMMIT", "BEGIN", "SAVEPOINT a", add("14"), 'SAVEPOINT "a"', add("15"), "ROLLBACK TO a", "COMMIT"],
    ])
      await client.query(text);
    const { changes } = await at.scene.with(({ plans }) => plans.diff("p"));
    const shown = changes.map(({ statement }) => /\b1[1-5]\b/.exec(statement ?? "")?.[0]);
    assert.deepEqual(shown, ["11", "12", "13", "14"]);
  });

  it("[B1][B3] a script of psql does in a plan what it does in the database, and lands it", async () => {
    const directly = psql(server.url("direct"), SCRIPT);
    await using at = await open();
    const before = dump(server.url(), "-T", at.scene.table);
    const planned = psql(at.url, SCRIPT);
    const plain = (text: string) => text.replaceAll(/ app | direct /g, " ");
    assert.deepEqual(
      { ...planned, stderr: plain(planned.stderr) },
      { ...directly, stderr: plain(directly.stderr) },
    );
    assert.equal(dump(server.url(), "-T", at.scene.table), before, "nothing has landed yet");
    assert.equal(dump(at.url, "-T", at.scene.table), dump(server.url("direct")), "pg_dump inside");
    await apply(at.scene);
    assert.equal(dump(server.url(), "-T", at.scene.table), dump(server.url("direct")));
  });

  it("[B3] what clients did is gone without a trace when the plan is rolled back", async () => {
    await using at = await open();
    const before = dump(server.url());
    const done = psql(
      at.url,
      "CREATE TABLE gone (id int); INSERT INTO gone VALUES (1); UPDATE people SET n = 0",
    );
    assert.equal(done.status, 0, done.stderr);
    await at.scene.with(({ plans }) => plans.rollback("p"));
    assert.equal(dump(server.url()), before);
    const url = await at.scene.with(({ plans }) => plans.path("p", "db"));
    assert.match(psql(url, "SELECT * FROM gone").stderr, /relation "gone" does not exist/);
  });

  it("[B1] a pool of connections works as at a server: transactions one after the other", async () => {
    await using at = await open();
    const { table } = at.scene;
    const pool = new pg.Pool({ connectionString: at.url, max: 5 });
    try {
      await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          const client = await pool.connect();
          try {
            await client.query("BEGIN");
            await client.query({
              name: "add",
              text: `INSERT INTO ${table} VALUES ($1, $2)`,
              values: [n + 10, "x"],
            });
            await client.query(n % 2 === 0 ? "COMMIT" : "ROLLBACK");
          } finally {
            client.release();
          }
        }),
      );
      await assert.rejects(pool.query(`INSERT INTO ${table} VALUES (1, 'twice')`), { code: "23505" });
      const { rows } = await pool.query(`SELECT count(*)::int AS n FROM ${table} WHERE v = $1`, ["x"]);
      assert.equal(rows[0].n, 10);
      const results = await pool.query("SELECT 1 AS a; SELECT 2 AS b");
      assert.equal((results as unknown as pg.QueryResult[]).length, 2);
    } finally {
      await pool.end();
    }
    assert.equal((await at.scene.original()).includes("x"), false);
    await apply(at.scene);
    assert.equal((await at.scene.original()).match(/x/g)?.length, 10);
  });

  it("[B2] an error, a rollback and a savepoint affect only the work of their client", async () => {
    await using at = await open();
    await using one = await connectClient(at.url);
    await using two = await connectClient(at.url);
    const { table } = at.scene;
    await one.query(`INSERT INTO ${table} VALUES (3, 'kept')`);
    await assert.rejects(two.query(`INSERT INTO ${table} VALUES (4, 'gone'), (1, 'twice')`), {
      code: "23505",
    });
    await two.query("BEGIN");
    await two.query(`INSERT INTO ${table} VALUES (5, 'gone')`);
    await assert.rejects(two.query("SELECT 1 / 0"), { code: "22012" });
    await assert.rejects(two.query("SELECT 1"), { code: "25P02" });
    assert.equal((await two.query("COMMIT")).command, "ROLLBACK");
    await assert.rejects(two.query("SAVEPOINT alone"), { code: "25P01" });
    await assert.rejects(two.query("ROLLBACK TO SAVEPOINT drydock_guard"), { code: "0A000" });
    assert.equal(await at.scene.inside(), "1|one 2|two 3|kept");
  });

  it("[B1][B2] settings and prepared statements are those of one client", async () => {
    await using at = await open();
    await using one = await connectClient(at.url, { options: "-c search_path=pg_catalog" });
    await using two = await connectClient(at.url);
    const { table } = at.scene;
    const show = async (client: pg.Client, name: string) =>
      (await client.query(`SELECT current_setting('${name}', true) AS s`)).rows[0].s;
    await two.query("SET TimeZone = 'Asia/Tokyo'; SET app.who = 'it''s'");
    await two.query("PREPARE q AS SELECT 'two' AS v");
    await one.query("PREPARE q AS SELECT 'one' AS v");
    assert.equal((await two.query("EXECUTE q")).rows[0].v, "two");
    assert.equal((await one.query("EXECUTE q")).rows[0].v, "one");
    assert.equal(await show(one, "search_path"), "pg_catalog");
    assert.equal(await show(two, "search_path"), '"$user", public');
    assert.deepEqual([await show(two, "timezone"), await show(two, "app.who")], ["Asia/Tokyo", "it's"]);
    assert.notEqual(await show(one, "timezone"), "Asia/Tokyo");
    await two.query("BEGIN; SET LOCAL app.who = 'local'; SET work_mem = '1MB'; COMMIT");
    assert.deepEqual([await show(two, "app.who"), await show(two, "work_mem")], ["it's", "1MB"]);
    await two.query("BEGIN; SET app.who = 'undone'; ROLLBACK");
    assert.equal(await show(two, "app.who"), "it's");
    await two.query("RESET ALL");
    assert.notEqual(await show(two, "work_mem"), "1MB");
    const [inside] = await at.scene.run("SELECT current_setting('TimeZone'), current_setting('search_path')");
    assert.deepEqual(inside?.rows[0]?.[1], '"$user", public');
    assert.notEqual(inside?.rows[0]?.[0], "Asia/Tokyo");
    await one.query(`SELECT * FROM public.${table}`);
  });

  it("[B1] what a plan can't do is refused with a sentence, and harms nothing", async () => {
    await using at = await open();
    await using client = await connectClient(at.url);
    const refused = [
      ...["VACUUM", "CREATE DATABASE x", `CREATE INDEX CONCURRENTLY ON ${at.scene.table} (v)`, "LISTEN x"],
      ...["CREATE TEMP TABLE x (id int)", "PREPARE TRANSACTION 'x'", "COPY (SELECT 1) TO '/tmp/x'"],
      ...["SET SESSION AUTHORIZATION reader", "ALTER SYSTEM SET work_mem = '1MB'"],
    ];
    for (const sql of refused) {
      await assert.rejects(client.query(sql), /can't be run in a plan: /, sql);
      await assert.rejects(
        client.query({ text: sql, values: [], queryMode: "extended" } as never),
        /can't be run/,
        sql,
      );
    }
    await client.query("BEGIN");
    await assert.rejects(client.query("VACUUM"), /can't be run in a plan/);
    await assert.rejects(client.query("SELECT 1"), { code: "25P02" });
    await client.query("ROLLBACK");
    await assert.rejects(connectClient(at.url.replace("/app", "/direct")), { code: "3D000" });
    await assert.rejects(connectClient(at.url.replace("//owner:", "//reader:")), { code: "28000" });
    assert.equal(await at.scene.inside(), "1|one 2|two");
  });

  it("[B1][B2] one client waits for the transaction of another, within bounds", async () => {
    await using at = await open();
    await using one = await connectClient(at.url, { application_name: "holder of the turn" });
    await using two = await connectClient(at.url, { options: "-c lock_timeout=200" });
    await one.query("BEGIN");
    await one.query(`INSERT INTO ${at.scene.table} VALUES (3, 'three')`);
    await assert.rejects(two.query("SELECT 1"), { code: "55P03", message: /at work: holder of the turn/ });
    const [diff] = (await at.scene.with(({ plans }) => plans.diff("p"))).changes;
    assert.equal(diff, undefined, "the diff does not wait, and shows what is committed");
    await one.query("COMMIT");
    assert.equal((await two.query(`SELECT count(*)::int AS n FROM ${at.scene.table}`)).rows[0].n, 3);
  });

  it("[B2] a cancelled statement fails alone", async () => {
    await using at = await open();
    await using one = await connectClient(at.url);
    const { table } = at.scene;
    await one.query(`INSERT INTO ${table} VALUES (3, 'three')`);
    const slow = one.query(`INSERT INTO ${table} SELECT 4, pg_sleep(600)::text`);
    slow.catch(() => undefined);
    await until(async () => (await server.sql(SLEEPING)) === "1", "the statement runs");
    await cancel(one);
    await assert.rejects(slow, { code: "57014" });
    assert.equal(await at.scene.inside(), "1|one 2|two 3|three");
  });

  it("[B2] a client that is killed in a query, a transaction or a COPY leaves nothing of it", async () => {
    await using at = await open();
    const { table } = at.scene;
    const kill = async (script: string, when: () => Promise<boolean>) => {
      const child = spawn(postgresProgram("psql"), ["-X", "-q", "-d", at.url], {
        stdio: ["pipe", "ignore", "ignore"],
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
    const isIn = (text: string) => async () =>
      (await server.sql(
        `SELECT count(*) FROM pg_stat_activity WHERE query LIKE '${text}%' AND pid <> pg_backend_pid()`,
      )) === "1";
    await kill(
      `INSERT INTO ${table} SELECT 3, pg_sleep(600)::text;\n`,
      async () => (await server.sql(SLEEPING)) === "1",
    );
    assert.equal(await at.scene.inside(), "1|one 2|two");
    await kill(`BEGIN; INSERT INTO ${table} VALUES (4, 'killed');\n`, isIn(`INSERT INTO ${table} VALUES (4`));
    assert.equal(await at.scene.inside(), "1|one 2|two");
    await kill(`COPY ${table} FROM STDIN;\n5\tfive\n`, isIn(`COPY ${table} FROM`));
    assert.equal(await at.scene.inside(), "1|one 2|two");
    assert.equal(psql(at.url, `INSERT INTO ${table} VALUES (3, 'alive')`).stderr, "");
    await apply(at.scene);
    assert.equal(await at.scene.original(), "1|one 2|two 3|alive");
  });

  it("[B1] a deferred constraint is checked when the client commits, as a server does it", async () => {
    await using at = await open();
    await using client = await connectClient(at.url);
    const { table } = at.scene;
    await client.query(`CREATE TABLE child (id int REFERENCES ${table} DEFERRABLE INITIALLY DEFERRED)`);
    await client.query("BEGIN");
    await client.query("INSERT INTO child VALUES (99)");
    await assert.rejects(client.query("COMMIT"), { code: "23503" });
    await assert.rejects(client.query("INSERT INTO child VALUES (98)"), { code: "23503" });
    await client.query(
      `BEGIN; INSERT INTO child VALUES (3); INSERT INTO ${table} VALUES (3, 'three'); COMMIT`,
    );
    assert.deepEqual((await client.query("SELECT id FROM child")).rows, [{ id: 3 }]);
    await client.query("DROP TABLE child");
  });

  it("[B3] an apply that only tries checks what a landing would, and leaves clients and their work alone", async () => {
    await using at = await open();
    const { scene, url } = at;
    await using client = await connectClient(url);
    const dryRun = async () => await scene.with(({ plans }) => plans.apply("p", { dryRun: true }));
    await client.query(`CREATE TABLE child (id serial, t int REFERENCES ${scene.table} DEFERRABLE)`);
    const { rows } = await client.query("INSERT INTO child (t) VALUES (1) RETURNING id");
    await dryRun();
    assert.deepEqual((await client.query("SELECT id FROM child")).rows, rows);
    // In a script, what waits for the end of the transaction is checked only by the landing.
    await scene.run("SET CONSTRAINTS ALL DEFERRED; INSERT INTO child (t) VALUES (99)");
    await assert.rejects(dryRun(), /violates foreign key constraint/);
    await scene.run("INSERT INTO child (t) VALUES (98)");
    await scene.run("DELETE FROM child WHERE t > 90");
    await dryRun();
    await client.query("CREATE FUNCTION make() RETURNS void LANGUAGE sql AS 'CREATE TEMP TABLE own (v int)'");
    await client.query("SELECT make()");
    await assert.rejects(dryRun(), /could not be prepared: it has made temporary objects/);
    assert.equal(await scene.inside(), "1|one 2|two");
    assert.deepEqual(await server.prepared(), []);
  });

  it("[B3] the work of clients is done again, the same, after an apply that fails", async () => {
    await using at = await open();
    const { scene, url } = at;
    await using client = await connectClient(url);
    await client.query("SET search_path = public; SET app.v = 'set'; SELECT now()");
    await client.query(`INSERT INTO ${scene.table} VALUES ($1, current_setting('app.v'))`, [3]);
    await client.query(`BEGIN; SAVEPOINT s; DELETE FROM ${scene.table}`);
    await client.query(`ROLLBACK TO s; UPDATE ${scene.table} SET v = 'second' WHERE id = 2; COMMIT`);
    assert.equal(psql(url, `COPY ${scene.table} FROM STDIN;\n4\tfour\n\\.\n`).stderr, "");
    const look = async () => (await scene.with(({ plans }) => plans.diff("p"))).changes;
    const before = await look();
    assert.deepEqual(
      before.map(({ statement }) => statement?.split(" ", 1)[0]),
      ["INSERT", "UPDATE", "COPY"],
    );
    assert.match(before[0]?.statement ?? "", /\n-- \$1 = '3'$/);
    await scene.failToApply();
    assert.equal(await scene.inside(), "1|one 2|second 3|set 4|four");
    assert.deepEqual(await look(), before);
    await assert.rejects(client.query("SELECT 1"), /being applied|terminated|not queryable/);
    await scene.with(({ plans }) => plans.apply("p"));
    assert.equal(await scene.original(), "1|one 2|second 3|set 4|four");
  });

  it("[B1][B3] a migration tool does in a plan what it does in the database, and rolled back nothing", async () => {
    using project = new DrizzleProject();
    const migrate = (url: string) => {
      const { status, said } = project.migrate(url);
      assert.equal(status, 0, said);
    };
    const schemas = MIGRATED.flatMap((name) => ["-n", name]);
    await using at = await open();
    const before = dump(server.url());
    migrate(at.url);
    const inside = dump(at.url, ...schemas);
    await at.scene.with(({ plans }) => plans.rollback("p"));
    assert.equal(dump(server.url()), before);
    migrate(await at.scene.with(({ plans }) => plans.path("p", "db")));
    await apply(at.scene);
    migrate(server.url("direct"));
    assert.equal(inside, dump(server.url("direct"), ...schemas));
    assert.equal(dump(server.url(), ...schemas), dump(server.url("direct"), ...schemas));
  });

  itInLongForm("[B1][B3] knex does in a plan what it does in the database", async () => {
    const goods = ["-t", "goods", "-t", "goods_id_seq"];
    await using at = await open();
    const before = dump(server.url());
    const inside = await migrateByKnex("pg", at.url, 2);
    assert.equal(dump(server.url()), before);
    await apply(at.scene);
    assert.deepEqual(await migrateByKnex("pg", server.url("direct"), 2), inside);
    assert.equal(dump(server.url(), ...goods), dump(server.url("direct"), ...goods));
    for (const database of ["app", "direct"])
      await server.sql("DROP TABLE goods, knex_migrations, knex_migrations_lock", database);
  });

  describeMessages(open);
});
