import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { OWNER, postgresProgram, type TestServer, whyNoServer } from "../support/database-servers.ts";
import { CloneScene } from "./clone-scene.ts";
import { HeldScene, startServer } from "./held-scene.ts";

/** More than goes to a server in one piece, of characters that are cut nowhere. */
const LONG = "repeat('🙂', 50000)";
const SOURCE = `CREATE SCHEMA src; SET search_path = src;
  CREATE TABLE kinds (id int PRIMARY KEY, t text, b bytea, n numeric, j jsonb, a text[], d timestamptz);
  INSERT INTO kinds VALUES (1, E'tab\\tline\\nreturn\\rback\\\\slash \\\\. ''quote'' ; $$ -- x', '\\x00ff5c2e', 1.50, '{"a": "\\\\"}',
    ARRAY['x,y', NULL, '"'], '2020-01-02 03:04:05+00'), (2, '', '', 'NaN', '[]', '{}', 'infinity'),
    (3, E'\\\\.', NULL, NULL, NULL, NULL, NULL), (4, ${LONG}, NULL, -0.1, 'null', ARRAY[E'\\n'], NULL), (5, 'x' || ${LONG}, NULL, NULL, NULL, NULL, NULL);
  CREATE TABLE nothing (v int); CREATE TABLE many (id int PRIMARY KEY, k int REFERENCES kinds, v text);
  INSERT INTO many SELECT i, 1 + i % 4, repeat(md5(i::text), 4) FROM generate_series(1, 20000) AS i;
  CREATE SEQUENCE seq START 40; SELECT nextval('seq'); CREATE VIEW few AS SELECT * FROM many WHERE id < 3;
  CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $f$ BEGIN RETURN 1; END $f$; CREATE INDEX ON many (v)`;

describe("a script with data for COPY", { skip: whyNoServer("postgres") ?? false }, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer("postgres");
    await server.sql("GRANT CREATE ON DATABASE app TO owner");
    await server.sql("CREATE DATABASE source OWNER owner", "postgres");
    const { status, stderr } = program(
      "psql",
      ["-q", "-v", "ON_ERROR_STOP=1", "-d", server.url("source")],
      SOURCE,
    );
    assert.equal(status, 0, stderr);
  });
  after(() => server?.remove());

  function program(name: "psql" | "pg_dump", options: readonly string[], input = "") {
    return spawnSync(postgresProgram(name), options, { input, encoding: "utf8", maxBuffer: 64 << 20 });
  }

  function dump(database: string): string {
    const { status, stdout, stderr } = program("pg_dump", ["-n", "src", "-d", server.url(database)]);
    assert.equal(status, 0, stderr);
    return stdout;
  }

  /** Without what differs between two dumps of the same. */
  const plain = (text: string) => text.replaceAll(/^\\(?:un)?restrict .*$/gm, "");

  /** Rows may be in another order. Of lines that differ, not the long ones are told as a whole. */
  function assertSame(now: string, before: string): void {
    const [here, there] = [now, before].map((text) => plain(text).split("\n").sort());
    const other = here?.flatMap((line, at) => (line === there?.[at] ? [] : [line.slice(0, 200)]));
    assert.deepEqual(other?.slice(0, 5), []);
    assert.equal(here?.length, there?.length);
  }

  const reset = async () => await server.sql("DROP SCHEMA IF EXISTS src CASCADE");

  it("[B3] loads a dump into a held transaction, which lands to the last byte", async () => {
    await using scene = await HeldScene.make(server);
    await scene.rival(`ALTER TABLE T OWNER TO ${OWNER.user}`);
    await scene.plan();
    const dumped = dump("source");
    assert.match(dumped, /^COPY src\.many /m);
    const results = await scene.run(dumped);
    assert.ok(results.some(({ changes }) => changes === 20_000));
    const { changes } = await scene.with(({ plans }) => plans.diff("p"));
    const shown = changes.filter(({ statement }) => statement?.includes("COPY src.many") === true);
    assert.deepEqual(
      shown.map(({ operation, kind }) => [operation, kind]),
      [["added", "row"]],
    );
    assert.doesNotMatch(shown[0]?.statement ?? "", /[0-9a-f]{32}/);
    await assert.rejects(scene.run("COPY src.nothing FROM STDIN;\n1\n2\nthree\n4\n\\.\n"), {
      message: /invalid input syntax for type integer: "three"/,
    });
    assert.equal((await scene.run("SELECT count(*) FROM src.nothing"))[0]?.rows[0]?.[0], 0);
    // A failure takes everything back, and the plan does it again.
    await scene.failToApply();
    assert.equal((await scene.run("SELECT count(*) FROM src.many"))[0]?.rows[0]?.[0], 20_000);
    await scene.with(({ plans }) => plans.apply("p"));
    assertSame(dump("app"), dumped);
    await reset();
  });

  it("[B3] is one unit: what fails in its data leaves nothing of it, and the work before it stays", async () => {
    await using scene = await HeldScene.make(server);
    await scene.rival(`ALTER TABLE T OWNER TO ${OWNER.user}`);
    await scene.plan();
    await scene.run(
      "BEGIN;\nCOPY T FROM stdin;\n3\tthree\n\\.\nUPDATE T SET v = 'first' WHERE id = 1;\nCOMMIT;\n",
    );
    for (const [script, expected] of [
      ["DELETE FROM T; COPY T FROM stdin;\n4\tfour\n4\tagain\n\\.\n", /duplicate key/],
      ["COPY T FROM stdin;\n5\tfive\n\\.\nSELECT 1 / 0;", /division by zero/],
      [`COPY T FROM stdin;\nbad\tx\n${"6\tsix\n".repeat(200_000)}\\.\n`, /invalid input syntax/],
      ["COPY T FROM stdin (FORMAT nothing);\n1\n\\.\n", /COPY format "nothing" not recognized/],
      ["COPY nowhere FROM stdin;\n1\n\\.\n", /does not exist/],
      ["COPY T TO stdout;", /can't be run in a plan: a script has no stream/],
      ["COPY T FROM stdin;\n7\tseven\n", /no data in the script/],
      ["SET client_encoding = 'LATIN1';", /read as UTF-8/],
    ] as const) {
      await assert.rejects(scene.run(script), { message: expected }, script.slice(0, 60));
      assert.equal(await scene.inside(), "1|first 2|two 3|three");
    }
    await scene.with(({ plans }) => plans.apply("p"));
    assert.equal(await scene.original(), "1|first 2|two 3|three");
  });

  it("[B3] loads a dump into a clone, which lands to the last byte", async () => {
    await using scene = await CloneScene.make(server, "CREATE TABLE t (v int)");
    await scene.makePlan();
    const dumped = dump("source");
    await scene.with(({ plans }) => plans.sql(scene.plan, "db", dumped));
    const broken = scene.with(({ plans }) =>
      plans.sql(scene.plan, "db", "COPY src.nothing FROM stdin;\n1\nx\n\\.\n"),
    );
    await assert.rejects(broken, /invalid input syntax/);
    await scene.with(({ plans }) => plans.apply(scene.plan));
    // Its next number is the same, said in another way.
    const landed = dump(scene.database).replace("seq', 41, false)", "seq', 40, true)");
    assertSame(landed, dumped);
  });
});
