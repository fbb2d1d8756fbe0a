import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openServices } from "../../src/runtime.ts";
import type { Services, ServicesOptions } from "../../src/services.ts";
import { OWNER, TestMariadb, TestPostgres, type TestServer } from "../support/database-servers.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { removeFolder } from "../support/remove-folder.ts";

export type ServerKind = "postgres" | "mariadb";

/** A server that is up, with users and a database. */
export async function startServer(kind: ServerKind, settings: readonly string[] = []): Promise<TestServer> {
  const server = kind === "postgres" ? new TestPostgres(settings) : new TestMariadb();
  try {
    await server.startFilled();
  } catch (thrown) {
    server.remove();
    throw thrown;
  }
  return server;
}

const WRITES = /^failpoint store[.]write$/;

let tables = 0;

/**
 * A plan over a table of its own, with its own state directory; ended with all that belongs to it (`await
 * using`).
 */
export class HeldScene implements AsyncDisposable {
  readonly folder = mkdtempSync(join(fastFolder(), "drydock-held-"));
  readonly stateDir: string;
  readonly server: TestServer;
  readonly table: string;

  private constructor(server: TestServer, stateDir?: string) {
    this.server = server;
    tables += 1;
    this.table = `t${process.pid}_${tables}`;
    this.stateDir = stateDir ?? join(this.folder, "state");
  }

  /** `ROWS` of two columns, (1, 'one') and (2, 'two'). */
  static async make(server: TestServer, more: { readonly deep?: boolean } = {}): Promise<HeldScene> {
    const scene = new HeldScene(server);
    const { table } = scene;
    await server.sql(`CREATE TABLE ${table} (id INT PRIMARY KEY, v VARCHAR(100))`);
    await server.sql(`INSERT INTO ${table} VALUES (1, 'one'), (2, 'two')`);
    if (more.deep !== true) return scene;
    return Object.assign(scene, { stateDir: join(scene.folder, "d".repeat(120), "state") });
  }

  /** Opens the state, which recovers, and closes it again. */
  async with<T>(
    action: (drydock: Services) => Promise<T>,
    options: Partial<ServicesOptions> = {},
  ): Promise<T> {
    const drydock = await openServices({ stateDir: this.stateDir, cwd: "/", environment: {}, ...options });
    try {
      return await action(drydock);
    } finally {
      await drydock.close();
    }
  }

  /** Makes the plan `p` with the database as `db`. */
  async plan(more: readonly { readonly location: string; readonly name: string }[] = []) {
    return await this.with(({ plans }) =>
      plans.create({ name: "p", resources: [...more, { location: this.server.url(), name: "db" }] }),
    );
  }

  /**
   * An apply fails at its decision, when the database is prepared, and everything is taken back. A dry run
   * before it tells which write that is.
   */
  async failToApply(): Promise<void> {
    const trace = join(this.folder, "trace");
    const traced = { DRYDOCK_FAILPOINT_TRACE: trace };
    await this.with(({ plans }) => plans.apply("p", { dryRun: true }), { environment: traced });
    const passed = readFileSync(trace, "utf8").split("\n");
    const writes = passed
      .slice(0, passed.indexOf("failpoint held.check"))
      .filter((line) => WRITES.test(line));
    const environment = { ...traced, DRYDOCK_FAILPOINT: `store.write:${writes.length + 1}=error` };
    const applied = this.with(({ plans }) => plans.apply("p"), { environment });
    await assert.rejects(applied, { code: "ATOMIC_COMMIT" });
    assert.match(readFileSync(trace, "utf8"), /held[.]prepare[\s\S]*held[.]take-back[\s\S]*held[.]replay/);
  }

  /** Runs statements in the plan; T stands for the table. */
  async run(script: string) {
    return await this.with(({ plans }) => plans.sql("p", "db", script.replaceAll(/\bT\b/g, this.table)));
  }

  /** What the sandbox shows. */
  async inside(): Promise<string> {
    const [result] = await this.run("SELECT id, v FROM T ORDER BY id");
    return (result?.rows ?? []).map((row) => row.join("|")).join(" ");
  }

  /** What everybody else sees. */
  async original(): Promise<string> {
    return (await this.server.sql(`SELECT id, v FROM ${this.table} ORDER BY id`)).replaceAll("\n", " ");
  }

  async rival(script: string): Promise<void> {
    await this.server.sql(script.replaceAll(/\bT\b/g, this.table));
  }

  async status() {
    const [resource] = await this.with(async ({ plans }) =>
      (await plans.show("p")).resources.filter(({ name }) => name === "db"),
    );
    return { state: resource?.status, error: resource?.error, notes: resource?.notes ?? [] };
  }

  /** The process that holds the plan's transactions, if there is one. */
  holder(): number | undefined {
    const holders = join(this.stateDir, "keepers");
    const plans = existsSync(holders) ? readdirSync(holders) : [];
    const file = plans.map((plan) => join(holders, plan, "keeper.json")).find((path) => existsSync(path));
    if (file === undefined) return undefined;
    const { pid } = (JSON.parse(readFileSync(file, "utf8")) as { owner: { pid: number } }).owner;
    return isRunning(pid) ? pid : undefined;
  }

  killHolder(): void {
    const pid = this.holder();
    assert.ok(pid !== undefined, "there is a holder");
    process.kill(pid, "SIGKILL");
  }

  /** Every file of the state directory in which the password stands. */
  filesWithPassword(): string[] {
    return readdirSync(this.stateDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) =>
        [OWNER.password, encodeURIComponent(OWNER.password)].some((text) =>
          readFileSync(file).includes(text),
        ),
      )
      .map((file) => file.slice(this.stateDir.length + 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pid = this.holder();
    if (pid !== undefined) process.kill(pid, "SIGKILL");
    removeFolder(this.folder);
  }
}

/** What is left of held transactions in a state directory. */
export function leftIn(stateDir: string): string[] {
  return ["keepers", "secrets"].flatMap((folder) =>
    existsSync(join(stateDir, folder))
      ? readdirSync(join(stateDir, folder)).map((name) => `${folder}/${name}`)
      : [],
  );
}

/** Whether a process runs; a zombie does not. */
export function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

/** Waits until something is true, which it must become within some seconds. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (await condition()) return;
    await sleep(25);
  }
  assert.fail(`it never happened: ${what}`);
}

/**
 * Waits until a transaction waits for a lock of another one, on MariaDB. The server shows what it showed
 * before, as long as it is asked more often than ten times a second.
 */
export async function untilLocked(server: TestServer, what: string): Promise<void> {
  const waiting = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'";
  await until(async () => {
    await sleep(150);
    return (await server.sql(waiting)) === "1";
  }, what);
}
