import type { PlainRecord } from "../../core/resource/resource.ts";
import type { StatementResult } from "../../core/values/query.ts";
import { tableName, tableShapes } from "../../database/postgres/changes/table-shapes.ts";
import { type ArchivedDefinition, definitionsOf } from "../../database/postgres/clone/archive-entries.ts";
import {
  assertUnused,
  BASE,
  copyDatabase,
  dropDatabase,
  limitConnections,
  replaceDatabase,
  savedName,
  surroundings,
} from "../../database/postgres/clone/clone-databases.ts";
import { fillClone, settingsOf } from "../../database/postgres/clone/clone-fill.ts";
import { type ClonedDatabase, cloneWork, inverseWork } from "../../database/postgres/clone/clone-work.ts";
import { beginRecord } from "../../database/postgres/clone/definition-record.ts";
import { CLONE_PORT, PostgresCloneServer } from "../../database/postgres/clone/postgres-clone-server.ts";
import type { PostgresPrograms } from "../../database/postgres/clone/postgres-programs.ts";
import { PostgresConnection } from "../../database/postgres/postgres-connection.ts";
import type { CloneWork } from "../../database/server/clone/clone-changes.ts";
import { CLONE_PATIENCE_MS } from "../../database/server/clone/clone-server.ts";
import { tablePath } from "../../database/server/clone/row-paths.ts";
import type { ServerLogin } from "../../database/server/server-database.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import type { Clone, CloneParts } from "../database-snapshot/clone.ts";
import { runScript, type ScriptConnection } from "../database-snapshot/run-script.ts";

const MAKE_BASE = failpoint("clone.base");

/** A clone of PostgreSQL. Base and checkpoints are databases of its server (clone-databases.ts). */
export class PostgresClone implements Clone {
  readonly #parts: CloneParts;
  readonly #server: PostgresCloneServer;

  constructor(parts: CloneParts, programs: PostgresPrograms) {
    this.#parts = parts;
    this.#server = new PostgresCloneServer(parts.place, programs, parts.signal);
  }

  async start(): Promise<void> {
    await this.#server.start();
  }

  /**
   * Remembers the number of the transaction after which rows are new (`since`), the digest of everything
   * around the database, and how many connections the database takes (`limit`).
   */
  async make(login: ServerLogin, report: (task: string) => void): Promise<PlainRecord> {
    const original = await PostgresConnection.open(login);
    try {
      report("starting its server");
      await this.#server.init(await settingsOf(original));
      await this.#server.start();
      report("copying");
      await fillClone(this.#server, original, login, this.#parts.signal);
    } finally {
      await original.close();
    }
    const { database } = this.#parts;
    const since = await this.#on(database, async (admin) => {
      await beginRecord(admin);
      return String((await admin.run("SELECT txid_current() % 4294967296")).rows[0]?.[0]);
    });
    passFailpoint(MAKE_BASE);
    return await this.#on("postgres", async (admin) => {
      await copyDatabase(admin, database, BASE);
      const { rows } = await admin.run("SELECT datconnlimit FROM pg_catalog.pg_database WHERE datname = $1", [
        database,
      ]);
      const limit = Number(rows[0]?.[0] ?? -1);
      return { since, surroundings: await surroundings(admin, database), limit };
    });
  }

  async keepOut(): Promise<void> {
    await this.#on("postgres", async (admin) => {
      await limitConnections(admin, this.#parts.database, 0);
      await assertUnused(admin, this.#parts.database);
    });
  }

  async letIn(): Promise<void> {
    const limit = Number(this.#parts.facts()["limit"]);
    await this.#on("postgres", (admin) => limitConnections(admin, this.#parts.database, limit));
  }

  async work(checkpointId?: string): Promise<CloneWork> {
    await this.#server.start();
    return await cloneWork(this.#cloned(checkpointId));
  }

  async wayBack(work: CloneWork<ArchivedDefinition>) {
    return await inverseWork(this.#cloned(), work);
  }

  async whyNotAround(): Promise<string | undefined> {
    const now = await this.#on("postgres", (admin) => surroundings(admin, this.#parts.database));
    return now === this.#parts.facts()["surroundings"]
      ? undefined
      : "a role, or the database as a whole, was changed, and only what is in the database lands";
  }

  async save(checkpointId: string): Promise<number> {
    const name = savedName(checkpointId);
    return await this.#on("postgres", async (admin) => {
      await assertUnused(admin, this.#parts.database);
      await copyDatabase(admin, this.#parts.database, name);
      return Number((await admin.run("SELECT pg_database_size($1::name)", [name])).rows[0]?.[0] ?? 0);
    });
  }

  async bringBack(checkpointId: string): Promise<void> {
    const from = savedName(checkpointId);
    await this.#on("postgres", (admin) => replaceDatabase(admin, from, this.#parts.database));
  }

  async discard(checkpointId: string): Promise<void> {
    await this.#on("postgres", (admin) => dropDatabase(admin, savedName(checkpointId)));
  }

  async definitions(): Promise<readonly string[]> {
    await this.#server.start();
    const all = await definitionsOf(this.#server, this.#parts.database, this.#parts.signal);
    return all.map(({ sql }) => sql);
  }

  async table(path: string): Promise<StatementResult | undefined> {
    return await this.#on(this.#parts.database, async (admin) => {
      const table = (await tableShapes(admin)).find((each) => tablePath(each) === path);
      return table === undefined ? undefined : await admin.run(`SELECT * FROM ONLY ${tableName(table)}`);
    });
  }

  async run(script: string, { readOnly }: { readonly readOnly: boolean }) {
    const { user, database, signal } = this.#parts;
    const location = this.#server.url(user, database);
    const login = { location, secret: this.#server.clientPassword, patienceMs: CLONE_PATIENCE_MS };
    const connection = await PostgresConnection.open(login);
    const { drop, close } = { drop: () => connection.drop(), close: () => connection.close() };
    const run: ScriptConnection["run"] = (statement, which) => connection.runStatement(statement, which);
    return await runScript({ dialect: "postgres", run, drop, close }, script, { readOnly, signal });
  }

  clientUrl(): string {
    return this.#server.clientUrl(this.#parts.user, this.#parts.database);
  }

  environment(): { readonly [name: string]: string } {
    return {
      PGHOST: this.#parts.place.sockets,
      PGPORT: String(CLONE_PORT),
      PGUSER: this.#parts.user,
      PGDATABASE: this.#parts.database,
      PGPASSWORD: this.#server.clientPassword,
      DATABASE_URL: this.clientUrl(),
    };
  }

  /** Calls `action` with a connection of ours to a database of the clone. */
  async #on<T>(database: string, action: (admin: PostgresConnection) => Promise<T>): Promise<T> {
    await this.#server.start();
    const connection = await this.#server.connect(database);
    try {
      return await action(connection);
    } finally {
      await connection.close();
    }
  }

  #cloned(checkpointId?: string): ClonedDatabase {
    const { database, user, signal } = this.#parts;
    const work = checkpointId === undefined ? database : savedName(checkpointId);
    return {
      server: this.#server,
      database,
      work,
      user,
      since: String(this.#parts.facts()["since"]),
      signal,
    };
  }
}
