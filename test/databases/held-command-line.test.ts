import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { assertRefused, Workplace } from "../end-to-end/workplace.ts";
import { OWNER, postgresProgram, type TestServer, whyNoServer } from "../support/database-servers.ts";
import { leftIn, startServer, until } from "./held-scene.ts";

const MIGRATION = `
  -- a table; with an index
  CREATE TABLE orders (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, total numeric NOT NULL);
  CREATE INDEX orders_by_total ON orders (total);
  CREATE FUNCTION double(n numeric) RETURNS numeric LANGUAGE plpgsql AS $body$ BEGIN RETURN n * 2; END $body$;
  INSERT INTO orders (total) VALUES (double(5)), (double(10));
  CREATE VIEW large AS SELECT * FROM orders WHERE total > 15;
`;
const FORMS = [OWNER.password, encodeURIComponent(OWNER.password)];

describe("databases on servers, by the command line", { skip: whyNoServer("postgres") ?? false }, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer("postgres");
    await server.sql("CREATE TABLE accounts (id int PRIMARY KEY, balance numeric)");
    await server.sql("INSERT INTO accounts VALUES (1, 100.50), (2, 0)");
  });
  after(() => server?.remove());

  /** Where the password stands in what a plan keeps. */
  function places(workplace: Workplace): string[] {
    return readdirSync(workplace.state, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => FORMS.some((form) => readFileSync(file).includes(form)))
      .map((file) => file.slice(workplace.state.length + 1));
  }

  it("[I12] a password from the environment is in no output, store or journal, and gone with the plan", () => {
    using workplace = new Workplace();
    const said: string[] = [];
    const env = {
      DATABASE: server.url(),
      DATABASE_URL: server.url(),
      PGHOST: "somewhere",
      DRYDOCK_CONFIG: workplace.write("drydock.yaml", 'resources: { data: { location: "${DATABASE}" } }\n'),
    };
    const drydock = (...args: readonly string[]) => {
      const ended = workplace.drydock(args, { env });
      said.push(ended.stdout, ended.stderr);
      return ended;
    };
    const folder = workplace.folder("app", { "code.txt": "old\n" });
    const created = drydock("plan", "create", "-r", "data", "-r", `app=${folder}`, "--name", "p", "--json");
    assert.equal(created.status, 0, created.stderr);
    assert.match(JSON.parse(created.stdout).resources[0].location, /^postgres:\/\/owner@\/app/);
    const plan = JSON.parse(created.stdout).id;
    assert.deepEqual(places(workplace), [`secrets/${plan}`]);
    const table = drydock(
      "plan",
      "sql",
      "p",
      "data",
      "-c",
      "UPDATE accounts SET balance = balance - 1 WHERE id = 1; SELECT * FROM accounts ORDER BY id",
    );
    assert.match(table.stdout, /99\.50/);
    drydock("plan", "show", "p");
    assert.match(drydock("plan", "diff", "p").stdout, /statement-1 .*1 row, UPDATE accounts SET balance/);
    assertRefused(drydock("plan", "sql", "p", "data", "-c", "COMMIT"), 1, /COMMIT can't be run in a plan/);
    assert.match(
      drydock("plan", "path", "p", "data").stdout,
      /^postgresql:\/\/owner:[\w-]{32}@\/app\?host=.*&port=5432\n$/,
    );
    drydock("plan", "sql", "p", "data", "-c", "SELECT * FROM nowhere", "--json", "--debug");
    const inside = drydock("plan", "exec", "p", "--", "sh", "-c", `env; echo new > ${folder}/code.txt`);
    assert.equal(inside.status, 0, inside.stderr);
    for (const name of ["PGHOST=somewhere", "DRYDOCK_RESOURCE_DATA=", `DATABASE_URL=${env.DATABASE}`])
      assert.ok(!inside.stdout.includes(name), name);
    said.splice(said.indexOf(inside.stdout), 1);
    assert.equal(drydock("plan", "apply", "p", "-m", "both").status, 0);
    assert.equal(workplace.read("app/code.txt"), "new\n");
    drydock("plan", "show", "p", "--json");
    assertRefused(drydock("plan", "undo", "p"), 2, /data can't be taken back/);
    for (const form of FORMS) assert.ok(!said.join("\n").includes(form), "the password was shown");
    assert.deepEqual(places(workplace), []);
    assert.deepEqual(leftIn(workplace.state), []);
  });

  it("[B1] psql inside a plan works in its transaction, also without a network, and sees nothing else of it", async () => {
    using workplace = new Workplace();
    const env = {
      DATABASE: server.url(),
      DRYDOCK_CONFIG: workplace.write("drydock.yaml", 'resources: { data: { location: "${DATABASE}" } }\n'),
    };
    const drydock = (...args: readonly string[]) => workplace.drydock(args, { env });
    assert.equal(drydock("plan", "create", "-r", "data", "--name", "p").status, 0);
    const psql = `${postgresProgram("psql")} -X -q -v ON_ERROR_STOP=1`;
    const script = `${psql} -c "INSERT INTO accounts VALUES (3, 7)" && ${psql} -A -t "$DATABASE_URL" -c "SELECT sum(id) FROM accounts" &&
      ls -A "$PGHOST/.." && ! rm "$PGHOST/.s.PGSQL.5432" 2>&1`;
    for (const network of ["open", "none"]) {
      const ended = drydock(
        "plan",
        "exec",
        "p",
        "--network",
        network,
        "--",
        "sh",
        "-c",
        script.replace("3, 7", network === "open" ? "3, 7" : "4, 7"),
      );
      assert.equal(ended.status, 0, ended.stderr);
      assert.match(ended.stdout, network === "open" ? /^6\npg\n/ : /^10\npg\n/);
    }
    assert.equal(await server.sql("SELECT count(*) FROM accounts"), "2");
    assert.equal(drydock("plan", "apply", "p").status, 0);
    assert.equal(await server.sql("SELECT count(*) FROM accounts"), "4");
    await server.sql("DELETE FROM accounts WHERE id > 2");
    assert.deepEqual(leftIn(workplace.state), []);
  });

  it("[T2] migration files land with a change of code, schema included; one that fails changes nothing anywhere", async () => {
    using workplace = new Workplace();
    const folder = workplace.folder("code", { "version.txt": "1\n" });
    const env = {
      DATABASE: server.url(),
      DRYDOCK_CONFIG: workplace.write("drydock.yaml", 'resources: { data: { location: "${DATABASE}" } }\n'),
    };
    const drydock = (args: readonly string[], input?: string) =>
      workplace.drydock(args, { env, ...(input !== undefined && { input }) });
    drydock(["plan", "create", "-r", "data", "-r", folder, "--name", "p"]);
    assert.equal(drydock(["plan", "sql", "p", "data"], MIGRATION).status, 0);
    const failed = drydock(
      ["plan", "sql", "p", "data"],
      "ALTER TABLE orders ADD COLUMN paid bool; ALTER TABLE nowhere ADD COLUMN x int",
    );
    assertRefused(failed, 1, /statement 2 of 2 failed: relation "nowhere" does not exist/);
    assert.equal(await server.sql("SELECT to_regclass('orders')"), "");
    drydock(["plan", "exec", "p", "--", "sh", "-c", `echo 2 > ${folder}/version.txt`]);
    assert.match(drydock(["plan", "diff", "p", "--stat"]).stdout, /statement-1/);
    assert.equal(drydock(["plan", "apply", "p"]).status, 0);
    assert.equal(workplace.read("code/version.txt"), "2\n");
    assert.equal(await server.sql("SELECT count(*), sum(total) FROM orders"), "2|30");
    assert.equal(
      await server.sql(
        "SELECT count(*) FROM information_schema.columns WHERE table_name = 'orders' AND column_name = 'paid'",
      ),
      "0",
    );
  });

  it("[A1] Ctrl-C ends the statement on the server, says so, and the plan goes on", async () => {
    using workplace = new Workplace();
    const folder = workplace.write("drydock.yaml", 'resources: { data: { location: "${DATABASE}" } }\n');
    const env = { DATABASE: server.url(), DRYDOCK_CONFIG: folder };
    workplace.drydock(["plan", "create", "-r", "data", "--name", "p"], { env });
    const running = workplace.start(["plan", "sql", "p", "data", "-c", "SELECT pg_sleep(6200)"], env);
    const ended = running.ended();
    const sleeping =
      "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(6200)' AND state = 'active'";
    await until(async () => (await server.sql(sleeping)) === "1", "the server runs it");
    running.signal("SIGINT");
    const { status, stderr } = await ended;
    assert.equal(status, 1, stderr);
    assert.match(
      stderr,
      /^SIGINT: stopping.*\nerror: The statements were interrupted; the sandbox is as it was before them\.\n {2}hint: /,
    );
    assert.equal(await server.sql(sleeping), "0");
    assert.match(workplace.drydock(["plan", "sql", "p", "data", "-c", "SELECT 7"], { env }).stdout, /7/);
    assert.equal(workplace.drydock(["plan", "cancel", "p"], { env }).status, 0);
  });

  it("[X5] a wrong password is one line and a hint, without it, and nothing is left", () => {
    using workplace = new Workplace();
    const url = server.url("app", { ...OWNER, password: "wr0ng" });
    for (const args of [
      ["plan", "create", "-r", url],
      ["plan", "create", "-r", `${url},type=`, "--debug"],
      ["run", "-r", url, "--", "true"],
    ]) {
      const ended = workplace.drydock(args);
      assert.equal(ended.status, 2, ended.stderr);
      assert.ok(!ended.stderr.includes("wr0ng") && !ended.stdout.includes("wr0ng"), ended.stderr);
    }
    assertRefused(
      workplace.drydock(["plan", "create", "-r", url]),
      2,
      /does not let us in: .*owner/,
      /user and password/,
    );
    assert.deepEqual(leftIn(workplace.state), []);
    assert.deepEqual(workplace.answer("plan", "list").plans, []);
  });
});
