import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { assertRefused, Workplace } from "../end-to-end/workplace.ts";

/** Migrations as tools do them: those that were not run yet, each in a transaction, noted in the database. */
const MIGRATE = `import { DatabaseSync } from "node:sqlite"; import { readdirSync, readFileSync } from "node:fs";
const db = new DatabaseSync(process.argv[2]);
db.exec("CREATE TABLE IF NOT EXISTS migrations(name TEXT PRIMARY KEY, at TEXT)");
for (const name of readdirSync(process.argv[3]).sort()) {
  if (db.prepare("SELECT 1 FROM migrations WHERE name = ?").get(name)) continue;
  db.exec("BEGIN");
  db.exec(readFileSync(process.argv[3] + "/" + name, "utf8"));
  db.prepare("INSERT INTO migrations VALUES (?, datetime())").run(name);
  db.exec("COMMIT");
  console.log("migrated", name);
}`;

const MIGRATIONS = {
  "001-users.sql":
    "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL); INSERT INTO users(name) SELECT name FROM people;",
  "002-email.sql":
    "ALTER TABLE users ADD COLUMN email TEXT; UPDATE users SET email = lower(name) || '@example.com'; DROP TABLE people;",
  "003-index.sql": "CREATE UNIQUE INDEX users_email ON users(email); PRAGMA user_version = 3;",
};

function project(): { place: Workplace; database: string; code: string } & Disposable {
  const place = new Workplace();
  const database = join(place.path, "data", "app.db");
  mkdirSync(dirname(database));
  const db = new DatabaseSync(database);
  db.exec("PRAGMA journal_mode = wal; CREATE TABLE people(name); INSERT INTO people VALUES ('Ann'), ('Bob')");
  db.close();
  const code = place.folder("code", { "app.txt": "version 1\n", "migrate.mjs": MIGRATE });
  mkdirSync(join(code, "migrations"));
  for (const [name, sql] of Object.entries(MIGRATIONS)) writeFileSync(join(code, "migrations", name), sql);
  return { place, database, code, [Symbol.dispose]: () => place[Symbol.dispose]() };
}

function rows(database: string, query: string): unknown[][] {
  const db = new DatabaseSync(database);
  try {
    return db
      .prepare(query)
      .all()
      .map((row) => Object.values(row));
  } finally {
    db.close();
  }
}

describe("commands and a sandboxed database", () => {
  const command = (code: string, database: string) =>
    `echo 'version 2' > ${code}/app.txt && ${process.execPath} ${code}/migrate.mjs ${database} ${code}/migrations`;

  it("[T2] migrations and a change of code land together", () => {
    using here = project();
    const { place, database, code } = here;
    const ended = place.drydock([
      "run",
      "-r",
      code,
      "-r",
      database,
      "--apply",
      "--",
      "sh",
      "-c",
      command(code, database),
    ]);
    assert.equal(ended.status, 0, ended.stderr);
    assert.deepEqual(rows(database, "SELECT name, email FROM users"), [
      ["Ann", "ann@example.com"],
      ["Bob", "bob@example.com"],
    ]);
    assert.deepEqual(
      rows(database, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"),
      [["migrations"], ["users"]],
    );
    assert.deepEqual(rows(database, "PRAGMA user_version"), [[3]]);
    assert.equal(readFileSync(join(code, "app.txt"), "utf8"), "version 2\n");
    assert.deepEqual(readdirSync(dirname(database)), ["app.db"]);
  });

  it("[T2][A1] a migration that fails changes nothing anywhere", () => {
    using here = project();
    const { place, database, code } = here;
    writeFileSync(
      join(code, "migrations", "004-broken.sql"),
      "INSERT INTO users(id, name) VALUES (1, 'again')",
    );
    const ended = place.drydock([
      "run",
      "-r",
      code,
      "-r",
      database,
      "--apply",
      "--",
      "sh",
      "-c",
      command(code, database),
    ]);
    assert.notEqual(ended.status, 0);
    assert.match(ended.stderr, /UNIQUE constraint failed/);
    assert.deepEqual(rows(database, "SELECT name FROM sqlite_schema"), [["people"]]);
    assert.equal(readFileSync(join(code, "app.txt"), "utf8"), "version 1\n");
  });

  it("a command sees its own database at the original's path, whatever others do to that", () => {
    using here = project();
    const { place, database } = here;
    const other = new DatabaseSync(database);
    try {
      place.done("plan", "create", "--name", "p", "-r", database);
      other.exec("INSERT INTO people VALUES ('late')");
      const inside = `sqlite3 ${database} "INSERT INTO people VALUES ('inside'); SELECT name FROM people" && ls ${dirname(database)}`;
      assert.deepEqual(place.done("plan", "exec", "p", "--", "sh", "-c", inside).trim().split("\n"), [
        "Ann",
        "Bob",
        "inside",
        "app.db",
      ]);
      assert.deepEqual(other.prepare("SELECT count(*) AS n FROM people").get()?.["n"], 3);
      place.done("plan", "cancel", "p");
    } finally {
      other.close();
    }
  });

  it("a database that a command removes and makes anew lands as what it made", () => {
    using here = project();
    const { place, database } = here;
    const script = `rm -f ${database}* && sqlite3 ${database} "CREATE TABLE fresh(a); INSERT INTO fresh VALUES (1)" && echo x > ${dirname(database)}/stray`;
    const ended = place.drydock(["run", "-r", database, "--apply", "--", "sh", "-c", script]);
    assert.equal(ended.status, 0, ended.stderr);
    assert.deepEqual(rows(database, "SELECT name FROM sqlite_schema"), [["fresh"]]);
    assert.ok(!existsSync(join(dirname(database), "stray")), "something that is not part of the plan landed");
  });

  it("[A3] a crash while a command is put inside is no more than that", () => {
    using here = project();
    const { place, database } = here;
    place.done("plan", "create", "--name", "p", "-r", database);
    const command = ["plan", "exec", "p", "--", "sqlite3", database, "INSERT INTO people VALUES ('inside')"];
    for (const point of ["sqlite.view-hide:2", "sqlite.view-work:1"])
      assert.notEqual(place.drydock(command, { env: { DRYDOCK_FAILPOINT: `${point}=kill` } }).status, 0);
    place.done(...command);
    assert.deepEqual(place.answer("plan", "diff", "p").changes.length, 1);
    place.done("plan", "cancel", "p");
  });

  it("[X4] a database beside the state directory can't be shown to a command, which is said, and worked on by statements", () => {
    using here = project();
    const { place, database } = here;
    const stateDir = join(dirname(database), "state");
    const inState = (...args: readonly string[]) =>
      place.drydock(args, { env: { DRYDOCK_STATE_DIR: stateDir } });
    const why =
      /No command can be run on .*app\.db: its folder .*data contains Drydock's state directory .*data\/state\./;
    assertRefused(inState("run", "-r", database, "--", "true"), 1, why, /--state-dir.*plan sql/);
    assert.deepEqual(JSON.parse(inState("plan", "list", "--json").stdout).plans, []);
    assert.equal(inState("plan", "create", "--name", "p", "-r", database).status, 0);
    assertRefused(inState("plan", "exec", "p", "--", "true"), 1, why, /--state-dir.*plan sql/);
    assert.equal(
      inState("plan", "sql", "p", "app.db", "-c", "DELETE FROM people WHERE name = 'Ann'").status,
      0,
    );
    assert.equal(inState("plan", "apply", "p").status, 0);
    assert.deepEqual(rows(database, "SELECT name FROM people"), [["Bob"]]);
  });

  it("several databases of one folder are all there", () => {
    using here = project();
    const { place, database } = here;
    const second = join(dirname(database), "second.db");
    const db = new DatabaseSync(second);
    db.exec("CREATE TABLE t(a)");
    db.close();
    place.done("plan", "create", "--name", "p", "-r", database, "-r", second);
    const script = `sqlite3 ${database} "INSERT INTO people VALUES ('new')" && sqlite3 ${second} "INSERT INTO t VALUES (1)"`;
    place.done("plan", "exec", "p", "--", "sh", "-c", script);
    const { changes } = place.answer("plan", "diff", "p");
    assert.deepEqual(
      changes.map(({ path }: { path: string }) => path),
      ["people/3", "t/1"],
    );
    place.done("plan", "apply", "p");
    assert.deepEqual(
      [rows(database, "SELECT count(*) FROM people"), rows(second, "SELECT a FROM t")],
      [[[3]], [[1]]],
    );
    place.done("plan", "undo", "p");
    assert.deepEqual(
      [rows(database, "SELECT count(*) FROM people"), rows(second, "SELECT a FROM t")],
      [[[2]], []],
    );
  });

  it("[A14] while a command runs inside, nobody else gets at the database, and is told by whom it is used", async () => {
    using here = project();
    const { place, database } = here;
    place.done("plan", "create", "--name", "p", "-r", database);
    const running = place.start([
      "plan",
      "exec",
      "p",
      "--",
      "sh",
      "-c",
      `sqlite3 ${database} "INSERT INTO people VALUES ('x')"; touch ${dirname(database)}/ready; sleep 5`,
    ]);
    await running.until(() => place.drydock(["plan", "diff", "p"]).status !== 0);
    const ended = place.drydock(["plan", "sql", "p", "-c", "SELECT 1", "app.db"]);
    assert.equal(ended.status, 1);
    assert.match(ended.stderr, /is in use by/);
    await running.ended();
    place.done("plan", "cancel", "p");
  });
});
