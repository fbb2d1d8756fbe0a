import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { OWNER, type TestServer, whyNoServer } from "../support/database-servers.ts";
import { mountMemory } from "../support/file-systems.ts";
import { CloneScene } from "./clone-scene.ts";
import { leftIn, startServer, until } from "./held-scene.ts";

const TABLE = `CREATE TABLE t (id int PRIMARY KEY, v text);
  INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')`;

describe("a clone of a PostgreSQL database", { skip: whyNoServer("postgres") ?? false }, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer("postgres");
  });
  after(() => server?.remove());

  it("[B4] has everything the original had, for several clients at once, while others use the original", async () => {
    await using scene = await CloneScene.make(
      server,
      `${TABLE}; CREATE SCHEMA s; CREATE SEQUENCE s.q START 7; CREATE VIEW s.w AS SELECT id FROM t WHERE v <> 'two';
       CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT 2 * n'; COMMENT ON TABLE t IS 'it''s';
       GRANT SELECT ON t TO reader; CREATE INDEX t_v ON t (v); CREATE TYPE mood AS ENUM ('sad', 'ok');
       SELECT nextval('s.q'); CREATE MATERIALIZED VIEW m AS SELECT count(*) FROM t`,
    );
    const rival = new pg.Client({ connectionString: scene.url });
    await rival.connect();
    try {
      await rival.query("BEGIN; UPDATE t SET v = 'uncommitted' WHERE id = 1");
      await scene.makePlan();
      const facts = `SELECT (SELECT string_agg(t::text, ' ' ORDER BY id) FROM t), (SELECT count(*) FROM s.w), twice(21),
        obj_description('t'::regclass), (SELECT last_value FROM s.q), 'ok'::mood, (SELECT * FROM m),
        has_table_privilege('reader', 't', 'SELECT'), (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relname = 't')`;
      assert.equal(await scene.shown(facts), "(1,one) (2,two) (3,three)|2|42|it's|7|ok|3|true|owner");
      await rival.query("ROLLBACK");
    } finally {
      await rival.end();
    }
    await scene.inside(async (one, two) => {
      await one?.query("BEGIN; UPDATE t SET v = 'by one' WHERE id = 1");
      await two?.query("UPDATE t SET v = 'by two' WHERE id = 2");
      await one?.query("COMMIT");
      assert.equal((await two?.query("SELECT v FROM t WHERE id = 1"))?.rows[0].v, "by one");
    }, 2);
    assert.equal(await scene.original("SELECT v FROM t ORDER BY id"), "one\ntwo\nthree");
  });

  it("[B4] lives apart: without a network, subscriptions, slots and rights outside of the database", async () => {
    await using scene = await CloneScene.make(server, TABLE);
    const admin = `CREATE SUBSCRIPTION ${scene.database}_s CONNECTION 'dbname=nowhere' PUBLICATION x WITH (connect = false)`;
    await scene.original(admin);
    try {
      await scene.makePlan();
    } finally {
      await scene.original(
        `ALTER SUBSCRIPTION ${scene.database}_s SET (slot_name = NONE); DROP SUBSCRIPTION ${scene.database}_s`,
      );
    }
    assert.equal(
      await scene.shown(`SELECT (SELECT count(*) FROM pg_stat_subscription), (SELECT count(*) FROM pg_replication_slots),
        (SELECT count(*) FROM pg_prepared_xacts), current_setting('listen_addresses')`),
      "0|0|0|",
    );
    for (const sql of [
      "COPY t TO PROGRAM 'true'",
      "COPY t TO '/tmp/x'",
      "CREATE ROLE x SUPERUSER",
      "PREPARE TRANSACTION 'x'",
    ])
      await assert.rejects(scene.run(`BEGIN; ${sql}`), sql);
    const url = String(await scene.with(({ plans }) => plans.path("p", "db")));
    const host = new URLSearchParams(url.slice(url.indexOf("?"))).get("host") ?? "";
    for (const [user, password] of [
      ["owner", "guessed"],
      ["admin", ""],
      ["reader", ""],
    ] as const) {
      const stranger = new pg.Client({
        host,
        port: 5432,
        user,
        password,
        database: scene.database,
      });
      await assert.rejects(stranger.connect(), /password/i, user);
    }
    const [first] = scene.serverProcesses();
    const devices = readFileSync(`/proc/${first}/net/dev`, "utf8").split("\n").slice(2).filter(Boolean);
    assert.deepEqual(
      devices.map((line) => line.trim().split(":")[0]),
      ["lo"],
    );
    const password = (folder: string) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter(
          (entry) =>
            entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes(OWNER.password),
        )
        .map(({ name }) => name);
    assert.deepEqual(password(join(scene.stateDir, "sandboxes")), []);
  });

  it("[B4] holds no mount of the machine: other plans can end theirs while its server runs", async (t) => {
    if (process.geteuid?.() !== 0) return t.skip("needs root to mount something");
    const mounted = mountMemory();
    t.after(() => mounted.remove());
    await using scene = await CloneScene.make(server, TABLE);
    await scene.makePlan();
    assert.equal(await scene.shown("SELECT count(*) FROM t"), "3");
    const [first] = scene.serverProcesses();
    assert.ok(!readFileSync(`/proc/${first}/mountinfo`, "utf8").includes(mounted.path));
  });

  it("[B4] reaches no other server by a local socket, although a foreign table leads there", async () => {
    await using scene = await CloneScene.make(server, TABLE);
    const host = new URLSearchParams(server.url().split("?")[1]).get("host");
    const far = `CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '${host}', dbname '${scene.database}');
      CREATE USER MAPPING FOR owner SERVER far OPTIONS (user 'owner', password '${OWNER.password}'); GRANT USAGE ON FOREIGN SERVER far TO owner;
      SET ROLE owner; CREATE FOREIGN TABLE far_t (id int, v text) SERVER far OPTIONS (table_name 't')`;
    await server.sql(far, scene.database);
    await scene.makePlan();
    await assert.rejects(scene.run("UPDATE far_t SET v = 'past the plan'"), /could not connect/);
    assert.equal(await scene.original("SELECT v FROM t ORDER BY id"), "one\ntwo\nthree");
  });

  it("[B4] its server starts again when it is needed, with the work, and ends with the plan", async () => {
    await using scene = await CloneScene.make(server, TABLE);
    await scene.makePlan();
    await scene.run("UPDATE t SET v = 'kept' WHERE id = 1");
    await scene.inside(async () => {
      for (const pid of scene.serverProcesses()) process.kill(pid, "SIGKILL");
      await until(() => scene.serverProcesses().length === 0, "the server is gone");
    });
    assert.equal(await scene.shown("SELECT v FROM t WHERE id = 1"), "kept");
    await scene.with(({ plans }) => plans.cancel("p"));
    assert.deepEqual(scene.serverProcesses(), []);
    assert.deepEqual(leftIn(scene.stateDir), []);
    assert.deepEqual(
      [existsSync(join(scene.stateDir, "db")), readdirSync(join(scene.stateDir, "sandboxes"))],
      [false, []],
    );
  });

  it("[B5] the diff has every row that differs, of every type, with its values, and lands exactly", async () => {
    const values = `(1, 1e-300, 'NaN', 0.1::float4, 123456789012345678901234567890.12, '\\x00ff', '{"a": 1.0}', '{"b":[1]}',
      '2026-11-18 12:00:00.123456+01', '1 mon -2 days 03:04:05.6', '{{1,2},{NULL,4}}', '[1,5)', '10.0.0.1/8', 'x  ', '$1,234.50',
      '(1,2)', '<a>b</a>', '  ', NULL, B'1010', '-infinity', 'a "q" \\ ,;()')`;
    await using scene = await CloneScene.make(
      server,
      `CREATE TABLE k (id int PRIMARY KEY, f float8, n numeric, r float4, big numeric(40,2), b bytea, j json, jb jsonb,
         at timestamptz, i interval, a int[], ra int4range, ip inet, c char(5), m money, p point, x xml, e text, nil text,
         bits bit(4), d date, odd text, g int GENERATED ALWAYS AS (id * 2) STORED);
       INSERT INTO k VALUES ${values}; CREATE TABLE "odd Näme" ("a b" text, "B" int, PRIMARY KEY ("a b", "B"));
       INSERT INTO "odd Näme" VALUES ('x/y', 1), ('ü', 2); CREATE TABLE bare (a int, j json); INSERT INTO bare VALUES (1, '{}'), (1, '{}'), (2, NULL)`,
    );
    await scene.makePlan();
    assert.deepEqual(await scene.paths(), []);
    await scene.run(`UPDATE k SET id = id; UPDATE "odd Näme" SET "B" = 2 WHERE "a b" = 'ü'`);
    assert.deepEqual(await scene.paths(), [], "what was written without a difference is none");
    await scene.run(`INSERT INTO k VALUES ${values.replace("(1, 1e-300", "(2, -0.0")};
      UPDATE k SET f = 1e-301, j = '{"a":1.0}', nil = 'NULL', p = '(1,2.0000000000000004)' WHERE id = 1;
      DELETE FROM "odd Näme" WHERE "B" = 1; DELETE FROM bare WHERE ctid = (SELECT min(ctid) FROM bare WHERE a = 1);
      INSERT INTO bare VALUES (3, '[]'), (3, '[]')`);
    const paths = (await scene.paths()).map((path) => path.replace(/#[0-9a-f]+/, "#"));
    assert.deepEqual(paths.toSorted(), [
      "added bare/#",
      "added k/2",
      "deleted bare/#",
      "deleted odd Näme/x%2Fy,1",
      "modified k/1",
    ]);
    const rows = await scene.with(async ({ reviews }) =>
      (await reviews()).rows("p", { resource: "db", path: "k/1" }),
    );
    const [row] = rows.rows;
    assert.deepEqual(
      row?.changed.map((at) => [rows.columns[at]?.name, row.before?.[at]?.text, row.after?.[at]?.text]),
      [
        ["f", "1e-300", "1e-301"],
        ["j", '{"a": 1.0}', '{"a":1.0}'],
        ["p", "(1,2)", "(1,2.0000000000000004)"],
        ["nil", "NULL", "NULL"],
      ],
    );
    const all = `SELECT (SELECT string_agg(k::text, E'\\n' ORDER BY id) FROM k), (SELECT string_agg(o::text, ';' ORDER BY "B") FROM "odd Näme" o),
      (SELECT string_agg(b::text, ';' ORDER BY b::text) FROM bare b)`;
    const [was, worked] = [await scene.original(all), await scene.shown(all)];
    await scene.apply();
    assert.equal(await scene.original(all), worked);
    await scene.undo();
    assert.equal(await scene.original(all), was);
  });

  it("[B5][B7] types of extensions, values that a cast to text would change, and tables that refer to each other land exactly", async () => {
    await using scene = await CloneScene.make(server, "SELECT 1");
    await server.sql("CREATE EXTENSION ltree; CREATE EXTENSION citext", scene.database);
    await server.sql(
      `SET ROLE owner; CREATE TYPE pair AS (a int, b text); CREATE TYPE shown AS (a text);
       CREATE FUNCTION show(shown) RETURNS text LANGUAGE sql AS 'SELECT ''another text''::text';
       CREATE CAST (shown AS text) WITH FUNCTION show(shown) AS ASSIGNMENT; CREATE DOMAIN blank AS bpchar;
       CREATE TABLE k (id int PRIMARY KEY, b bpchar, d blank, p pair, s shown, ok bool, ip inet); INSERT INTO k VALUES (1, 'x  ', 'x  ', ROW(NULL, NULL), ROW('a'), true, '10.0.0.1');
       CREATE TABLE paths (k ltree PRIMARY KEY, up ltree REFERENCES paths, n int); INSERT INTO paths VALUES ('a', NULL, 1), ('a.b', 'a', 1), ('c', NULL, 1);
       CREATE TABLE names (k citext PRIMARY KEY, n int); INSERT INTO names VALUES ('Ann', 1), ('Bob', 1);
       CREATE TABLE one (id int PRIMARY KEY, two int); CREATE TABLE two (id int PRIMARY KEY, one int NOT NULL REFERENCES one);
       ALTER TABLE one ADD FOREIGN KEY (two) REFERENCES two; INSERT INTO one VALUES (1, NULL); INSERT INTO two VALUES (1, 1); UPDATE one SET two = 1`,
      scene.database,
    );
    await scene.makePlan();
    await scene.run(`UPDATE k SET b = 'y ', d = 'y   ', s = ROW('b'); INSERT INTO k VALUES (2, 'z  ', 'z  ', ROW(NULL, NULL), ROW('c'), false, '10.0.0.2/32');
      UPDATE paths SET n = 2 WHERE k = 'a.b'; INSERT INTO paths VALUES ('c.d', 'c', 1); DELETE FROM paths WHERE k = 'c' AND false; UPDATE names SET k = 'ANN' WHERE k = 'ann'; UPDATE names SET n = 2 WHERE k = 'bob';
      INSERT INTO one VALUES (2, NULL); INSERT INTO two VALUES (2, 2); UPDATE one SET two = 2 WHERE id = 2; UPDATE one SET two = NULL WHERE id = 1; DELETE FROM two WHERE id = 1; DELETE FROM one WHERE id = 1`);
    const all = ["k", "paths", "names", "one", "two"].map(
      (table) =>
        `(SELECT string_agg(x::text, ' ' ORDER BY x::text) FROM (SELECT ROW(${table}.*)::text AS x FROM ${table}) AS rows)`,
    );
    const look = `SELECT ${all.join(", ")}, (SELECT string_agg(conname || condeferrable, ' ' ORDER BY conname) FROM pg_constraint WHERE contype = 'f')`;
    const [was, worked] = [await scene.original(look), await scene.shown(look)];
    await scene.apply();
    assert.equal(await scene.original(look), worked);
    await scene.undo();
    assert.equal(await scene.original(look), was);
  });

  it("[B5][B7] definitions land as the statements that made them, with the rows, and an undo brings all back", async () => {
    await using scene = await CloneScene.make(
      server,
      `${TABLE}; CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent VALUES (1), (2);
       CREATE TABLE gone (id int PRIMARY KEY, p int REFERENCES parent); INSERT INTO gone VALUES (1, 1), (2, 2);
       CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE VIEW seen AS SELECT id FROM t`,
    );
    await scene.makePlan();
    await scene.run(
      "BEGIN; CREATE TABLE never (a int); ROLLBACK; CREATE TEMP TABLE passing (a int); DROP TABLE passing",
    );
    assert.deepEqual(await scene.paths(), []);
    const migration = `ALTER TABLE t ADD COLUMN at timestamptz NOT NULL DEFAULT clock_timestamp(), ADD COLUMN note text;
      UPDATE t SET note = 'n' || id; CREATE TABLE made (k text PRIMARY KEY, t int REFERENCES t); INSERT INTO made VALUES ('a', 1);
      DROP TABLE gone; DO $$ BEGIN CREATE INDEX made_t ON made (t); EXCEPTION WHEN duplicate_table THEN NULL; END $$;
      CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 2'; COMMENT ON TABLE t IS 'changed'; GRANT SELECT ON made TO reader`;
    await scene.run(migration);
    await scene.run("CREATE UNIQUE INDEX CONCURRENTLY t_v ON t (v)");
    const paths = await scene.paths();
    for (const path of [
      "added made",
      "added made/a",
      "deleted gone",
      "modified t",
      "modified t/1",
      "added index made_t",
      "modified function f()",
    ])
      assert.ok(paths.includes(path), `${path} in ${paths.join(", ")}`);
    const all = `SELECT (SELECT string_agg(t::text, ';' ORDER BY id) FROM t), (SELECT string_agg(indexdef, ';' ORDER BY indexname) FROM pg_indexes WHERE schemaname = 'public'),
      (SELECT string_agg(table_name || '.' || column_name || ':' || data_type || is_nullable || coalesce(column_default, ''), ' ' ORDER BY table_name, ordinal_position)
       FROM information_schema.columns WHERE table_schema = 'public'), f(), obj_description('t'::regclass), (SELECT string_agg(conname, ' ' ORDER BY conname) FROM pg_constraint WHERE connamespace = 'public'::regnamespace)`;
    const before = await scene.original(all);
    const worked = await scene.shown(all);
    const report = await scene.apply();
    assert.deepEqual(report.warnings, []);
    assert.equal(await scene.original(all), worked);
    assert.equal(
      await scene.original(
        "SELECT has_table_privilege('reader', 'made', 'SELECT'), (SELECT count(*) FROM made)",
      ),
      "true|1",
    );
    await scene.undo();
    assert.equal(await scene.original(all), before);
    assert.equal(
      await scene.original("SELECT string_agg(gone::text, ' ' ORDER BY id) FROM gone"),
      "(1,1) (2,2)",
    );
  });

  it("[B5] what can't be carried is refused before anything lands", async () => {
    await using scene = await CloneScene.make(
      server,
      `${TABLE}; CREATE SCHEMA hidden; CREATE TABLE hidden.h (a int)`,
    );
    await scene.makePlan();
    const refused = async (script: string, why: RegExp, back: string) => {
      await scene.run(script);
      await assert.rejects(scene.apply(), why);
      await scene.run(back);
    };
    await refused("SELECT lo_create(4711)", /large objects were changed/, "SELECT lo_unlink(4711)");
    await refused(
      `ALTER ROLE owner SET work_mem TO '5MB'`,
      /a role, or the database as a whole, was changed/,
      "ALTER ROLE owner RESET work_mem; UPDATE t SET v = v",
    );
    await scene.run(
      `CREATE FUNCTION secret_ddl() RETURNS void LANGUAGE plpgsql AS 'BEGIN CREATE TABLE by_function (a int); END'`,
    );
    await scene.run("SELECT 1; SELECT secret_ddl(); SELECT 2");
    await assert.rejects(scene.apply(), /can't land: the recorded statements do not make/);
    assert.equal(await scene.original("SELECT count(*) FROM pg_class WHERE relname = 'by_function'"), "0");
  });

  it("[B6] names every row that another session has changed since, and lands nothing then", async () => {
    await using scene = await CloneScene.make(
      server,
      `${TABLE}; CREATE TABLE c (id int PRIMARY KEY, t int REFERENCES t ON DELETE CASCADE); CREATE TABLE d (id int PRIMARY KEY, a int, b int); INSERT INTO d VALUES (1, 1, 1)`,
    );
    const folder = join(scene.folder, "files");
    mkdirSync(folder);
    await scene.makePlan([{ location: folder, name: "files" }]);
    const files = await scene.with(({ plans }) => plans.path("p", "files"));
    writeFileSync(join(String(files), "new"), "x");
    await scene.run(
      "UPDATE t SET v = 'plan' WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (4, 'plan'); UPDATE d SET a = 2",
    );
    await scene.original(
      "UPDATE t SET v = 'rival' WHERE id = 1; INSERT INTO t VALUES (4, 'rival'); INSERT INTO c VALUES (1, 2); UPDATE d SET b = 2",
    );
    const failure = await scene.apply().then(
      () => assert.fail("it lands"),
      (thrown: { conflicts: { path: string }[] }) => thrown,
    );
    assert.deepEqual([...new Set(failure.conflicts.map(({ path }) => path))].toSorted(), [
      "d/1",
      "t",
      "t/1",
      "t/4",
    ]);
    assert.equal(await scene.original("SELECT v FROM t ORDER BY id"), "rival\ntwo\nthree\nrival");
    assert.ok(!existsSync(join(folder, "new")), "the rest of the plan did not land either");
    await scene.original(
      "UPDATE t SET v = 'one' WHERE id = 1; DELETE FROM c; DELETE FROM t WHERE id = 4; UPDATE d SET b = 1",
    );
    await scene.apply();
    assert.equal(await scene.original("SELECT v FROM t ORDER BY id"), "plan\nthree\nplan");
    assert.ok(existsSync(join(folder, "new")));
    assert.deepEqual(await server.prepared(), []);
  });

  it("[B6] lands rows that refer to each other, take over unique values, or come from triggers, each once", async () => {
    await using scene = await CloneScene.make(
      server,
      `CREATE TABLE p (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text UNIQUE); CREATE TABLE c (id serial PRIMARY KEY, p int NOT NULL REFERENCES p, self int REFERENCES c);
       CREATE TABLE audit (n serial PRIMARY KEY, what text);
       CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO audit (what) VALUES (TG_OP); RETURN NULL; END';
       CREATE TRIGGER noted AFTER INSERT OR DELETE ON p FOR EACH ROW EXECUTE FUNCTION note();
       CREATE CONSTRAINT TRIGGER noted_late AFTER INSERT ON p DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();
       INSERT INTO p (name) VALUES ('a'), ('b'); INSERT INTO c (p) VALUES (1)`,
    );
    await scene.makePlan();
    await scene.run(
      `INSERT INTO p (name) VALUES ('c'); INSERT INTO c (p, self) VALUES (3, 1); UPDATE c SET p = 3 WHERE id = 1; DELETE FROM p WHERE id = 1`,
    );
    const all = `SELECT (SELECT string_agg(p::text, ' ' ORDER BY id) FROM p), (SELECT string_agg(c::text, ' ' ORDER BY id) FROM c), (SELECT string_agg(what, ' ' ORDER BY n) FROM audit)`;
    const worked = await scene.shown(all);
    await scene.apply();
    assert.equal(await scene.original(all), worked);
    assert.equal(
      await scene.original("INSERT INTO p (name) VALUES ('next') RETURNING id"),
      "4",
      "the sequence has moved on",
    );
    assert.equal(await scene.original("SELECT tgenabled FROM pg_trigger WHERE tgname = 'noted'"), "O");
    await using other = await CloneScene.make(
      server,
      "CREATE TABLE u (id int PRIMARY KEY, name text UNIQUE); INSERT INTO u VALUES (1, 'x')",
    );
    await other.makePlan();
    await other.run("DELETE FROM u; INSERT INTO u VALUES (2, 'x')");
    await other.apply();
    assert.equal(await other.original("SELECT * FROM u"), "2|x");
  });

  it("[B7] an undo refuses by row what another session has changed since", async () => {
    await using scene = await CloneScene.make(server, TABLE);
    await scene.makePlan();
    await scene.run("UPDATE t SET v = 'plan'; DELETE FROM t WHERE id = 3");
    await scene.apply();
    await scene.original("UPDATE t SET v = 'rival' WHERE id = 2");
    await assert.rejects(scene.undo(), /t\/2/);
    assert.equal(await scene.original("SELECT v FROM t ORDER BY id"), "plan\nrival");
    await scene.original("UPDATE t SET v = 'plan' WHERE id = 2");
    await scene.undo();
    assert.equal(await scene.original("SELECT v FROM t ORDER BY id"), "one\ntwo\nthree");
    assert.deepEqual(leftIn(scene.stateDir), []);
  });

  it("[B7] definitions that no statement brings back exactly are announced, and their undo is refused", async () => {
    await using scene = await CloneScene.make(server, TABLE);
    await scene.makePlan();
    await scene.run("ALTER TABLE t ALTER COLUMN v TYPE varchar(7)");
    const { attention } = await scene.apply();
    assert.match(JSON.stringify(attention), /can't be undone/);
    await assert.rejects(scene.undo(), /can't be undone/);
    assert.equal(await scene.original("SELECT string_agg(v, ' ' ORDER BY id) FROM t"), "one two three");
  });

  it("[B6] a statement that drops rows another session has changed since is refused", async () => {
    await using scene = await CloneScene.make(server, TABLE);
    await scene.makePlan();
    await scene.run("ALTER TABLE t DROP COLUMN v");
    await scene.original("UPDATE t SET v = 'rival' WHERE id = 1");
    await assert.rejects(scene.apply(), /another session has changed its rows/);
    await scene.original("UPDATE t SET v = 'one' WHERE id = 1");
    await scene.apply();
    assert.equal(await scene.original("SELECT * FROM t ORDER BY 1"), "1\n2\n3");
  });

  it("[B4] checkpoints of a clone show what they hold, and a restore brings rows and definitions back", async () => {
    await using scene = await CloneScene.make(server, TABLE);
    await scene.makePlan();
    await scene.run("UPDATE t SET v = 'first' WHERE id = 1");
    await scene.with(({ checkpoints }) => checkpoints.checkpoint("p", { label: "first" }));
    await scene.run("CREATE TABLE later (a int); DELETE FROM t");
    await scene.inside(async (client) => {
      await client.query("SELECT 1");
      await assert.rejects(
        scene.with(({ checkpoints }) => checkpoints.checkpoint("p", { label: "busy" })),
        /in use by/,
      );
    });
    await scene.with(({ checkpoints }) => checkpoints.restore("p", "first"));
    assert.deepEqual(await scene.paths(), ["modified t/1"]);
    await scene.apply();
    assert.equal(await scene.original("SELECT v FROM t ORDER BY id"), "first\ntwo\nthree");
  });
});
