import { mkdtempSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import type { TestServer } from "../support/database-servers.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { removeFolder } from "../support/remove-folder.ts";

let databases = 0;

/**
 * A plan over a clone of a database of its own, as `db`, with its own state directory; ended with all
 * that belongs to it (`await using`).
 */
export abstract class AnyCloneScene<Client> implements AsyncDisposable {
  readonly folder = mkdtempSync(join(fastFolder(), "drydock-clone-"));
  readonly server: TestServer;
  readonly database: string;
  /** The name of the plan. */
  plan = "p";

  protected constructor(server: TestServer) {
    this.server = server;
    databases += 1;
    this.database = `d${process.pid}_${databases}`;
  }

  protected abstract connect(url: string): Promise<Client>;
  protected abstract end(client: Client): Promise<void>;
  /** Runs a script; the rows of its last statement, each as one text. */
  abstract query(client: Client, script: string): Promise<string[]>;

  get stateDir(): string {
    return join(this.folder, "state");
  }

  get url(): string {
    return this.server.url(this.database);
  }

  /** Opens the state, which recovers, and closes it again. */
  async with<T>(action: (drydock: Services) => Promise<T>): Promise<T> {
    const drydock = await openServices({ stateDir: this.stateDir, cwd: "/", environment: {} });
    try {
      return await action(drydock);
    } finally {
      await drydock.close();
    }
  }

  async makePlan(more: readonly { readonly location: string; readonly name: string }[] = []) {
    const db = { location: this.url, name: "db", strategy: "snapshot" };
    return await this.with(({ plans }) => plans.create({ name: this.plan, resources: [...more, db] }));
  }

  /** Lets clients of the clone work, on connections of their own. */
  async inside<T>(action: (...clients: Client[]) => Promise<T>, count = 1): Promise<T> {
    const url = String(await this.with(({ plans }) => plans.path(this.plan, "db")));
    const clients: Client[] = [];
    try {
      while (clients.length < count) clients.push(await this.connect(url));
      return await action(...clients);
    } finally {
      for (const client of clients) await this.end(client);
    }
  }

  async run(script: string): Promise<void> {
    await this.inside(async (client) => void (await this.query(client, script)));
  }

  /** A query as text, in the clone. */
  async shown(query: string): Promise<string> {
    return (await this.inside(async (client) => await this.query(client, query))).join("\n");
  }

  /** The same in the original, as the administrator. */
  async original(query: string): Promise<string> {
    return await this.server.sql(query, this.database);
  }

  async changes() {
    return await this.with(async ({ plans }) => (await plans.diff(this.plan)).changes);
  }

  async paths(): Promise<string[]> {
    return (await this.changes()).map(({ operation, path }) => `${operation} ${path}`);
  }

  async apply() {
    return await this.with(({ plans }) => plans.apply(this.plan));
  }

  async undo() {
    return await this.with(({ plans }) => plans.undo(this.plan));
  }

  /** The processes of servers of clones in the state directory. */
  serverProcesses(): number[] {
    return serverProcesses(this.stateDir);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of this.serverProcesses()) kill(pid);
    removeFolder(this.folder);
  }
}

/** The same with PostgreSQL. */
export class CloneScene extends AnyCloneScene<pg.Client> {
  /** Makes the database, filled by this script as the owner. */
  static async make(server: TestServer, script: string): Promise<CloneScene> {
    const scene = new CloneScene(server);
    await server.sql(`CREATE DATABASE ${scene.database} OWNER owner`, "postgres");
    await server.sql(`SET ROLE owner; ${script}`, scene.database);
    return scene;
  }

  protected async connect(url: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url });
    // A restore or the end of the plan ends it.
    client.on("error", () => undefined);
    await client.connect();
    return client;
  }

  protected async end(client: pg.Client): Promise<void> {
    await client.end();
  }

  async query(client: pg.Client, text: string): Promise<string[]> {
    const results = [await client.query({ text, rowMode: "array" })].flat();
    return (results.at(-1)?.rows ?? []).map((row) => row.join("|"));
  }
}

/** The processes that work below a folder. */
function serverProcesses(folder: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => cwdOf(pid).startsWith(`${folder}/`))
    .map(Number);
}

function cwdOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    // It has ended.
    return "";
  }
}

export function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
