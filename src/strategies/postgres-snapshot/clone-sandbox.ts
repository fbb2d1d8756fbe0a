import { SandboxStateError } from "../../core/errors/errors.ts";
import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { StrategyContext } from "../../core/strategy.ts";
import {
  assertUnused,
  BASE,
  copyDatabase,
  limitConnections,
  surroundings,
} from "../../database/postgres/clone/clone-databases.ts";
import { fillClone, settingsOf } from "../../database/postgres/clone/clone-fill.ts";
import { endClone } from "../../database/postgres/clone/clone-processes.ts";
import { CloneServer } from "../../database/postgres/clone/clone-server.ts";
import type { ClonedDatabase } from "../../database/postgres/clone/clone-work.ts";
import { beginRecord } from "../../database/postgres/clone/definition-record.ts";
import { postgresPrograms } from "../../database/postgres/clone/postgres-programs.ts";
import { PostgresConnection } from "../../database/postgres/postgres-connection.ts";
import type { ServerLogin } from "../../database/server/server-database.ts";
import { parseServerUrl } from "../../database/server/server-url.ts";
import { dropCheckpoints } from "../../engine/checkpoint/tree-checkpoints.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import { currentBootId } from "../../system/process/process-identity.ts";

/**
 * # A sandbox of a PostgreSQL database, in its workspace
 *
 * - `server/`: the server of the clone (database/postgres/clone/clone-server.ts), with the databases of
 *   clone-databases.ts. Its socket is in a folder of the state directory with a short name.
 * - `made`: written last, when base and clone exist. Without it there is only the rest of a failed creation.
 * - `stale`: written when the work has landed. Everything is made anew before the next use.
 * - `kept-out`: while it is there, clients may not be let in: what was compared is what the clone holds.
 * - `landings/`: see clone-landings.ts.
 */
const POINTS = {
  folder: failpoint("clone.make-folder"),
  base: failpoint("clone.base"),
  made: failpoint("clone.made"),
  stale: failpoint("clone.mark-stale"),
  fresh: failpoint("clone.mark-fresh"),
  keepOut: failpoint("clone.keep-out"),
  remove: failpoint("clone.remove-server"),
  sockets: failpoint("clone.remove-sockets"),
};
const SERVER = "server";
const MADE = "made";
const STALE = "stale";
const KEPT_OUT = "kept-out";
/** How long to wait for a connection to the original, and for locks of other sessions. */
const PATIENCE_MS = 10_000;

interface Made {
  readonly bootId: string;
  /** The number of the transaction after which rows are new. */
  readonly since: string;
  /** The digest of everything around the database that does not land. */
  readonly surroundings: string;
  /** How many connections the database takes. */
  readonly limit: number;
}

/** What a reference says of its clone. */
export interface CloneReference {
  readonly location: string;
  readonly sockets: string;
  readonly major: number;
}

export function cloneReference({ metadata }: SandboxRef): CloneReference {
  return {
    location: String(metadata["location"]),
    sockets: String(metadata["sockets"]),
    major: Number(metadata["major"]),
  };
}

export class CloneSandbox {
  readonly workspace: Folder;
  readonly ref: SandboxRef;
  readonly location: string;
  readonly user: string;
  /** The name of the database, in the clone as in the original. */
  readonly database: string;
  readonly #context: StrategyContext;

  constructor(context: StrategyContext, workspace: Folder, ref: SandboxRef) {
    this.workspace = workspace;
    this.ref = ref;
    this.location = cloneReference(ref).location;
    const { user, database } = parseServerUrl(this.location);
    this.user = user;
    this.database = database;
    this.#context = context;
  }

  get isFinished(): boolean {
    return this.#made() !== undefined;
  }

  get isStale(): boolean {
    return this.workspace.facts(STALE) !== undefined;
  }

  get isFromEarlierBoot(): boolean {
    return this.#made()?.bootId !== currentBootId();
  }

  /** How to log in to the original. */
  get login(): ServerLogin {
    const { planId, resourceId } = this.ref;
    const secret = this.#context.secretsOf?.(planId)[resourceId];
    return { location: this.location, secret, patienceMs: PATIENCE_MS };
  }

  /**
   * Makes the clone from the original as it is now. Removes earlier work, or the rest of an earlier try,
   * first.
   */
  async make(): Promise<void> {
    await this.removeServer();
    dropCheckpoints(this.workspace);
    this.workspace.ensureFolder(POINTS.folder, SERVER).close();
    this.#makeSockets();
    const original = await PostgresConnection.open(this.login);
    try {
      const server = await this.#server();
      this.#report("starting its server");
      await server.init(await settingsOf(original));
      await server.start();
      this.#report("copying");
      await fillClone(server, original, this.login, this.#context.signal);
      await this.#finish(server);
    } finally {
      await original.close();
    }
    this.markFresh();
  }

  async #finish(server: CloneServer): Promise<void> {
    const since = await this.onDatabase(server, this.database, async (admin) => {
      await beginRecord(admin);
      return String((await admin.run("SELECT txid_current() % 4294967296")).rows[0]?.[0]);
    });
    passFailpoint(POINTS.base);
    const made = await this.onDatabase(server, "postgres", async (admin) => {
      await copyDatabase(admin, this.database, BASE);
      const { rows } = await admin.run("SELECT datconnlimit FROM pg_catalog.pg_database WHERE datname = $1", [
        this.database,
      ]);
      return {
        bootId: currentBootId(),
        since,
        surroundings: await surroundings(admin, this.database),
        limit: Number(rows[0]?.[0] ?? -1),
      } satisfies Made;
    });
    writeWhole(POINTS.made, this.workspace, MADE, Buffer.from(JSON.stringify(made)));
  }

  /** The server of the clone, which runs. */
  async server(): Promise<CloneServer> {
    const server = await this.#server();
    await server.start();
    return server;
  }

  /** Calls `action` with a connection of ours to a database of the clone. */
  async onDatabase<T>(
    server: CloneServer,
    database: string,
    action: (admin: PostgresConnection) => Promise<T>,
  ): Promise<T> {
    const connection = await server.connect(database);
    try {
      return await action(connection);
    } finally {
      await connection.close();
    }
  }

  /** The clone as something to compare: the database of the plan, or a saved one. */
  cloned(server: CloneServer, work = this.database): ClonedDatabase {
    const { database, user } = this;
    return { server, database, work, user, since: this.#known().since, signal: this.#context.signal };
  }

  /** Whether everything around the database is as it was, which does not land. */
  async isSurroundedAsBefore(server: CloneServer): Promise<boolean> {
    const now = await this.onDatabase(server, "postgres", (admin) => surroundings(admin, this.database));
    return now === this.#known().surroundings;
  }

  /** The server of the clone, open for clients. */
  async serverForClients(): Promise<CloneServer> {
    const server = await this.server();
    if (this.workspace.facts(KEPT_OUT) === undefined) return server;
    const { limit } = this.#known();
    await this.onDatabase(server, "postgres", (admin) => limitConnections(admin, this.database, limit));
    this.workspace.removeFile(POINTS.keepOut, KEPT_OUT);
    return server;
  }

  /** Lets no client in, until one asks for the server again. Fails while one is there. */
  async keepOut(server: CloneServer): Promise<void> {
    writeWhole(POINTS.keepOut, this.workspace, KEPT_OUT, Buffer.alloc(0));
    await this.onDatabase(server, "postgres", async (admin) => {
      await limitConnections(admin, this.database, 0);
      await assertUnused(admin, this.database);
    });
  }

  markStale(): void {
    if (!this.isStale) writeWhole(POINTS.stale, this.workspace, STALE, Buffer.alloc(0));
  }

  markFresh(): void {
    if (this.isStale) this.workspace.removeFile(POINTS.fresh, STALE);
  }

  /** Ends the server and removes what it has. */
  async removeServer(): Promise<void> {
    await endClone(dataOf(this.workspace.path));
    if (this.workspace.facts(MADE) !== undefined) this.workspace.removeFile(POINTS.remove, MADE);
    removeTree(POINTS.remove, this.workspace, SERVER);
  }

  [Symbol.dispose](): void {
    this.workspace.close();
  }

  async #server(): Promise<CloneServer> {
    const { sockets, major } = cloneReference(this.ref);
    const place = { folder: `${this.workspace.path}/${SERVER}`, sockets };
    return new CloneServer(place, await postgresPrograms(major), this.#context.signal);
  }

  #makeSockets(): void {
    const { sockets } = cloneReference(this.ref);
    using state = Folder.open(this.#context.stateDir);
    using all = state.ensureFolder(POINTS.folder, baseName(parentPath(sockets)));
    all.ensureFolder(POINTS.folder, baseName(sockets)).close();
  }

  #report(task: string): void {
    this.#context.progress({ task, done: 0 });
  }

  #made(): Made | undefined {
    const file = readWhole(this.workspace, MADE);
    return file === undefined ? undefined : parsed<Made>(file);
  }

  #known(): Made {
    const made = this.#made();
    if (made !== undefined) return made;
    throw new SandboxStateError(`The clone of ${this.location} is not complete.`, {
      from: "ACTIVE",
      to: "ACTIVE",
      hint: "Cancel the plan and make a new one.",
    });
  }
}

/** The data directory of the server in a workspace. */
export function dataOf(workspace: string): string {
  return `${workspace}/${SERVER}/data`;
}

/** Removes the folder of a clone's socket, with the last of them the folder of all. */
export function removeSockets(stateDir: string, { sockets }: CloneReference): void {
  using state = Folder.open(stateDir);
  const name = baseName(parentPath(sockets));
  using all = state.openBelowIfThere(name);
  if (all === undefined) return;
  removeTree(POINTS.sockets, all, baseName(sockets));
  unlessFailed(["ENOTEMPTY", "EEXIST", "ENOENT"], () => state.removeFolder(POINTS.sockets, name));
}
