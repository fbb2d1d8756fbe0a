import { BusyError } from "../../core/errors/errors.ts";
import type { PlainRecord } from "../../core/resource/resource.ts";
import type { StatementResult } from "../../core/values/query.ts";
import { tableName, tableShapes } from "../../database/mysql/changes/table-shapes.ts";
import { fillClone, settingsOf } from "../../database/mysql/clone/clone-fill.ts";
import { cloneWork } from "../../database/mysql/clone/clone-work.ts";
import { definitionsOf } from "../../database/mysql/clone/definitions.ts";
import {
  accountOf,
  MARIADB_PROCESSES,
  MariadbCloneServer,
} from "../../database/mysql/clone/mariadb-clone-server.ts";
import type { MariadbPrograms } from "../../database/mysql/clone/mariadb-programs.ts";
import { MysqlConnection } from "../../database/mysql/mysql-connection.ts";
import { type CloneWork, reversed, type WayBack } from "../../database/server/clone/clone-changes.ts";
import { endServer } from "../../database/server/clone/clone-processes.ts";
import { CLONE_DATA, CLONE_PATIENCE_MS } from "../../database/server/clone/clone-server.ts";
import { tablePath } from "../../database/server/clone/row-paths.ts";
import type { ServerLogin } from "../../database/server/server-database.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import type { Clone, CloneParts } from "../database-snapshot/clone.ts";
import { runScript, type ScriptConnection } from "../database-snapshot/run-script.ts";
import { copyData, removeData } from "./data-folders.ts";

const POINTS = {
  base: failpoint("clone.base-data"),
  save: failpoint("clone.save-data"),
};
const BASE = "base";

function savedName(checkpointId: string): string {
  return `saved-${checkpointId.toLowerCase()}`;
}

/**
 * A clone of MariaDB. Base and checkpoints are copies of its data directory, which share blocks where the
 * file system can; to be compared, each has a server of its own.
 */
export class MariadbClone implements Clone {
  readonly #parts: CloneParts;
  readonly #programs: MariadbPrograms;
  readonly #server: MariadbCloneServer;

  constructor(parts: CloneParts, programs: MariadbPrograms) {
    this.#parts = parts;
    this.#programs = programs;
    this.#server = this.#serverOf(CLONE_DATA);
  }

  async start(): Promise<void> {
    await this.#server.start();
  }

  async make(login: ServerLogin, report: (task: string) => void): Promise<PlainRecord> {
    const { user, database, signal } = this.#parts;
    report("starting its server");
    const original = await MysqlConnection.open(login);
    try {
      await this.#server.init(await settingsOf(original));
    } finally {
      await original.close();
    }
    report("copying");
    await fillClone(this.#server, login, { user, database }, signal);
    await this.#end(CLONE_DATA);
    passFailpoint(POINTS.base);
    await this.#copy(CLONE_DATA, BASE);
    return {};
  }

  async keepOut(): Promise<void> {
    await this.#on(this.#server, async (admin) => {
      await admin.run(`ALTER USER ${accountOf(this.#parts.user)} ACCOUNT LOCK`);
      await this.#assertUnused(admin);
    });
  }

  async letIn(): Promise<void> {
    await this.#on(this.#server, (admin) =>
      admin.run(`ALTER USER ${accountOf(this.#parts.user)} ACCOUNT UNLOCK`),
    );
  }

  async work(checkpointId?: string): Promise<CloneWork> {
    const name = checkpointId === undefined ? CLONE_DATA : savedName(checkpointId);
    const server = this.#serverOf(name);
    try {
      return await this.#on(this.#serverOf(BASE), (base) =>
        this.#on(server, (work) => cloneWork(base, work)),
      );
    } finally {
      if (checkpointId !== undefined) await this.#end(name);
    }
  }

  async wayBack({ changes }: CloneWork): Promise<WayBack> {
    return reversed(changes);
  }

  async whyNotAround(): Promise<string | undefined> {
    const prepared = await this.#on(this.#server, (admin) => admin.texts("XA RECOVER"));
    return prepared.length === 0
      ? undefined
      : "a transaction is prepared in the clone (XA RECOVER shows it), and nobody knows whether it will be committed";
  }

  async save(checkpointId: string): Promise<number> {
    await this.#on(this.#server, (admin) => this.#assertUnused(admin));
    const name = savedName(checkpointId);
    await this.#end(CLONE_DATA);
    await this.#end(name);
    passFailpoint(POINTS.save);
    return await this.#copy(CLONE_DATA, name);
  }

  async bringBack(checkpointId: string): Promise<void> {
    const name = savedName(checkpointId);
    for (const each of [CLONE_DATA, name]) await this.#end(each);
    await this.#copy(name, CLONE_DATA);
    await this.letIn();
  }

  async discard(checkpointId: string): Promise<void> {
    await this.#end(savedName(checkpointId));
    removeData(this.#parts.place.folder, savedName(checkpointId));
  }

  async definitions(): Promise<readonly string[]> {
    const all = await this.#on(this.#server, definitionsOf);
    return all.flatMap(({ type, sql }) => (type === "DATABASE" ? [] : [`${sql};`]));
  }

  async table(path: string): Promise<StatementResult | undefined> {
    return await this.#on(this.#server, async (admin) => {
      const table = (await tableShapes(admin)).find((each) => tablePath(each) === path);
      return table === undefined ? undefined : await admin.run(`SELECT * FROM ${tableName(table)}`, "");
    });
  }

  async run(script: string, { readOnly }: { readonly readOnly: boolean }) {
    const { user, database, signal } = this.#parts;
    const location = this.#server.url(user, database);
    const login = { location, secret: this.#server.clientPassword, patienceMs: CLONE_PATIENCE_MS };
    const connection = await MysqlConnection.open(login);
    const { drop, close } = { drop: () => connection.drop(), close: () => connection.close() };
    const run: ScriptConnection["run"] = ({ sql }, which) => connection.run(sql, which);
    return await runScript({ dialect: "mysql", run, drop, close }, script, { readOnly, signal });
  }

  clientUrl(): string {
    return this.#server.clientUrl(this.#parts.user, this.#parts.database);
  }

  environment(): { readonly [name: string]: string } {
    return {
      MYSQL_UNIX_PORT: this.#server.socket,
      MYSQL_HOST: "localhost",
      MYSQL_USER: this.#parts.user,
      MYSQL_PWD: this.#server.clientPassword,
      MYSQL_DATABASE: this.#parts.database,
      DATABASE_URL: this.clientUrl(),
    };
  }

  #serverOf(data: string): MariadbCloneServer {
    return new MariadbCloneServer(this.#parts.place, this.#programs, this.#parts.signal, data);
  }

  async #end(data: string): Promise<void> {
    await endServer(`${this.#parts.place.folder}/${data}`, MARIADB_PROCESSES);
  }

  async #copy(from: string, to: string): Promise<number> {
    return await copyData(this.#parts.place.folder, from, to, this.#parts.signal);
  }

  /** Calls `action` with a connection of ours to the database on one of the servers. */
  async #on<T>(server: MariadbCloneServer, action: (admin: MysqlConnection) => Promise<T>): Promise<T> {
    await server.start();
    const connection = await server.connect(this.#parts.database);
    try {
      return await action(connection);
    } finally {
      await connection.close();
    }
  }

  async #assertUnused(admin: MysqlConnection): Promise<void> {
    const [client] = await admin.texts(
      `SELECT ID FROM information_schema.PROCESSLIST
       WHERE USER NOT IN (SUBSTRING_INDEX(USER(), '@', 1), 'system user') ORDER BY 1`,
    );
    if (client === undefined) return;
    const holder = `a client (connection ${client[0]} of the clone's server)`;
    throw new BusyError(`The clone of the database is in use by ${holder}.`, {
      holder,
      hint: "Wait for it to end its connection, or end it, and try again.",
    });
  }
}
