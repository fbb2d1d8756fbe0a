import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { OWNER, TestPostgres, whyNoServer } from "../test/support/database-servers.ts";
import { answer, compare } from "./answer.ts";
import { buildProject } from "./build-project.ts";
import { newContent, oldContent, PER_FOLDER } from "./floor.ts";
import { alternate, flushPlace, type Side } from "./measure.ts";
import { imageOrFolder, withPrivateMounts } from "./places.ts";
import { makeTree } from "./trees.ts";

/**
 * What does a plan cost over a folder, a SQLite database and one of PostgreSQL, from its making to its
 * landing, against the same work in the originals themselves? That one is not isolated and not atomic, but
 * durable: what was written is on disk when it is done. Ours is the built program, because the process that
 * holds the transaction is started from it. And what does a statement cost a client that works in such a
 * plan, beside a direct connection that does not wait for the disk? The floor of that is a process in between
 * that only passes the bytes on.
 */
const FILES = 1_000;
const CHANGED_FILES = 20;
const CHANGED_ROWS = 1_000;
/** Of 250 bytes each: 100 MB. */
const SQLITE_ROWS = 400_000;
const POSTGRES_ROWS = 100_000;
const ROUNDS = 7;
/** Each looks up a row by its key, or changes one. */
const STATEMENTS = 500;
const PASS_ON = join(import.meta.dirname, "pass-on.cjs");

const missing = whyNoServer("postgres");
if (missing !== undefined) throw new Error(missing);
withPrivateMounts();
const place = imageOrFolder("ext4");
const { openDrydock } = (await import(
  join(buildProject(), "dist/index.js")
)) as typeof import("../src/index.ts");
const config = join(place.path, "drydock.yaml");
writeFileSync(config, "sandbox: { cleanup: manual }\n");
const folder = join(place.path, "original");
const files = makeTree(folder, FILES, PER_FOLDER, oldContent);
const changed = files.filter((_, index) => index % (FILES / CHANGED_FILES) === 0);
const database = join(place.path, "data", "app.db");
makeSqlite();
const server = new TestPostgres([], tmpdir());
let round = 0;

try {
  await makePostgres();
  const both = await alternate(ROUNDS, { planned: planned(), directly: directly() });
  const what = "a folder, 100 MB of SQLite, PostgreSQL: create, work, apply";
  const client = await clients();
  answer([
    compare(what, both.planned, "the work alone", both.directly, {
      atMost: 2,
      beyond:
        "a copy of each changed row and file, the comparison with the originals, the process that holds the transaction, and the flushes of an atomic commit",
    }),
    compare(`${STATEMENTS} statements of a client in a plan`, client.inside, "direct", client.direct, {
      atMost: 2.5,
      beyond:
        "each message goes through the process that holds the transaction (the row below is the floor of that), which reads and records it; the server makes a savepoint for each statement, and says of each SELECT whether it wrote",
    }),
    compare(
      "  the floor: by a process that passes bytes on",
      client.floor,
      "direct",
      client.direct,
      undefined,
    ),
  ]);
} finally {
  server.remove();
}

function makeSqlite(): void {
  mkdirSync(join(place.path, "data"));
  using db = new DatabaseSync(database);
  db.exec(`PRAGMA journal_mode = wal; CREATE TABLE items(id INTEGER PRIMARY KEY, text TEXT, number INTEGER);
    INSERT INTO items WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${SQLITE_ROWS})
    SELECT i, hex(randomblob(115)), 0 FROM n`);
}

async function makePostgres(): Promise<void> {
  await server.startFilled();
  await server.sql(
    `CREATE TABLE items AS SELECT i AS id, repeat(md5(i::text), 3) AS text, 0 AS number FROM generate_series(1, ${POSTGRES_ROWS}) AS i;
    ALTER TABLE items ADD PRIMARY KEY (id); ALTER TABLE items OWNER TO ${OWNER.user}`,
  );
}

/** One statement, for rows all over a table. */
function update(rows: number): string {
  const ids = Array.from({ length: CHANGED_ROWS }, (_, at) => (at + 1) * (rows / CHANGED_ROWS));
  return `UPDATE items SET number = ${round} WHERE id IN (${ids.join(", ")})`;
}

function changeFiles(root: string): void {
  changed.forEach((file, index) => {
    writeFileSync(join(root, file), newContent(index + round * CHANGED_FILES));
  });
}

function nextRound(): void {
  round += 1;
}

function planned(): Side {
  return {
    before: nextRound,
    run: async () => {
      await using drydock = await opened();
      const resources = [
        { location: folder, name: "files" },
        { location: database, name: "sqlite" },
        { location: server.url(), name: "postgres" },
      ];
      const plan = await drydock.plans.create({ resources });
      changeFiles(await plan.resource("files").path());
      await plan.resource("sqlite").sql(update(SQLITE_ROWS));
      await plan.resource("postgres").sql(update(POSTGRES_ROWS));
      await plan.apply();
    },
    after: async () => {
      await using drydock = await opened();
      await drydock.cleanup.purge({ force: true });
    },
  };
}

async function clients() {
  await using drydock = await opened();
  const plan = await drydock.plans.create({ resources: [{ location: server.url(), name: "postgres" }] });
  const inside = new pg.Client({ connectionString: await plan.resource("postgres").path() });
  const options = "-c synchronous_commit=off";
  const direct = new pg.Client({ connectionString: server.url(), options });
  const socket = join(place.path, ".s.PGSQL.5432");
  const between = spawn(process.execPath, [PASS_ON, socket, serverSocket()], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { user, password } = OWNER;
  const floor = new pg.Client({ host: place.path, user, password, database: "app", options });
  const all = [inside, direct, floor];
  try {
    await once(between.stdout, "data");
    for (const client of all) await client.connect();
    return await alternate(ROUNDS, {
      inside: statements(inside, 0),
      direct: statements(direct, 1),
      floor: statements(floor, 2),
    });
  } finally {
    for (const client of all) await client.end();
    between.kill();
    await plan.cancel();
  }
}

function serverSocket(): string {
  const folder = new URLSearchParams(server.url().slice(server.url().indexOf("?"))).get("host");
  return `${folder}/.s.PGSQL.5432`;
}

/** The rows of all sides differ, so that none waits for another's. */
function statements(client: pg.Client, side: 0 | 1 | 2): Side {
  return {
    run: async () => {
      for (let at = 0; at < STATEMENTS / 2; at += 1) {
        const id = 3 * at + side + 1;
        await client.query("SELECT * FROM items WHERE id = $1", [id]);
        await client.query("UPDATE items SET number = number + 1 WHERE id = $1", [id]);
      }
    },
  };
}

async function opened() {
  return await openDrydock({ stateDir: join(place.path, "state"), config });
}

function directly(): Side {
  return {
    before: nextRound,
    run: async () => {
      changeFiles(folder);
      flushPlace(folder);
      using db = new DatabaseSync(database);
      db.exec(`PRAGMA synchronous = FULL; ${update(SQLITE_ROWS)}`);
      const client = new pg.Client({ connectionString: server.url() });
      await client.connect();
      await client.query(update(POSTGRES_ROWS));
      await client.end();
    },
  };
}
