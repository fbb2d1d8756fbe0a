import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import mysql from "mysql2/promise";
import { OWNER, type TestServer, whyNoServer } from "../support/database-servers.ts";
import { kill } from "./clone-scene.ts";
import { leftIn, startServer, until } from "./held-scene.ts";
import { MariadbCloneScene } from "./mariadb-clone-scene.ts";

const TABLE = `CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));
  INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')`;

describe("a clone of a MariaDB database", { skip: whyNoServer("mariadb") ?? false }, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer("mariadb");
  });
  after(() => server?.remove());

  it("[B4] has everything the original had, for several clients at once, while others use the original", async () => {
    await using scene = await MariadbCloneScene.make(
      server,
      `${TABLE}; CREATE TABLE n (id INT AUTO_INCREMENT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE);
       INSERT INTO n (t) VALUES (1), (2); DELETE FROM n WHERE t = 2; CREATE SEQUENCE q START WITH 7; DO NEXTVAL(q);
      
       CREATE VIEW w AS SELECT id FROM t WHERE v <> 'zwö'; CREATE VIEW a AS SELECT * FROM w;
       CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN 2 * n;
       CREATE TRIGGER tr BEFORE INSERT ON n FOR EACH ROW SET NEW.t = NEW.t;
       SET time_zone = '+03:00'; CREATE EVENT e ON SCHEDULE EVERY 1 SECOND STARTS '2026-01-01 00:00:00' DO INSERT INTO t VALUES (UUID_SHORT() % 1000000, 'event');
       ALTER EVENT e DISABLE; CREATE TABLE my (a INT) ENGINE=MyISAM; INSERT INTO my VALUES (5)`,
    );
    await server.sql(`ALTER EVENT ${scene.database}.e ENABLE`);
    const rival = await mysql.createConnection({
      socketPath: String(new URL(scene.url.replace("@/", "@x/")).searchParams.get("socket")),
      user: OWNER.user,
      password: OWNER.password,
      database: scene.database,
    });
    try {
      await rival.query("XA START 'rival'");
      await rival.query("UPDATE t SET v = 'uncommitted' WHERE id = 1");
      await rival.query("XA END 'rival'");
      await rival.query("XA PREPARE 'rival'");
      await scene.makePlan();
    } finally {
      await rival.query("XA ROLLBACK 'rival'");
      await rival.end();
    }
    assert.equal(
      await scene.shown(`SELECT (SELECT GROUP_CONCAT(id, v ORDER BY id) FROM t), (SELECT COUNT(*) FROM a), twice(21), NEXTVAL(q) > 7,
        (SELECT GROUP_CONCAT(STATUS, TIME_ZONE, STARTS) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = DATABASE()), @@event_scheduler,
        (SELECT a FROM my), (SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE())`),
      "1one,2two,3three|3|42|1|ENABLED+03:002026-01-01 00:00:00|OFF|5|1",
    );
    assert.equal(await scene.shown("INSERT INTO n (t) VALUES (3) RETURNING id"), "3", "numbers go on");
    await scene.inside(async (one, two) => {
      assert.ok(one !== undefined && two !== undefined);
      await one.query("START TRANSACTION");
      await one.query("UPDATE t SET v = 'by one' WHERE id = 1");
      await two.query("UPDATE t SET v = 'by two' WHERE id = 2");
      await one.query("COMMIT");
      assert.deepEqual(await scene.query(two, "SELECT v FROM t WHERE id = 1"), ["by one"]);
    }, 2);
    assert.equal(await scene.original("SELECT v FROM t ORDER BY id"), "one\ntwo\nthree");
  });

  it("[B4][B6] has all rows and lands all changes, whatever limits its server sets for sessions", async () => {
    await using scene = await MariadbCloneScene.make(
      server,
      `${TABLE}; CREATE TABLE k (a INT, b INT, c INT, v INT, PRIMARY KEY (a, b, c)); INSERT INTO k SELECT seq, 1, 2, 0 FROM seq_1_to_9;
       CREATE TABLE bare (v INT); INSERT INTO bare VALUES (1), (1), (2), (3)`,
    );
    const limits = [
      "sql_select_limit = 2",
      "group_concat_max_len = 4",
      "sql_safe_updates = 1",
      "unique_checks = 0",
    ];
    const set = async (values: readonly string[]) =>
      await server.sql(`SET ${values.map((each) => `GLOBAL ${each}`).join(", ")}`);
    await set(limits);
    try {
      await scene.makePlan();
      const counts = "SELECT (SELECT COUNT(*) FROM t), (SELECT COUNT(*) FROM k), (SELECT COUNT(*) FROM bare)";
      assert.equal(await scene.shown(counts), "3|9|4");
      await scene.inside(async (client) => {
        assert.ok(client !== undefined);
        await client.query("SET sql_safe_updates = 0");
        for (const sql of ["UPDATE t SET v = 'new'", "UPDATE k SET v = a", "DELETE FROM bare WHERE v < 3"])
          await client.query(sql);
      });
      await scene.apply();
    } finally {
      await set([
        "sql_select_limit = DEFAULT",
        "group_concat_max_len = DEFAULT",
        "sql_safe_updates = 0",
        "unique_checks = 1",
      ]);
    }
    const landed =
      "SELECT (SELECT GROUP_CONCAT(v) FROM t), (SELECT SUM(v) FROM k), (SELECT GROUP_CONCAT(v) FROM bare)";
    assert.equal((await scene.original(landed)).replaceAll("\t", "|"), "new,new,new|45|3");
  });

  it("[B4] lives apart: without a network, rights outside of the database, and inherited transactions", async () => {
    await using scene = await MariadbCloneScene.make(server, TABLE);
    await scene.makePlan();
    assert.equal(await scene.shown("SELECT @@skip_networking"), "1");
    for (const sql of [
      "SELECT 1 INTO OUTFILE '/tmp/drydock-x'",
      "LOAD DATA INFILE '/etc/passwd' INTO TABLE t",
      "CREATE USER x",
      "SET GLOBAL event_scheduler = ON",
      "CREATE DATABASE other",
      "CREATE DEFINER = nobody@localhost FUNCTION f() RETURNS INT RETURN 1",
    ])
      await assert.rejects(scene.run(sql), /denied|privilege/i, sql);
    const elsewhere = join(scene.folder, "elsewhere");
    mkdirSync(elsewhere);
    await scene.run(`CREATE TABLE d (a INT) DATA DIRECTORY '${elsewhere}'`);
    assert.deepEqual(readdirSync(elsewhere), [], "no table is outside of the clone");
    const url = new URL(String(await scene.with(({ plans }) => plans.path("p", "db"))));
    const socketPath = String(url.searchParams.get("socket"));
    for (const [user, password] of [
      ["owner", "guessed"],
      ["root", ""],
      ["nobody", ""],
    ] as const)
      await assert.rejects(mysql.createConnection({ socketPath, user, password }), /denied/i, user);
    assert.deepEqual(await scene.shown("XA RECOVER"), "");
    const [first] = scene.serverProcesses();
    const devices = readFileSync(`/proc/${first}/net/dev`, "utf8").split("\n").slice(2).filter(Boolean);
    assert.deepEqual(
      devices.map((line) => line.trim().split(":")[0]),
      ["lo"],
    );
    const withPassword = readdirSync(join(scene.stateDir, "sandboxes"), {
      recursive: true,
      withFileTypes: true,
    }).filter(
      (entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes(OWNER.password),
    );
    assert.deepEqual(withPassword, []);
  });

  it("[B4] its servers start again when they are needed, with the work, and end with the plan", async () => {
    await using scene = await MariadbCloneScene.make(server, TABLE);
    await scene.makePlan();
    await scene.run("UPDATE t SET v = 'kept' WHERE id = 1");
    assert.deepEqual(await scene.paths(), ["modified t/1"]);
    for (const pid of scene.serverProcesses()) kill(pid);
    await until(() => scene.serverProcesses().length === 0, "the servers are gone");
    assert.deepEqual(await scene.paths(), ["modified t/1"]);
    assert.equal(await scene.shown("SELECT v FROM t WHERE id = 1"), "kept");
    await scene.with(({ plans }) => plans.cancel("p"));
    assert.deepEqual(scene.serverProcesses(), []);
    assert.deepEqual(leftIn(scene.stateDir), []);
    assert.deepEqual(
      [existsSync(join(scene.stateDir, "db")), readdirSync(join(scene.stateDir, "sandboxes"))],
      [false, []],
    );
    assert.doesNotMatch(await server.sql("SHOW DATABASES", "mysql"), /drydock/);
  });

  it("[B5] the diff has every row that differs, of every type, with its values, and lands exactly", async () => {
    const values = `(1, 16777217.5, 0.1e0 + 0.2e0, 1234.567, 12345678901234567890123456789012345.123456789, b'101', 7, 18446744073709551615,
      ST_GeomFromText('POINT(1 2)', 4326), _latin1 x'E9FF', 'e\u0301 \\'"\\\\ 🚢  ', 'ü', '0000-00-00', '2020-02-31', '0000-00-00 00:00:00', '1969-12-31 23:59:59.123456',
      '2026-10-25 00:30:00', '-838:59:59.000001', 2026, '{"a": 1.0}', 'b', 'x,y', x'0100', x'00FF', '00000000-0000-0000-0000-00000000000a', '::1', 'Straße', 'ascii', NULL, '', 0e0 * -1)`;
    const columns = `id INT PRIMARY KEY, f FLOAT, d DOUBLE, f2 FLOAT(7,3), big DECIMAL(50,15), b BIT(12), z INT(6) ZEROFILL, u BIGINT UNSIGNED,
      g GEOMETRY, l VARCHAR(10) CHARACTER SET latin1, e VARCHAR(20) CHARACTER SET utf8mb4, u16 TEXT CHARACTER SET utf16, d0 DATE, d1 DATE, dt DATETIME, dt6 DATETIME(6),
      ts TIMESTAMP NULL, ti TIME(6), y YEAR, j JSON, en ENUM('a','b'), se SET('x','y'), bi BINARY(4), bl BLOB, uu UUID, ip INET6, gb VARCHAR(10) CHARACTER SET cp1250 COLLATE cp1250_czech_cs,
      a VARCHAR(9) CHARACTER SET ascii, nil TEXT, em TEXT, neg DOUBLE`;
    await using scene = await MariadbCloneScene.make(
      server,
      `SET sql_mode = 'ALLOW_INVALID_DATES'; SET time_zone = '+02:00'; CREATE TABLE k (${columns}, gen INT AS (id * 2) STORED, v INT AS (id + 1));
       INSERT INTO k (${columns.replaceAll(/(\w+) [^,()]+(?:\([^)]*\))?[^,()]*/g, "$1")}) VALUES ${values};
       CREATE TABLE \`odd Näme\` (\`a b\` VARCHAR(20), \`B\` BIT(3), \`C\` DECIMAL(40,3), PRIMARY KEY (\`a b\`, \`B\`, \`C\`));
       INSERT INTO \`odd Näme\` VALUES ('x/y', 1, 12345678901234567890123456789.5), ('ü', 2, 0); CREATE TABLE bare (a INT, f FLOAT, z INT(4) ZEROFILL, b BIT(3), at DATETIME(3));
       INSERT INTO bare VALUES (1, 0.1, 3, 1, NOW()), (2, NULL, 3, NULL, '0000-00-00'); INSERT INTO bare SELECT * FROM bare WHERE a = 1; INSERT INTO bare SELECT * FROM bare WHERE a = 1`,
    );
    await scene.makePlan();
    const insert = `SET sql_mode = 'ALLOW_INVALID_DATES'; SET time_zone = '+02:00'; INSERT INTO k (${columns.replaceAll(/(\w+) [^,()]+(?:\([^)]*\))?[^,()]*/g, "$1")}) VALUES`;
    assert.deepEqual(await scene.paths(), []);
    await scene.run(
      "UPDATE k SET id = id; UPDATE bare SET a = 9 WHERE a = 1; UPDATE bare SET a = 1 WHERE a = 9",
    );
    assert.deepEqual(await scene.paths(), [], "what was written without a difference is none");
    await scene.run(
      `${insert} ${values.replace("(1, 16777217.5", "(2, 0.1")};
       UPDATE k SET f = 16777216, e = 'é', l = _latin1 x'E9', nil = 'NULL' WHERE id = 1; DELETE FROM \`odd Näme\` WHERE \`B\` = 1;
       UPDATE \`odd Näme\` SET \`C\` = 0.001; DELETE FROM bare WHERE a = 1 LIMIT 3; INSERT INTO bare VALUES (3, 1e30, 12, 7, '2020-01-01 00:00:00.001'), (3, 1e30, 12, 7, '2020-01-01 00:00:00.001')`,
    );
    const paths = (await scene.paths()).map((path) => path.replace(/#[0-9a-f]+/, "#"));
    assert.deepEqual(paths.toSorted(), [
      "added bare/#",
      "added k/2",
      "added odd Näme/ü,02,0.001",
      "deleted bare/#",
      "deleted odd Näme/x%2Fy,01,12345678901234567890123456789.500",
      "deleted odd Näme/ü,02,0.000",
      "modified k/1",
    ]);
    const rows = await scene.with(async ({ reviews }) =>
      (await reviews()).rows("p", { resource: "db", path: "k/1" }),
    );
    const [row] = rows.rows;
    assert.deepEqual(
      row?.changed.map((at) => [rows.columns[at]?.name, row.before?.[at]?.text, row.after?.[at]?.text]),
      [
        ["f", "16777218", "16777216"],
        ["l", "éÿ", "é"],
        ["e", `e\u0301 '"\\ 🚢  `, "é"],
        ["nil", "NULL", "NULL"],
      ],
    );
    const all = `SELECT (SELECT GROUP_CONCAT(SHA2(CONCAT_WS('|', id, f + 0e0, d, f2, big, HEX(b), z, u, HEX(g), HEX(l), HEX(e), HEX(u16), d0, d1, dt, dt6, ts, ti, y, j, en, se, HEX(bi),
        HEX(bl), uu, ip, HEX(gb), a, COALESCE(nil, 'no'), em, neg, gen, v), 256) ORDER BY id) FROM k), (SELECT GROUP_CONCAT(HEX(\`a b\`), \`B\` + 0, \`C\` ORDER BY 1) FROM \`odd Näme\`),
      (SELECT GROUP_CONCAT(CONCAT_WS('|', a, f + 0e0, z, HEX(b), at) ORDER BY a, at) FROM bare)`;
    const [was, worked] = [await scene.original(all), await scene.shown(all)];
    assert.notEqual(was, worked);
    await scene.apply();
    assert.equal(await scene.original(all), worked);
    await scene.undo();
    assert.equal(await scene.original(all), was);
  });

  it("[B5] what can't be carried is shown in the diff, and refused before anything lands", async () => {
    await using scene = await MariadbCloneScene.make(
      server,
      `${TABLE}; CREATE TABLE my (a INT PRIMARY KEY) ENGINE=MyISAM; CREATE TABLE noted (a INT PRIMARY KEY); CREATE SEQUENCE q;
       CREATE TABLE log (a INT); CREATE TRIGGER tr AFTER INSERT ON noted FOR EACH ROW INSERT INTO log VALUES (NEW.a);
       CREATE TABLE versions (a INT PRIMARY KEY) WITH SYSTEM VERSIONING; CREATE TABLE big (a INT PRIMARY KEY, b LONGTEXT); CREATE VIEW w AS SELECT 1 AS one`,
    );
    await scene.makePlan();
    const refused = async (script: string, shown: string[], why: RegExp, back: string) => {
      await scene.run(script);
      const changes = await scene.changes();
      const paths = changes.map(({ operation, path }) => `${operation} ${path.replace(/#.*/, "#")}`);
      assert.deepEqual(paths.toSorted(), shown.toSorted());
      await assert.rejects(scene.apply(), why);
      await scene.run(back);
      assert.deepEqual(await scene.paths(), ["modified t/1"]);
    };
    await scene.run("UPDATE t SET v = 'plan' WHERE id = 1");
    await refused(
      "CREATE TABLE made (a INT); CREATE OR REPLACE VIEW w AS SELECT 2 AS one; ALTER TABLE log ADD COLUMN b INT",
      ["added made", "modified view w", "modified log", "modified t/1"],
      /can't land: definitions were changed \(.*\), and MariaDB commits each such statement by itself, .*: run the statements in the original/,
      "DROP TABLE made; CREATE OR REPLACE VIEW w AS SELECT 1 AS one; ALTER TABLE log DROP COLUMN b",
    );
    await refused(
      "INSERT INTO my VALUES (1)",
      ["added my/1", "modified t/1"],
      /engine MyISAM has no transactions/,
      "DELETE FROM my",
    );
    await refused(
      "INSERT INTO versions VALUES (1)",
      ["added versions/1", "modified t/1"],
      /keeps its old rows by itself/,
      "DELETE FROM versions",
    );
    await refused(
      "INSERT INTO noted VALUES (1)",
      ["added log/#", "added noted/1", "modified t/1"],
      /trigger tr would run once more/,
      "DELETE FROM noted; DELETE FROM log",
    );
    await scene.original("SET GLOBAL max_allowed_packet = 1048576");
    try {
      await refused(
        "INSERT INTO big VALUES (1, REPEAT('x', 600000))",
        ["added big/1", "modified t/1"],
        /larger than a statement may be \(max_allowed_packet is 1048576\)/,
        "DELETE FROM big",
      );
    } finally {
      await scene.original("SET GLOBAL max_allowed_packet = DEFAULT");
    }
    await scene.original("CREATE TRIGGER late BEFORE INSERT ON t FOR EACH ROW SET NEW.v = 'late'");
    await assert.rejects(scene.apply(), /trigger late would run once more/);
    await scene.original("DROP TRIGGER late");
    await scene.inside(async (client) => {
      for (const sql of [
        "XA START 'x'",
        "UPDATE t SET v = 'xa' WHERE id = 3",
        "XA END 'x'",
        "XA PREPARE 'x'",
      ])
        await client?.query(sql);
    });
    await assert.rejects(scene.apply(), /a transaction is prepared in the clone/);
    await scene.run("XA ROLLBACK 'x'");
    await scene.run("DO NEXTVAL(q)");
    await assert.rejects(scene.apply(), /the sequence q was used/);
    assert.equal(await scene.original("SELECT GROUP_CONCAT(v ORDER BY id) FROM t"), "one,two,three");
    assert.deepEqual(await server.prepared(), []);
  });

  it("[B6] names every row that another session has changed since, and lands nothing then", async () => {
    await using scene = await MariadbCloneScene.make(
      server,
      `${TABLE}; CREATE TABLE c (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE);
       CREATE TABLE u (id INT PRIMARY KEY, name VARCHAR(9) UNIQUE); CREATE TABLE bare (a INT); INSERT INTO bare VALUES (1), (1)`,
    );
    const folder = join(scene.folder, "files");
    mkdirSync(folder);
    await scene.makePlan([{ location: folder, name: "files" }]);
    const files = await scene.with(({ plans }) => plans.path("p", "files"));
    writeFileSync(join(String(files), "new"), "x");
    await scene.run(
      "UPDATE t SET v = 'plan' WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (4, 'plan'); INSERT INTO c VALUES (5, 3); DELETE FROM bare",
    );
    const conflicts = async (rival: string, paths: string[], back: string) => {
      for (const sql of rival.split("; ")) await scene.original(sql);
      const failure = await scene.apply().then(
        () => assert.fail(`it lands: ${rival}`),
        (thrown: { conflicts: { path: string }[]; message: string }) => thrown,
      );
      assert.deepEqual(
        failure.conflicts?.map(({ path }) => path.replace(/#.*/, "#")),
        paths,
        failure.message,
      );
      for (const sql of back.split("; ")) await scene.original(sql);
      assert.ok(!existsSync(join(folder, "new")), "the rest of the plan did not land either");
    };
    await conflicts(
      "UPDATE t SET v = 'ONE' WHERE id = 1; UPDATE t SET v = 'rival' WHERE id = 2",
      ["t/1", "t/2"],
      "UPDATE t SET v = 'one' WHERE id = 1; UPDATE t SET v = 'two' WHERE id = 2",
    );
    await conflicts("INSERT INTO t VALUES (4, 'rival')", ["t/4"], "DELETE FROM t WHERE id = 4");
    await conflicts("INSERT INTO c VALUES (1, 2)", ["t"], "DELETE FROM c");
    await conflicts("DELETE FROM t WHERE id = 3", ["c"], "INSERT INTO t VALUES (3, 'three')");
    await conflicts("DELETE FROM bare LIMIT 1", ["bare/#"], "INSERT INTO bare VALUES (1)");
    await scene.original("ALTER TABLE bare ADD COLUMN b INT");
    await assert.rejects(scene.apply(), /changed its definition/);
    await scene.original("ALTER TABLE bare DROP COLUMN b");
    assert.equal(await scene.original("SELECT GROUP_CONCAT(v ORDER BY id) FROM t"), "one,two,three");
    await scene.apply();
    assert.equal(await scene.original("SELECT GROUP_CONCAT(v ORDER BY id) FROM t"), "plan,three,plan");
    assert.ok(existsSync(join(folder, "new")));
    assert.deepEqual(await server.prepared(), []);
    assert.doesNotMatch(await server.sql("SHOW DATABASES", "mysql"), /drydock/);
  });

  it("[B6] lands rows that refer to each other, go with others, or take over unique values, each once", async () => {
    await using scene = await MariadbCloneScene.make(
      server,
      `CREATE TABLE p (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(9) UNIQUE, up INT, FOREIGN KEY (up) REFERENCES p (id));
       CREATE TABLE c (id INT AUTO_INCREMENT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE);
       INSERT INTO p (name) VALUES ('a'), ('b'), ('c'); INSERT INTO c (p) VALUES (1), (2), (3); UPDATE p SET up = 1 WHERE id = 2`,
    );
    await scene.makePlan();
    await scene.run(
      `UPDATE p SET name = 'x' WHERE id = 1; UPDATE p SET name = 'a' WHERE id = 2; UPDATE p SET name = 'b' WHERE id = 1; DELETE FROM p WHERE id = 3;
       INSERT INTO p (name, up) VALUES ('c', 2), ('d', 4); UPDATE p SET id = 20 WHERE id = 5`,
    );
    const all = `SELECT (SELECT GROUP_CONCAT(id, name, COALESCE(up, '-') ORDER BY id) FROM p), (SELECT GROUP_CONCAT(id, '>', p ORDER BY id) FROM c)`;
    const [was, worked] = [await scene.original(all), await scene.shown(all)];
    await scene.apply();
    assert.equal(await scene.original(all), worked);
    assert.equal(
      await scene.original("INSERT INTO p (name) VALUES ('next') RETURNING id"),
      "21",
      "numbers have moved on",
    );
    await scene.original("DELETE FROM p WHERE id = 21");
    await scene.undo();
    assert.equal(await scene.original(all), was);
  });

  it("[B7] an undo refuses by row what another session has changed since", async () => {
    await using scene = await MariadbCloneScene.make(server, TABLE);
    await scene.makePlan();
    await scene.run("UPDATE t SET v = 'plan'; DELETE FROM t WHERE id = 3");
    await scene.apply();
    await scene.original("UPDATE t SET v = 'rival' WHERE id = 2");
    await assert.rejects(scene.undo(), /t\/2/);
    assert.equal(await scene.original("SELECT GROUP_CONCAT(v ORDER BY id) FROM t"), "plan,rival");
    await scene.original("UPDATE t SET v = 'plan' WHERE id = 2");
    await scene.undo();
    assert.equal(await scene.original("SELECT GROUP_CONCAT(v ORDER BY id) FROM t"), "one,two,three");
    assert.deepEqual(leftIn(scene.stateDir), []);
    assert.doesNotMatch(await server.sql("SHOW DATABASES", "mysql"), /drydock/);
  });

  it("[B4] checkpoints of a clone show what they hold, and a restore brings rows and definitions back", async () => {
    await using scene = await MariadbCloneScene.make(server, TABLE);
    await scene.makePlan();
    await scene.run("UPDATE t SET v = 'first' WHERE id = 1");
    await scene.with(({ checkpoints }) => checkpoints.checkpoint("p", { label: "first" }));
    await scene.run("CREATE TABLE later (a INT); DELETE FROM t");
    await scene.inside(async (client) => {
      await client?.query("SELECT 1");
      await assert.rejects(
        scene.with(({ checkpoints }) => checkpoints.checkpoint("p", { label: "busy" })),
        /in use by/,
      );
      await assert.rejects(scene.apply(), /in use by/);
    });
    await scene.with(({ checkpoints }) => checkpoints.restore("p", "first"));
    assert.deepEqual(await scene.paths(), ["modified t/1"]);
    assert.equal(await scene.shown("SELECT v FROM t WHERE id = 1"), "first");
    await scene.apply();
    assert.equal(await scene.original("SELECT GROUP_CONCAT(v ORDER BY id) FROM t"), "first,two,three");
  });
});
