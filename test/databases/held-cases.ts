import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type TestServer, whyNoServer } from "../support/database-servers.ts";
import { describeBadInput } from "./held-bad-input.ts";
import { describeInterruption } from "./held-interruption.ts";
import { describeMigrations } from "./held-migrations.ts";
import { describeOutcomes } from "./held-outcomes.ts";
import { describeRows } from "./held-rows.ts";
import { HeldScene, leftIn, type ServerKind, startServer } from "./held-scene.ts";

/** A statement that gives another result each time. */
const EACH_TIME_OTHER = {
  postgres: "SELECT v, clock_timestamp() FROM T WHERE id = 1",
  mariadb: "SELECT v, UUID() FROM T WHERE id = 1",
} as const;

/** What holds for transactions on every kind of server. */
export function describeHeld(kind: ServerKind): void {
  describe(`a transaction held on ${kind}`, { skip: whyNoServer(kind) ?? false }, () => {
    let server: TestServer;
    before(async () => {
      server = await startServer(kind);
    });
    after(() => server?.remove());

    it("shows its work to nobody else until it is applied, and then all of it", async () => {
      await using scene = await HeldScene.make(server);
      const plan = await scene.plan();
      assert.equal(plan.resources[0]?.strategy, "transaction_rollback");
      await scene.run(
        "UPDATE T SET v = 'changed' WHERE id = 1; INSERT INTO T VALUES (3, 'three'); DELETE FROM T WHERE id = 2",
      );
      assert.equal(await scene.inside(), "1|changed 3|three");
      assert.equal(await scene.original(), "1|one 2|two");
      const { changes } = await scene.with(({ plans }) => plans.diff("p"));
      assert.deepEqual(
        changes.map(({ operation, kind: what, rows }) => ({ operation, what, rows })),
        [
          { operation: "modified", what: "row", rows: 1 },
          { operation: "added", what: "row", rows: 1 },
          { operation: "deleted", what: "row", rows: 1 },
        ],
      );
      assert.match(changes[0]?.statement ?? "", /^UPDATE/);
      const result = await scene.with(({ plans }) => plans.apply("p"));
      assert.deepEqual(
        result.participants.map(({ outcome, changes: count }) => [outcome, count]),
        [["committed", 3]],
      );
      assert.equal(await scene.original(), "1|changed 3|three");
      assert.deepEqual(await server.prepared(), []);
    });

    it("runs a script with a transaction of its own as the one unit that a script is", async () => {
      await using scene = await HeldScene.make(server);
      await scene.plan();
      await scene.run(
        "BEGIN; UPDATE T SET v = 'changed' WHERE id = 1; COMMIT; START TRANSACTION; DELETE FROM T WHERE id = 2; COMMIT",
      );
      assert.equal(await scene.inside(), "1|changed");
      await assert.rejects(scene.run("BEGIN; DELETE FROM T; COMMIT; BEGIN; SELECT nothing; COMMIT"), {
        code: "SQL",
      });
      for (const script of ["BEGIN; DELETE FROM T; ROLLBACK", "DELETE FROM T; COMMIT"])
        await assert.rejects(scene.run(script), /can't be run in a plan/);
      assert.equal(await scene.inside(), "1|changed");
      assert.equal(await scene.original(), "1|one 2|two");
    });

    it("[A17] leaves nothing when it is over: no process, no file, no password, nothing prepared", async () => {
      await using scene = await HeldScene.make(server);
      await scene.plan();
      await scene.run("UPDATE T SET v = 'x'");
      const holder = scene.holder();
      assert.ok(holder !== undefined);
      assert.deepEqual(scene.filesWithPassword().length, 1);
      await scene.with(({ plans }) => plans.apply("p"));
      assert.deepEqual(leftIn(scene.stateDir), []);
      assert.deepEqual(scene.filesWithPassword(), []);
      const databases = kind === "mariadb" ? await server.sql("SHOW DATABASES LIKE 'drydock%'") : "";
      assert.equal(databases, "");
      const tables = await server.sql(
        "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'drydock%'",
      );
      assert.equal(tables, "");
    });

    it("reads rows as JSON lines, and runs what is written to a name that ends with .sql", async () => {
      await using scene = await HeldScene.make(server);
      await scene.plan();
      const text = await scene.with(async ({ plans }) => {
        await plans.write(
          "p",
          "db",
          "more.sql",
          Buffer.from(`INSERT INTO ${scene.table} VALUES (9007199, NULL)`),
        );
        return Buffer.from(await plans.read("p", "db", scene.table)).toString();
      });
      assert.deepEqual(text.trim().split("\n").sort(), [
        '{"id":1,"v":"one"}',
        '{"id":2,"v":"two"}',
        '{"id":9007199,"v":null}',
      ]);
      await assert.rejects(
        scene.with(({ plans }) => plans.write("p", "db", "notes.txt", Buffer.from("x"))),
        /can't be written to by 'notes.txt'/,
      );
    });

    it("goes on after a statement that fails, and nothing of its script is left", async () => {
      await using scene = await HeldScene.make(server);
      await scene.plan();
      await scene.run("UPDATE T SET v = 'kept' WHERE id = 1");
      for (const [script, message] of [
        [
          "INSERT INTO T VALUES (5, 'five'); INSERT INTO T VALUES (5, 'twice')",
          /statement 2 of 2 failed: .*duplicate/i,
        ],
        ["INSERT INTO T VALUES (6, 'six'); SELECT * FROM nowhere", /statement 2 of 2 failed/],
        ["THIS IS NO STATEMENT", /failed: .*syntax|can't be run/],
        ["SELECT 'unfinished", /failed/],
      ] as const)
        await assert.rejects(scene.run(script), { code: "SQL", message }, script);
      assert.equal(await scene.inside(), "1|kept 2|two");
      await scene.with(({ plans }) => plans.apply("p"));
      assert.equal(await scene.original(), "1|kept 2|two");
    });

    it("refuses what would end the transaction, however it is written, before it is sent", async () => {
      await using scene = await HeldScene.make(server);
      await scene.plan();
      await scene.run("UPDATE T SET v = 'mine' WHERE id = 1");
      const scripts = [
        "COMMIT",
        "/* c */ -- d\n commit;",
        "ROLLBACK",
        "BEGIN",
        "SELECT 1; COMMIT",
        "SAVEPOINT x",
      ];
      const own = kind === "postgres" ? POSTGRES_REFUSED : MARIADB_REFUSED;
      for (const script of [...scripts, ...own])
        await assert.rejects(scene.run(script), { code: "SQL" }, script);
      assert.equal(await scene.inside(), "1|mine 2|two");
      assert.equal(await scene.original(), "1|one 2|two");
    });

    it("[L2] is usable again after a rollback, and shows the database as it is then", async () => {
      await using scene = await HeldScene.make(server);
      await scene.plan();
      await scene.run("UPDATE T SET v = 'thrown away'");
      await scene.with(({ plans }) => plans.rollback("p"));
      await scene.rival("INSERT INTO T VALUES (3, 'meanwhile')");
      await scene.with(({ plans }) => plans.rollback("p"));
      assert.equal(await scene.inside(), "1|one 2|two 3|meanwhile");
      await scene.run("DELETE FROM T WHERE id = 3");
      await scene.with(({ plans }) => plans.apply("p"));
      assert.equal(await scene.original(), "1|one 2|two");
    });

    it("[T3] restores checkpoints exactly, any number of times, several of them, in their order", async () => {
      await using scene = await HeldScene.make(server);
      const { id } = await scene.plan();
      await scene.with(async ({ registry, sandboxes }) => {
        const { ref } = await sandboxes.getOrCreate(id, "db");
        const { strategy } = await registry.resolve("transaction_rollback");
        const run = async (script: string) =>
          strategy.query?.(ref, script.replaceAll(/\bT\b/g, scene.table), { readOnly: false });
        await run("INSERT INTO T VALUES (3, 'before c1')");
        await strategy.checkpoint(ref, "c1");
        await run("DELETE FROM T WHERE id = 1; UPDATE T SET v = 'after c1'");
        await strategy.checkpoint(ref, "c2");
        await run("DELETE FROM T");
        await assert.rejects(run("SELECT * FROM nowhere") ?? Promise.resolve());
        for (let time = 1; time <= 2; time += 1) {
          await strategy.restoreCheckpoint(ref, "c2");
          assert.equal(await scene.inside(), "2|after c1 3|after c1");
          await run("INSERT INTO T VALUES (7, 'again')");
        }
        for (let time = 1; time <= 2; time += 1) {
          await strategy.restoreCheckpoint(ref, "c1");
          assert.equal(await scene.inside(), "1|one 2|two 3|before c1");
          assert.equal((await strategy.diff(ref)).changes.length, 1);
          await run("UPDATE T SET v = 'other'");
        }
        await assert.rejects(strategy.restoreCheckpoint(ref, "never"), { code: "UNKNOWN_CHECKPOINT" });
        await strategy.restoreCheckpoint(ref, "c1");
      });
      await scene.with(({ plans }) => plans.apply("p"));
      assert.equal(await scene.original(), "1|one 2|two 3|before c1");
    });

    it("[T3] goes back to where it was before a restore, as long as nothing else was restored", async () => {
      await using scene = await HeldScene.make(server);
      const { id } = await scene.plan();
      await scene.with(async ({ registry, sandboxes }) => {
        const { ref } = await sandboxes.getOrCreate(id, "db");
        const { strategy } = await registry.resolve("transaction_rollback");
        await strategy.checkpoint(ref, "early");
        await scene.run("INSERT INTO T VALUES (3, 'late')");
        await strategy.checkpoint(ref, "safety");
        await strategy.restoreCheckpoint(ref, "early");
        assert.equal(await scene.inside(), "1|one 2|two");
        await strategy.restoreCheckpoint(ref, "safety");
        assert.equal(await scene.inside(), "1|one 2|two 3|late");
      });
    });

    it("a rival's change of the same row is never overwritten: it is a conflict", async () => {
      await using scene = await HeldScene.make(server);
      await scene.plan();
      await scene.run("INSERT INTO T VALUES (3, 'mine'); SELECT * FROM T");
      await scene.rival("UPDATE T SET v = 'rival' WHERE id = 2");
      await assert.rejects(scene.run("UPDATE T SET v = 'mine' WHERE id = 2"), { code: "CONFLICT" });
      if (kind === "postgres") assert.equal(await scene.inside(), "1|one 2|two 3|mine");
      await scene.with(({ plans }) => plans.rollback("p"));
      await scene.run("UPDATE T SET v = 'mine, knowing it' WHERE id = 2 AND v = 'rival'");
      await scene.with(({ plans }) => plans.apply("p"));
      assert.equal(await scene.original(), "1|one 2|mine, knowing it");
    });

    it("[A7][A13] is as before after a failed apply, and the same call succeeds when the cause is mended", async () => {
      await using scene = await HeldScene.make(server);
      const folder = join(scene.folder, "files");
      mkdirSync(folder);
      writeFileSync(join(folder, "a.txt"), "old\n");
      await scene.plan([{ location: folder, name: "files" }]);
      await scene.with(({ plans }) => plans.write("p", "files", "a.txt", Buffer.from("new\n")));
      await scene.run("UPDATE T SET v = 'new'; INSERT INTO T VALUES (3, 'new')");
      const digest = await scene.with(async ({ plans }) => (await plans.diff("p")).digest);
      await scene.failToApply();
      assert.equal(await scene.original(), "1|one 2|two");
      assert.deepEqual(await server.prepared(), []);
      assert.equal(await scene.inside(), "1|new 2|new 3|new");
      assert.equal(await scene.with(async ({ plans }) => (await plans.diff("p")).digest), digest);
      await scene.with(({ plans }) => plans.apply("p"));
      assert.equal(await scene.original(), "1|new 2|new 3|new");
      assert.equal(readFileSync(join(folder, "a.txt"), "utf8"), "new\n");
    });

    it("says that its work is gone if what it did gives something else when it is done again", async () => {
      await using scene = await HeldScene.make(server);
      await scene.plan();
      await scene.run(`UPDATE T SET v = 'new'; ${EACH_TIME_OTHER[kind]}`);
      await scene.failToApply();
      assert.equal(await scene.original(), "1|one 2|two");
      const { state, error } = await scene.status();
      assert.equal(state, "ERRORED");
      assert.match(
        error ?? "",
        /work in this sandbox is gone: .*could not be run again.*Nothing was changed/,
      );
      await scene.with(({ plans }) => plans.rollback("p"));
      assert.equal(await scene.inside(), "1|one 2|two");
    });

    it("[A7][B3] is as it was after a dry run, also work that would give something else if it were done again", async () => {
      await using scene = await HeldScene.make(server);
      await scene.plan();
      await scene.run(`UPDATE T SET v = 'new'; ${EACH_TIME_OTHER[kind]}`);
      const holder = scene.holder();
      const { warnings, state } = await scene.with(({ plans }) => plans.apply("p", { dryRun: true }));
      assert.equal(state, "open");
      assert.match(warnings.join("\n"), /^db: a dry run checks the open transaction and does not prepare it/);
      assert.deepEqual([await scene.original(), await scene.inside()], ["1|one 2|two", "1|new 2|new"]);
      assert.deepEqual([await server.prepared(), scene.holder()], [[], holder]);
      await scene.with(({ plans }) => plans.apply("p"));
      assert.equal(await scene.original(), "1|new 2|new");
    });

    it("[A13] has nothing to land after mere looking", async () => {
      await using scene = await HeldScene.make(server);
      await scene.plan();
      assert.equal(await scene.inside(), "1|one 2|two");
      assert.deepEqual(await scene.with(async ({ plans }) => (await plans.diff("p")).changes), []);
      const { participants } = await scene.with(({ plans }) => plans.apply("p"));
      assert.deepEqual(
        participants.map(({ outcome }) => outcome),
        ["unchanged"],
      );
    });

    it("[A18] [B8] is refused an undo up front, and says so before it is applied; the rest is taken back by the user's word", async () => {
      await using scene = await HeldScene.make(server);
      const folder = join(scene.folder, "files");
      mkdirSync(folder);
      const plan = await scene.plan([{ location: folder, name: "files" }]);
      assert.match(plan.resources[1]?.notes?.join("\n") ?? "", /can't be undone once it has landed/);
      await scene.with(({ plans }) => plans.write("p", "files", "a.txt", Buffer.from("new\n")));
      await scene.run("UPDATE T SET v = 'new'");
      await scene.with(({ plans }) => plans.apply("p"));
      await assert.rejects(
        scene.with(({ plans }) => plans.undo("p")),
        { reason: "IRREVERSIBLE", message: /db can't be taken back/, hint: /--leave db/ },
      );
      assert.equal(existsSync(join(folder, "a.txt")), true);
      await assert.rejects(
        scene.with(({ plans }) => plans.undo("p", { leave: ["db", "files"] })),
        /Nothing of files would stay/,
      );
      const { undo } = await scene.with(({ plans }) => plans.show("p"));
      assert.deepEqual(undo !== undefined && "until" in undo && undo.leaving, ["db"]);
      const stays = [{ resource: "db", strategy: "transaction_rollback", changes: 1 }];
      const undone = await scene.with(({ plans }) => plans.undo("p", { leave: ["db"] }));
      assert.deepEqual([undone.state, undone.stays], ["undone", stays]);
      assert.deepEqual((await scene.with(({ plans }) => plans.show("p"))).stays, stays);
      assert.equal(await scene.original(), "1|new 2|new");
      assert.equal(existsSync(join(folder, "a.txt")), false);
    });

    it("a read-only plan can look, and change nothing", async () => {
      await using scene = await HeldScene.make(server);
      await scene.with(({ plans }) =>
        plans.create({ name: "p", readOnly: true, resources: [{ location: server.url(), name: "db" }] }),
      );
      assert.equal(await scene.inside(), "1|one 2|two");
      await assert.rejects(scene.run("UPDATE T SET v = 'x'"));
      assert.equal(await scene.inside(), "1|one 2|two");
    });

    it("has a path by which clients of the server's own protocol come in, with a password of the plan's", async () => {
      await using scene = await HeldScene.make(server);
      await scene.plan();
      const path = await scene.with(({ plans }) => plans.path("p", "db"));
      assert.match(
        path,
        kind === "postgres"
          ? /^postgresql:\/\/owner:[\w-]{32}@\/app\?host=[^&]*%2Fkeepers%2F[^&]*&port=5432$/
          : /^mysql:\/\/owner:[\w-]{32}@localhost:1\/app\?socket=([^&]*%2Fkeepers%2F[^&]*)&socketPath=\1$/,
      );
    });

    it("[C2] is known with everything that it may leave before any of it exists", async () => {
      await using scene = await HeldScene.make(server);
      const { id } = await scene.plan();
      const kinds = await intentsOf(scene);
      assert.deepEqual(kinds.filter((text) => text.includes(id)).length, kinds.length);
      assert.ok(
        kinds.some((text) => text.startsWith("prepared transaction")),
        kinds.join("\n"),
      );
      assert.ok(kinds.some((text) => text.startsWith("process")));
    });

    describeInterruption(kind, () => server);
    describeOutcomes(kind, () => server);
    describeRows(kind, () => server);
    describeMigrations(kind, () => server);
    describeBadInput(() => server);
  });
}

async function intentsOf(scene: HeldScene): Promise<string[]> {
  const { openSqliteStore } = await import("../../src/store/sqlite-store.ts");
  const store = await openSqliteStore({ stateDir: scene.stateDir });
  try {
    return (await store.intents()).map(({ kind, location }) => `${kind} ${location}`);
  } finally {
    store.close();
  }
}

const POSTGRES_REFUSED = [
  "END",
  "ABORT",
  "START TRANSACTION",
  "PREPARE TRANSACTION 'mine'",
  "COMMIT PREPARED 'mine'",
  "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
  "CREATE TEMP TABLE x (id int)",
  "LISTEN x",
  "NOTIFY x",
  "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
  "COPY (SELECT 1) TO STDOUT",
  "DO $$ BEGIN COMMIT; END $$",
  "VACUUM",
];

const MARIADB_REFUSED = [
  "CREATE TABLE x (id INT)",
  "ALTER TABLE T ADD COLUMN n INT",
  "DROP TABLE T",
  "TRUNCATE T",
  "START TRANSACTION",
  "XA END 'x'",
  "LOCK TABLES T WRITE",
  "SET autocommit = 0",
  "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
  "/*!50000 COMMIT */",
  "PREPARE s FROM 'COMMIT'",
  "SET GLOBAL max_connections = 10",
];
