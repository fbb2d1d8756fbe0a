import assert from "node:assert/strict";
import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import mysql from "mysql2/promise";
import pg from "pg";
import { DrydockProcess } from "../rivals/drydock-process.ts";
import { OWNER, type TestServer, whyNoServer } from "../support/database-servers.ts";
import { HeldScene, isRunning, leftIn, startServer, until, untilLocked } from "./held-scene.ts";

describe("the process that holds a plan's transactions", {
  skip: whyNoServer("postgres") ?? false,
  concurrency: 2,
}, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer("postgres");
  });
  after(() => server?.remove());

  it("is there once for a plan, for this user alone, and has nothing of the environment", async () => {
    await using scene = await HeldScene.make(server);
    await scene.plan();
    const [plan = ""] = readdirSync(join(scene.stateDir, "keepers"));
    const folder = join(scene.stateDir, "keepers", plan);
    const socket = readdirSync(folder).find((name) => name.endsWith(".sock")) ?? "";
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.equal(statSync(join(folder, socket)).mode & 0o777, 0o600);
    assert.equal(statSync(join(scene.stateDir, "secrets", plan)).mode & 0o777, 0o600);
    const first = scene.holder();
    await scene.run("UPDATE T SET v = 'x'");
    assert.equal(scene.holder(), first);
    await scene.with(({ plans }) => plans.cancel("p"));
    await until(() => first !== undefined && !isRunning(first), "the holder ends with the plan");
    assert.equal(await scene.original(), "1|one 2|two");
  });

  it("[B3] does nothing for a caller without its key, which no command inside can read; nor does its door for clients", async () => {
    await using scene = await HeldScene.make(server);
    const { id: planId } = await scene.plan();
    await scene.run("UPDATE T SET v = 'x'");
    const folder = join(scene.stateDir, "keepers", planId);
    const socket = readdirSync(folder).find((name) => name.endsWith(".sock")) ?? "";
    const [resourceId = ""] = readdirSync(folder).flatMap(
      (name) => /^(?!keeper)(.+)[.]json$/.exec(name)?.[1] ?? [],
    );
    const commit = `${JSON.stringify({ planId, resourceId, operation: "commit", given: {} })}\n`;
    for (const said of [commit, `${"x".repeat(32)}${commit}`, "\n", `${"x".repeat(1 << 16)}`]) {
      const caller = connect(join(folder, socket));
      caller.on("error", () => undefined);
      caller.write(said);
      assert.equal(await text(caller), "", "no answer, and the end of the connection");
    }
    assert.equal(statSync(join(folder, "keeper.json")).mode & 0o777, 0o600);
    const url = await scene.with(({ plans }) => plans.path("p", "db"));
    const { host, port, user, database } = new pg.Client({ connectionString: url });
    for (const password of [undefined, "", "guessed", "x".repeat(32)]) {
      const client = new pg.Client({
        host,
        port,
        user,
        database,
        password: () => password ?? "",
      } as pg.ClientConfig);
      await assert.rejects(client.connect(), { code: password ? "28P01" : /./ });
    }
    assert.deepEqual([await scene.inside(), await scene.original()], ["1|x 2|x", "1|one 2|two"]);
  });

  it("is found in a state directory that is too deep for the name of a socket", async () => {
    await using scene = await HeldScene.make(server, { deep: true });
    await scene.plan();
    await scene.run("UPDATE T SET v = 'deep'");
    await scene.with(({ plans }) => plans.apply("p"));
    assert.equal(await scene.original(), "1|deep 2|deep");
  });

  it("if it is killed, the work is gone, nothing was changed, and that is said by every command", async () => {
    await using scene = await HeldScene.make(server);
    await scene.plan();
    await scene.run("UPDATE T SET v = 'gone'");
    scene.killHolder();
    const { state, error } = await scene.status();
    assert.equal(state, "ERRORED");
    assert.match(error ?? "", /the process that held its transaction is gone\. Nothing was changed/);
    await assert.rejects(scene.run("SELECT 1"), {
      code: "SANDBOX_STATE",
      message: /ERRORED: The work in this sandbox is gone/,
    });
    await assert.rejects(
      scene.with(({ plans }) => plans.apply("p")),
      /is ERRORED/,
    );
    assert.equal(await scene.original(), "1|one 2|two");
    await scene.with(({ plans }) => plans.cancel("p"));
    assert.deepEqual(leftIn(scene.stateDir), []);
  });

  it("ends when the state directory goes away, and the transaction with it", async () => {
    await using scene = await HeldScene.make(server);
    await scene.plan();
    await scene.run("UPDATE T SET v = 'locked'");
    const holder = scene.holder() ?? 0;
    renameSync(scene.stateDir, `${scene.stateDir}-moved`);
    rmSync(`${scene.stateDir}-moved`, { recursive: true });
    await until(() => !isRunning(holder), "the holder ends");
    await scene.rival("UPDATE T SET v = 'free again'");
    assert.equal(await scene.original(), "1|free again 2|free again");
  });

  for (const [limit, message] of [
    ["idle: 1s", /it was idle for longer than sandbox.transaction.idle allows/],
    ["age: 1s", /open for longer than sandbox.transaction.age allows/],
  ] as const)
    it(`ends a transaction at its limit (${limit}), and says so`, async () => {
      await using scene = await HeldScene.make(server);
      const config = join(scene.folder, "drydock.yaml");
      writeFileSync(config, `sandbox: { transaction: { ${limit} } }\n`);
      const plan = await scene.with(
        ({ plans }) => plans.create({ name: "p", resources: [{ location: server.url(), name: "db" }] }),
        { config },
      );
      assert.match(
        plan.resources[0]?.notes?.[0] ?? "",
        /its transaction is open since .* ends at .* if it is not used before, and at/,
      );
      await scene.run("UPDATE T SET v = 'late'").catch(() => undefined);
      await until(async () => (await scene.status()).state === "ERRORED", "it ends");
      assert.match((await scene.status()).error ?? "", message);
      await scene.rival("UPDATE T SET v = 'free again'");
    });

  it("has a lock of somebody else waited for, but not without end", async () => {
    await using scene = await HeldScene.make(server);
    await using other = await HeldScene.make(server);
    await scene.plan();
    await other.plan();
    await scene.run("UPDATE T SET v = 'first' WHERE id = 1");
    const rival = other.with(({ plans }) =>
      plans.sql("p", "db", `UPDATE ${scene.table} SET v = 'second' WHERE id = 1`),
    );
    await assert.rejects(rival, { code: "LOCKED", message: /waited too long for another transaction/ });
    await scene.with(({ plans }) => plans.apply("p"));
    await assert.rejects(
      other.with(({ plans }) => plans.sql("p", "db", `UPDATE ${scene.table} SET v = 'second' WHERE id = 1`)),
      { code: "CONFLICT" },
    );
    assert.equal(await scene.original(), "1|first 2|two");
  });

  it("changes of the schema are part of the transaction, and shown as such", async () => {
    await using scene = await HeldScene.make(server);
    await scene.plan();
    await scene.run(
      "CREATE TABLE T_more (id int); ALTER TABLE T_more ADD COLUMN n int; CREATE INDEX ON T_more (n); DROP TABLE T_more; CREATE VIEW T_view AS SELECT 1 AS one",
    );
    const { changes } = await scene.with(({ plans }) => plans.diff("p"));
    assert.deepEqual(
      changes.map(({ operation, kind }) => `${operation} ${kind}`),
      ["added table", "modified table", "added object", "deleted table", "added object"],
    );
    await scene.with(({ plans }) => plans.apply("p"));
    assert.equal(await server.sql("SELECT one FROM T_view"), "1");
  });

  it("[T1] what was about to prepare when we and it were killed is ended first, so that nothing is prepared behind the back of recovery", async () => {
    await using scene = await HeldScene.make(server);
    // At the end of its transaction it takes longer than any test.
    await server.sql(`CREATE FUNCTION rest() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(6300); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER rest AFTER UPDATE ON ${scene.table} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION rest()`);
    const { id } = await scene.plan();
    await scene.run("UPDATE T SET v = 'x' WHERE id = 1");
    const preparing = `SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'PREPARE TRANSACTION%${id}%' AND state = 'active' AND pid <> pg_backend_pid()`;
    await using applying = new DrydockProcess({ stateDir: scene.stateDir, calls: [["apply", id]] });
    await until(async () => (await server.sql(preparing)) === "1", "it prepares");
    applying.signal("SIGKILL");
    await applying.ends();
    scene.killHolder();
    const { undone, pending } = await scene.with(async ({ recovery }) => recovery);
    assert.deepEqual([undone.length, pending], [1, []]);
    assert.equal(await server.sql(preparing), "0", "a session is still about to prepare");
    const prepared = (await server.prepared()).filter((name) => name.includes(id));
    assert.deepEqual(prepared, []);
    assert.equal(await scene.original(), "1|one 2|two");
  });

  it("what the server refuses to prepare is said, and the work is still there", async () => {
    await using scene = await HeldScene.make(server);
    await scene.plan();
    await scene.run("UPDATE T SET v = 'kept' WHERE id = 1; SELECT pg_notify('x', 'y')");
    await assert.rejects(
      scene.with(({ plans }) => plans.apply("p")),
      /cannot PREPARE a transaction that has executed LISTEN/,
    );
    assert.equal(await scene.original(), "1|one 2|two");
    assert.equal(await scene.inside(), "1|kept 2|two");
    assert.equal((await scene.status()).state, "ACTIVE");
  });
});

describe("a server that can't prepare", { skip: whyNoServer("postgres") ?? false }, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer("postgres", ["max_prepared_transactions=0"]);
  });
  after(() => server?.remove());

  it("[A16] is found when the plan is made, said, and lands last, only with the user's word", async () => {
    await using scene = await HeldScene.make(server);
    const plan = await scene.plan();
    assert.match(
      plan.resources[0]?.notes?.join("\n") ?? "",
      /can only land in one step \(max_prepared_transactions is 0 on this server\)/,
    );
    await scene.run("UPDATE T SET v = 'one step'");
    await assert.rejects(
      scene.with(({ plans }) => plans.apply("p")),
      /can't be taken back once it has landed/,
    );
    assert.equal(await scene.original(), "1|one 2|two");
    const { participants } = await scene.with(({ plans }) => plans.apply("p", { allowIrreversible: true }));
    assert.deepEqual(
      participants.map(({ outcome }) => outcome),
      ["committed"],
    );
    assert.equal(await scene.original(), "1|one step 2|one step");
    await assert.rejects(
      scene.with(({ plans }) => plans.undo("p")),
      { reason: "IRREVERSIBLE" },
    );
    assert.deepEqual(leftIn(scene.stateDir), []);
  });

  it("[A16] a crash around its commit is in doubt, never guessed", async () => {
    const { runDriver } = await import("../crash/run-driver.ts");
    await using scene = await HeldScene.make(server);
    const { id } = await scene.with(({ plans }) =>
      plans.create({
        name: "p",
        allowIrreversible: true,
        resources: [{ location: server.url(), name: "db" }],
      }),
    );
    await scene.run("UPDATE T SET v = 'maybe'");
    const end = await runDriver(
      { operation: "apply", stateDir: scene.stateDir, plan: "p" },
      { failpoints: "held.commit=kill" },
    );
    assert.equal(end.signal, "SIGKILL");
    const recovery = await scene.with(async (drydock) => drydock.recovery);
    assert.deepEqual(
      recovery.pending.map(({ planId, inDoubt }) => ({ planId, inDoubt })),
      [{ planId: id, inDoubt: true }],
    );
    await scene.with((drydock) => drydock.settle("p", "abort"));
    assert.equal(await scene.original(), "1|one 2|two");
  });
});

describe("MariaDB", { skip: whyNoServer("mariadb") ?? false }, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer("mariadb");
  });
  after(() => server?.remove());

  it("[A16] tables without transactions are found when the plan is made, said, and never written to", async () => {
    await using scene = await HeldScene.make(server);
    await server.sql("CREATE TABLE loose (id INT) ENGINE=MyISAM");
    try {
      const plan = await scene.plan();
      assert.match(
        plan.resources[0]?.notes?.join("\n") ?? "",
        /can only land in one step \(the engine of loose has no transactions\)/,
      );
      await assert.rejects(scene.run("INSERT INTO `loose` VALUES (1)"), {
        code: "SQL",
        message: /loose can't be changed in a plan/,
      });
      await scene.run("SELECT * FROM loose; UPDATE T SET v = 'one step'");
      await scene.with(({ plans }) => plans.apply("p", { allowIrreversible: true }));
      assert.equal(await scene.original(), "1|one step 2|one step");
      assert.equal(await server.sql("SELECT COUNT(*) FROM loose"), "0");
    } finally {
      await server.sql("DROP TABLE loose");
    }
  });

  it("a conflict takes the server's transaction with it, but not the work: that is done again on the rows as they are", async () => {
    await using scene = await HeldScene.make(server);
    await scene.plan();
    await scene.run("INSERT INTO T VALUES (3, 'mine')");
    await scene.rival("UPDATE T SET v = 'rival' WHERE id = 2");
    await assert.rejects(scene.run("UPDATE T SET v = 'mine' WHERE id = 2"), { code: "CONFLICT" });
    assert.equal(await scene.inside(), "1|one 2|rival 3|mine");
    await scene.run("UPDATE T SET v = CONCAT(v, ' and mine') WHERE id = 2");
    await scene.with(({ plans }) => plans.apply("p"));
    assert.equal(await scene.original(), "1|one 2|rival and mine 3|mine");
  });

  it("[B2] [T3] a deadlock while a restore does work again takes back that restore, which can be tried again", async () => {
    await using scene = await HeldScene.make(server);
    const { id } = await scene.plan();
    await scene.run("UPDATE T SET v = 'kept' WHERE id = 1");
    await scene.with(async ({ registry, sandboxes }) => {
      const { ref } = await sandboxes.getOrCreate(id, "db");
      const { strategy } = await registry.resolve("transaction_rollback");
      await strategy.checkpoint(ref, "first");
      await scene.run("UPDATE T SET v = 'more' WHERE id = 2");
      await scene.run("INSERT INTO T VALUES (3, 'more')");
      await strategy.checkpoint(ref, "second");
      await strategy.restoreCheckpoint(ref, "first");
      const rival = await mysql.createConnection({
        ...OWNER,
        socketPath: join(server.folder, "own", "socket"),
        database: "app",
      });
      try {
        await rival.beginTransaction();
        // The server gives up the transaction that has done less.
        const others = Array.from({ length: 20 }, (_, n) => `(${n + 100}, 'rival')`);
        await rival.query(`INSERT INTO ${scene.table} VALUES (3, 'rival'), ${others.join(", ")}`);
        const restored = assert.rejects(strategy.restoreCheckpoint(ref, "second"), /Deadlock found/);
        await untilLocked(server, "the restore waits");
        await rival.query(`UPDATE ${scene.table} SET v = 'rival' WHERE id = 1`);
        await rival.rollback();
        await restored;
      } finally {
        await rival.end();
      }
      assert.equal(await scene.inside(), "1|kept 2|more", "what was done before the deadlock is there");
      await strategy.restoreCheckpoint(ref, "second");
    });
    assert.equal(await scene.inside(), "1|kept 2|more 3|more");
    await scene.with(({ plans }) => plans.apply("p"));
    assert.equal(await scene.original(), "1|kept 2|more 3|more");
  });

  it("has a lock of somebody else waited for, but not without end", async () => {
    await using scene = await HeldScene.make(server);
    await using other = await HeldScene.make(server);
    await scene.plan();
    await other.plan();
    await scene.run("UPDATE T SET v = 'first' WHERE id = 1");
    const update = () =>
      other.with(({ plans }) => plans.sql("p", "db", `UPDATE ${scene.table} SET v = 'second' WHERE id = 1`));
    await assert.rejects(update(), { code: "LOCKED" });
    await scene.with(({ plans }) => plans.apply("p"));
    await assert.rejects(update(), { code: "CONFLICT" });
    assert.equal(await scene.original(), "1|first 2|two");
  });

  it("is not in the way of another plan that ends: nobody looks at what that has in the database for a moment", async () => {
    await using scene = await HeldScene.make(server);
    // Of all tables it is the first.
    await server.sql("CREATE TABLE drydock_0 (serial VARCHAR(32) PRIMARY KEY) ENGINE=InnoDB");
    await scene.plan();
    await scene.run("UPDATE T SET v = 'changed'");
    await server.sql("DROP TABLE drydock_0 WAIT 1");
    await scene.with(({ plans }) => plans.apply("p"));
    assert.equal(await scene.original(), "1|changed 2|changed");
  });

  it("says that nobody knows, where the server can't tell whether a transaction was committed", async () => {
    const { runDriver } = await import("../crash/run-driver.ts");
    await using scene = await HeldScene.make(server);
    await server.sql("CREATE USER IF NOT EXISTS 'plain'@'localhost' IDENTIFIED BY 'p'", "mysql");
    await server.sql("GRANT SELECT, INSERT, UPDATE, DELETE ON app.* TO 'plain'@'localhost'", "mysql");
    const location = server.url("app", { user: "plain", password: "p" });
    await scene.with(({ plans }) => plans.create({ name: "p", resources: [{ location, name: "db" }] }));
    await scene.run("UPDATE T SET v = 'landed'");
    await runDriver(
      { operation: "apply", stateDir: scene.stateDir, plan: "p" },
      { failpoints: "held.land:1=kill" },
    );
    const [name = ""] = await server.prepared();
    const [, length = "0", , data = ""] = name.split("|");
    await server.sql(`XA COMMIT '${data.slice(0, Number(length))}','${data.slice(Number(length))}'`, "mysql");
    const { finished } = await scene.with(async ({ recovery }) => recovery);
    assert.match(
      finished[0]?.attention[0]?.message ?? "",
      /it is unknown whether the prepared transaction on .* was committed/,
    );
    assert.equal(await scene.original(), "1|landed 2|landed");
  });
});
