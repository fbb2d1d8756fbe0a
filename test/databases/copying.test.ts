import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { openServices } from "../../src/runtime.ts";
import { SqliteSnapshotStrategy } from "../../src/strategies/sqlite-snapshot/sqlite-snapshot.ts";
import { runDriver } from "../crash/run-driver.ts";
import { contextIn } from "../support/strategy-context.ts";
import { DatabaseScene, PLAN } from "./database-scene.ts";

const ACCOUNTS = "CREATE TABLE accounts(id INTEGER PRIMARY KEY, n, filler); ";

/** Moves money between accounts, so that the sum is the same at every instant, as fast as it can. */
const BUSY_PROGRAM = `const { DatabaseSync } = require("node:sqlite"); const db = new DatabaseSync(process.argv[1], { timeout: 10000 });
  console.log("running"); for (let at = 0; ; at += 1) { db.exec("BEGIN IMMEDIATE");
  db.exec("UPDATE accounts SET n = n - 7, filler = hex(randomblob(400)) WHERE id = " + (at * 37 % 2000 + 1));
  db.exec("UPDATE accounts SET n = n + 7 WHERE id = " + (at * 91 % 2000 + 1)); db.exec("COMMIT"); if (at % 50 === 0) db.exec("PRAGMA wal_checkpoint");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1); }`;

async function busyWriter(path: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["-e", BUSY_PROGRAM, path], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return child;
}

function filled(journal: string): DatabaseScene {
  const made = new DatabaseScene();
  const rows = Array.from({ length: 2000 }, (_, at) => `(${at + 1}, 100, hex(randomblob(400)))`).join(",");
  made.sql(`PRAGMA journal_mode = ${journal}; ${ACCOUNTS} INSERT INTO accounts VALUES ${rows}`);
  return made;
}

describe("a copy of a live database", () => {
  for (const journal of ["wal", "delete"])
    it(`[A20][A14] is from one instant while another process writes, and lands beside it (${journal})`, async () => {
      using here = filled(journal);
      const writer = await busyWriter(here.database);
      try {
        for (let round = 0; round < 4; round += 1) {
          const name = `round-${round}`;
          const [[sum] = []] = await here.with(async ({ plans }) => {
            await plans.create({ name, resources: [{ location: here.database, name: "db" }] });
            const copy = await plans.path(name, "db");
            assert.deepEqual(here.rows("PRAGMA integrity_check", copy), [["ok"]]);
            const sums = here.rows("SELECT sum(n) FROM accounts", copy);
            await plans.sql(name, "db", `INSERT INTO accounts VALUES (${5000 + round}, 0, 'ours')`);
            await plans.apply(name);
            return sums;
          });
          assert.equal(sum, 200_000);
        }
      } finally {
        writer.kill("SIGKILL");
        await once(writer, "exit");
      }
      assert.deepEqual(here.rows("SELECT sum(n), count(*) FROM accounts"), [[200_000, 2004]]);
      assert.deepEqual(here.rows("PRAGMA integrity_check"), [["ok"]]);
    });

  for (const journal of ["wal", "delete", "truncate", "persist"])
    it(`[A3] leaves the original and its folder alone, in journal mode ${journal}`, async () => {
      using here = new DatabaseScene();
      here.sql(`PRAGMA journal_mode = ${journal}; CREATE TABLE t(a); INSERT INTO t VALUES (1)`);
      const look = () => {
        const folder = dirname(here.database);
        const names = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "base64")]);
        return [names, statSync(here.database).mtimeMs, statSync(folder).mtimeMs];
      };
      const before = look();
      await here.plan("INSERT INTO t VALUES (2)");
      await here.with(({ plans }) => plans.diff(PLAN));
      assert.deepEqual(look(), before);
      await here.with(({ plans }) => plans.cancel(PLAN));
      assert.deepEqual(look(), before);
      assert.deepEqual(readdirSync(join(here.stateDir, "sandboxes")), []);
    });

  it("holds what is still in the log of a program that was killed", async () => {
    using here = new DatabaseScene();
    here.sql("PRAGMA journal_mode = wal; CREATE TABLE t(a)");
    const killed = `const { DatabaseSync } = require("node:sqlite"); const db = new DatabaseSync(process.argv[1]);
      db.exec("INSERT INTO t VALUES (1)"); process.kill(process.pid, "SIGKILL")`;
    spawnSync(process.execPath, ["-e", killed, here.database]);
    assert.ok(statSync(`${here.database}-wal`).size > 0);
    await here.plan("INSERT INTO t VALUES (2)");
    assert.ok(statSync(`${here.database}-wal`).size > 0, "the log of the original was touched");
    await here.with(({ plans }) => plans.apply(PLAN));
    assert.deepEqual(here.rows("SELECT a FROM t"), [[1], [2]]);
  });

  it("[A20] is made again if somebody opened the database, wrote and closed it while it was copied as a file", async () => {
    using here = filled("wal");
    const resources = [{ location: here.database, name: "db" }];
    const end = await runDriver(
      { operation: "create", stateDir: here.stateDir, plan: PLAN, resources },
      {
        // The size is known, and nothing is copied yet.
        failpoints: "sqlite.copy-original:2=stop",
        whenStopped: () =>
          here.sql("INSERT INTO accounts SELECT id + 2000, 1, hex(randomblob(400)) FROM accounts"),
      },
    );
    assert.equal(end.failed, undefined);
    const copy = await here.with(({ plans }) => plans.path(PLAN, "db"));
    assert.deepEqual(here.rows("PRAGMA integrity_check", copy), [["ok"]]);
    assert.deepEqual(here.rows("SELECT count(*), sum(n) FROM accounts", copy), [[4000, 202_000]]);
    await here.with(({ plans }) => plans.cancel(PLAN));
  });

  it("keeps page size, auto_vacuum, journal mode, mode and version of the original, whatever the copy makes of them", async () => {
    using here = new DatabaseScene();
    here.sql(
      "PRAGMA page_size = 8192; PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = wal; PRAGMA user_version = 3; CREATE TABLE t(a)",
    );
    await here.plan(
      "PRAGMA journal_mode = delete; PRAGMA page_size = 1024; PRAGMA auto_vacuum = NONE; VACUUM; INSERT INTO t VALUES (1)",
    );
    await here.with(({ plans }) => plans.apply(PLAN));
    const settings = ["page_size", "auto_vacuum", "journal_mode", "user_version"].map(
      (name) => here.rows(`PRAGMA ${name}`)[0]?.[0],
    );
    assert.deepEqual(settings, [8192, 1, "wal", 3]);
    assert.deepEqual(here.rows("SELECT a FROM t"), [[1]]);
  });

  it("[L3][C2] works from a path of any bytes, and on an empty file, which is an empty database", async () => {
    using here = new DatabaseScene("a b?c#d%20'\"ü\n.db");
    writeFileSync(here.database, "");
    await here.with(({ plans }) =>
      plans.create({
        name: PLAN,
        resources: [{ location: here.database, name: "db", type: "sqlite-database" }],
      }),
    );
    await here.with(({ plans }) => plans.sql(PLAN, "db", "CREATE TABLE t(a); INSERT INTO t VALUES (1)"));
    await here.with(({ plans }) => plans.apply(PLAN));
    assert.deepEqual(here.rows("SELECT a FROM t"), [[1]]);
    await here.with(({ plans }) => plans.undo(PLAN));
    assert.deepEqual(here.rows("SELECT count(*) FROM sqlite_schema"), [[0]]);
  });
});

describe("a database that can't be copied, or written to", () => {
  const resource = (location: string) => ({
    id: "r",
    name: "db",
    type: "sqlite-database",
    location,
    properties: {},
  });

  async function refusal(here: DatabaseScene, waitMs = 10_000): Promise<string> {
    mkdirSync(here.stateDir, { recursive: true });
    const strategy = new SqliteSnapshotStrategy(contextIn(here.stateDir), { waitMs });
    let message = "";
    await assert.rejects(
      strategy.create("01J00000000000000000000000", resource(here.database)),
      (thrown: Error) => {
        message = thrown.message;
        return true;
      },
    );
    assert.deepEqual(readdirSync(join(here.stateDir, "sandboxes")), [], "something is left");
    return message;
  }

  it("[X4] a file that is none, or is encrypted, is refused", async () => {
    using here = new DatabaseScene();
    writeFileSync(here.database, Buffer.alloc(4096, "not a database "));
    assert.match(await refusal(here), /is not a SQLite database, or it is encrypted/);
    await assert.rejects(
      here.with(({ plans }) =>
        plans.create({ resources: [{ location: here.database, type: "sqlite-database" }] }),
      ),
      /is not a SQLite database, or it is encrypted/,
    );
  });

  it("[X4] one that is cut off is refused", async () => {
    using here = filled("delete");
    writeFileSync(here.database, readFileSync(here.database).subarray(0, 3000));
    assert.match(await refusal(here), /damaged|not a SQLite database|disk image is malformed/);
  });

  it("[X4] one that stays locked is refused after a while", async () => {
    using here = filled("delete");
    const { done } = await here.holdingLock(
      "PRAGMA user_version = 9; SELECT 1; COMMIT; BEGIN EXCLUSIVE",
      1200,
    );
    assert.match(await refusal(here, 200), /Another program keeps the database .* locked/);
    await done;
  });

  it("[X4] one with an unfinished change of a program that died is refused, and left as it is", async () => {
    using here = filled("delete");
    const killed = `const { DatabaseSync } = require("node:sqlite"); const db = new DatabaseSync(process.argv[1]);
      db.exec("PRAGMA cache_size = 5; BEGIN; UPDATE accounts SET filler = hex(randomblob(400))"); process.kill(process.pid, "SIGKILL")`;
    spawnSync(process.execPath, ["-e", killed, here.database]);
    assert.ok(statSync(`${here.database}-journal`).size > 0);
    assert.match(await refusal(here), /A program died while it was writing/);
    assert.ok(statSync(`${here.database}-journal`).size > 0);
    assert.deepEqual(here.rows("SELECT sum(n) FROM accounts"), [[200_000]]);
  });

  const isRoot = process.geteuid?.() === 0;
  const mounted = (here: DatabaseScene, options: string, use: (folder: string) => Promise<void>) =>
    (async () => {
      const folder = join(here.root, "small");
      mkdirSync(folder);
      assert.equal(spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder]).status, 0);
      try {
        await use(folder);
      } finally {
        spawnSync("umount", ["--lazy", folder]);
      }
    })();

  it("[X4][A10] a read-only file system is found before anything is changed", { skip: !isRoot }, async () => {
    using here = new DatabaseScene();
    await mounted(here, "size=4m", async (folder) => {
      const database = join(folder, "app.db");
      here.sql("CREATE TABLE t(a)", database);
      spawnSync("mount", ["-o", "remount,ro", folder]);
      await here.with(async ({ plans }) => {
        await plans.create({ name: PLAN, resources: [{ location: database, name: "db" }] });
        await plans.sql(PLAN, "db", "INSERT INTO t VALUES (1)");
        await assert.rejects(plans.apply(PLAN), /can't be opened or written/);
        assert.equal((await plans.diff(PLAN)).changes.length, 1, "the work is gone");
        await plans.cancel(PLAN);
      });
    });
  });

  it("[X4][A10] no room for what lands is found before anything is changed", { skip: !isRoot }, async () => {
    using here = new DatabaseScene();
    await mounted(here, "size=4m", async (folder) => {
      const database = join(folder, "app.db");
      here.sql("CREATE TABLE t(a)", database);
      await here.with(async ({ plans }) => {
        await plans.create({ name: PLAN, resources: [{ location: database, name: "db" }] });
        await plans.sql(PLAN, "db", "INSERT INTO t VALUES (randomblob(5000000))");
        await assert.rejects(plans.apply(PLAN), /no room|ENOSPC|no space/i);
        assert.deepEqual(here.rows("SELECT count(*) FROM t", database), [[0]]);
        assert.equal((await plans.diff(PLAN)).changes.length, 1, "the work is gone");
        await plans.cancel(PLAN);
      });
    });
  });

  it("[X4] no room for the copy leaves nothing", { skip: !isRoot }, async () => {
    using here = filled("wal");
    await mounted(here, "size=1m", async (folder) => {
      const drydock = await openServices({
        stateDir: join(folder, "state"),
        cwd: here.root,
        environment: {},
      });
      try {
        const created = drydock.plans.create({ resources: [{ location: here.database }] });
        await assert.rejects(created, /No sandbox of .* could be made: .*(?:no space|full)/i);
        assert.deepEqual(readdirSync(join(folder, "state", "sandboxes")), []);
      } finally {
        await drydock.close();
      }
    });
  });

  it("[X4] a sandbox whose database was removed says so, and a rollback brings it back", async () => {
    using here = filled("wal");
    await here.plan("");
    await here.with(async ({ plans }) => {
      spawnSync("rm", [await plans.path(PLAN, "db")]);
      await assert.rejects(plans.diff(PLAN), /was removed/);
      await assert.rejects(plans.apply(PLAN), /was removed/);
      await plans.rollback(PLAN);
      assert.deepEqual((await plans.diff(PLAN)).changes, []);
    });
  });

  it("[A1] a program that has the copy open is named, and nothing lands until it is gone", async () => {
    using here = filled("wal");
    await here.plan("UPDATE accounts SET n = 1 WHERE id = 1");
    const copy = await here.with(({ plans }) => plans.path(PLAN, "db"));
    const holder = spawn("sqlite3", [copy], { stdio: ["pipe", "pipe", "inherit"] });
    holder.stdin.write("INSERT INTO accounts VALUES (9000, 1, 'late');\nSELECT 'ready';\n");
    await once(holder.stdout, "data");
    await assert.rejects(
      here.with(({ plans }) => plans.apply(PLAN)),
      new RegExp(`in use by sqlite3 \\(pid ${holder.pid}\\)`),
    );
    holder.stdin.end();
    await once(holder, "exit");
    await here.with(({ plans }) => plans.apply(PLAN));
    assert.deepEqual(here.rows("SELECT n FROM accounts WHERE id IN (1, 9000)"), [[1], [1]]);
  });

  it("a copy that was replaced by another database lands as what it is", async () => {
    using here = filled("wal");
    await here.plan("");
    const other = join(here.root, "other.db");
    here.sql("CREATE TABLE other(a); INSERT INTO other VALUES (1)", other);
    await here.with(async ({ plans }) => {
      copyFileSync(other, await plans.path(PLAN, "db"));
      await plans.apply(PLAN);
    });
    assert.deepEqual(here.rows("SELECT name FROM sqlite_schema"), [["other"]]);
    await here.with(({ plans }) => plans.undo(PLAN));
    assert.deepEqual(here.rows("SELECT sum(n) FROM accounts"), [[200_000]]);
    assert.ok(!existsSync(`${here.database}-journal`));
  });
});
