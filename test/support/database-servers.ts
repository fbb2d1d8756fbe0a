import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import mysql from "mysql2/promise";
import pg from "pg";
import { fastFolder } from "./fast-folder.ts";
import { fromTemplate } from "./folder-template.ts";
import { removeFolder } from "./remove-folder.ts";

/** Names and passwords of users that every server of the tests has. */
export const OWNER = { user: "owner", password: "s3cret/&word" } as const;
export const READER = { user: "reader", password: "only-l00king" } as const;

/**
 * A real server of a test's own: a private folder, a private socket, no port. Stopped also when the test
 * process dies. Its folder is in memory: a server that is killed loses nothing there that it had written, as
 * on a disk, and its flushes take no time.
 */
export abstract class TestServer {
  readonly folder: string;
  #process: ChildProcess | undefined;

  protected constructor(name: string, place: string) {
    this.folder = mkdtempSync(join(place, `drydock-${name}-`));
    chmodSync(this.folder, 0o711);
    mkdirSync(join(this.folder, "own"));
    own(join(this.folder, "own"));
    process.once("exit", () => this.kill());
  }

  /** Makes an empty data folder. */
  protected abstract makeData(): void;
  /** The signal by which the server ends in order. */
  protected abstract readonly stopSignal: NodeJS.Signals;

  get data(): string {
    return join(this.folder, "own", "data");
  }

  /** Brings the server up, with users and a database. */
  async startFilled(): Promise<void> {
    await fromTemplate(this.constructor.name, this.data, async () => {
      this.makeData();
      await this.start();
      await this.fill();
      await this.#stop();
    });
    await this.start();
  }

  async #stop(): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    const ended = once(child, "exit");
    this.#process = undefined;
    child.kill(this.stopSignal);
    await ended;
  }

  protected abstract command(): readonly [file: string, ...args: readonly string[]];
  protected abstract isUp(): boolean | Promise<boolean>;
  abstract url(database?: string, login?: { readonly user: string; readonly password: string }): string;
  /** Runs a statement as the administrator; the rows as text. */
  abstract sql(script: string, database?: string): Promise<string>;
  /** Makes users and a database, of which the first may do everything and the second only look. */
  protected abstract fill(): Promise<void>;
  /** The transactions that are prepared. */
  abstract prepared(): Promise<string[]>;

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** The server stands still with all its processes, as on a machine that hangs, and goes on. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    const { pid } = this;
    if (pid === undefined) throw new Error("The server does not run.");
    for (const one of [pid, ...childrenOf(pid)]) process.kill(one, signal);
  }

  /** What starts the server, if that is more than its own command. */
  protected launched(command: readonly string[]): readonly string[] {
    return command;
  }

  async start(): Promise<void> {
    const [file, ...args] = this.command();
    const log = join(this.folder, "own", "log");
    const child = spawn(
      "sh",
      ["-c", 'exec >>"$1" 2>&1; shift; exec "$@"', "sh", log, ...this.launched(asUser(file, args))],
      {
        stdio: "ignore",
        cwd: join(this.folder, "own"),
      },
    );
    this.#process = child;
    child.once("exit", (code, signal) => {
      if (this.#process === child)
        console.error(`A server ended by itself (${signal ?? code}): ${lastLines(log)}`);
    });
    for (let tries = 0; !(await this.isUp()); tries += 1) {
      if (child.exitCode !== null || tries > 1500)
        throw new Error(`The server does not start: ${lastLines(log)}`);
      await sleep(20);
    }
  }

  /** As a crash does it: SIGKILL to the server with all its processes. */
  async crash(): Promise<void> {
    const ended = this.#process === undefined ? undefined : once(this.#process, "exit");
    this.kill();
    await ended;
  }

  kill(): void {
    const child = this.#process;
    this.#process = undefined;
    if (child?.pid === undefined || child.exitCode !== null) return;
    const children = childrenOf(child.pid);
    for (const pid of [child.pid, ...children]) killOne(pid);
    while (existsSync(`/proc/${child.pid}/stat`) && !/^\d+ \(.*\) Z/s.test(readStat(child.pid))) pause();
    for (const pid of children)
      while (existsSync(`/proc/${pid}/stat`) && !/^\d+ \(.*\) Z/s.test(readStat(pid))) pause();
  }

  remove(): void {
    this.kill();
    removeFolder(this.folder);
  }
}

/** PostgreSQL, from where Debian puts it. */
export class TestPostgres extends TestServer {
  readonly #settings: readonly string[];

  constructor(settings: readonly string[] = [], place = fastFolder()) {
    super("postgres", place);
    this.#settings = settings;
  }

  protected override readonly stopSignal = "SIGINT";

  protected makeData(): void {
    run(postgresProgram("initdb"), [
      "-D",
      this.data,
      "-U",
      "admin",
      "--auth=trust",
      "--no-sync",
      "-E",
      "UTF8",
    ]);
    const hba = "local all admin trust\nlocal all all scram-sha-256\n";
    writeFileSync(join(this.data, "pg_hba.conf"), hba);
  }

  protected command() {
    // A server that is killed leaves its shared memory: in its own folder, that goes with it.
    const memory = ["shared_buffers=16MB", "dynamic_shared_memory_type=mmap"];
    const settings = ["listen_addresses=", "max_prepared_transactions=20", ...memory, ...this.#settings];
    const options = [...settings, `unix_socket_directories=${join(this.folder, "own")}`].flatMap((each) => [
      "-c",
      each,
    ]);
    return [postgresProgram("postgres"), "-D", this.data, ...options] as const;
  }

  protected isUp(): boolean {
    return (
      spawnSync(postgresProgram("pg_isready"), [
        "-q",
        "-h",
        join(this.folder, "own"),
        "-U",
        "admin",
        "-d",
        "postgres",
      ]).status === 0
    );
  }

  url(
    database = "app",
    { user, password }: { readonly user: string; readonly password: string } = OWNER,
  ): string {
    const login = `${user}:${encodeURIComponent(password)}`;
    return `postgres://${login}@/${database}?host=${encodeURIComponent(join(this.folder, "own"))}`;
  }

  async sql(script: string, database = "app"): Promise<string> {
    const client = new pg.Client({ host: join(this.folder, "own"), user: "admin", database });
    await client.connect();
    try {
      const results = [await client.query({ text: script, rowMode: "array" })].flat();
      return (results.at(-1)?.rows ?? []).map((row) => row.join("|")).join("\n");
    } finally {
      await client.end();
    }
  }

  protected async fill(): Promise<void> {
    for (const { user, password } of [OWNER, READER])
      await this.sql(`CREATE USER ${user} PASSWORD '${password}'`, "postgres");
    await this.sql(`CREATE DATABASE app OWNER ${OWNER.user}`, "postgres");
    await this.sql(`ALTER SCHEMA public OWNER TO ${OWNER.user}`);
    await this.sql(`ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO ${READER.user}`);
    await this.sql(`ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO ${OWNER.user}`);
  }

  async prepared(): Promise<string[]> {
    return (await this.sql("SELECT gid FROM pg_prepared_xacts", "postgres")).split("\n").filter(Boolean);
  }
}

/** MariaDB, from where Debian puts it. */
export class TestMariadb extends TestServer {
  constructor(place = fastFolder()) {
    super("mariadb", place);
  }

  protected override readonly stopSignal = "SIGTERM";

  protected makeData(): void {
    run("mkdir", [this.data]);
    const tables = ["mysql_system_tables.sql", "mysql_system_tables_data.sql"].map((name) =>
      readFileSync(`/usr/share/mysql/${name}`, "utf8"),
    );
    const script = ["CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n", ...tables].join("");
    run("mariadbd", [...this.#options(), "--bootstrap"], script);
  }

  protected command() {
    return ["mariadbd", ...this.#options()] as const;
  }

  protected async isUp(): Promise<boolean> {
    try {
      await this.sql("SELECT 1", "mysql");
      return true;
    } catch {
      return false;
    }
  }

  url(
    database = "app",
    { user, password }: { readonly user: string; readonly password: string } = OWNER,
  ): string {
    return `mysql://${user}:${encodeURIComponent(password)}@/${database}?socket=${encodeURIComponent(this.#socket)}`;
  }

  async sql(script: string, database = "app"): Promise<string> {
    const connection = await mysql.createConnection({
      socketPath: this.#socket,
      user: "root",
      database,
      rowsAsArray: true,
    });
    try {
      const [rows] = await connection.query(script);
      return Array.isArray(rows) ? rows.map((row) => (row as unknown[]).join("|")).join("\n") : "";
    } finally {
      await connection.end();
    }
  }

  protected async fill(): Promise<void> {
    await this.sql("CREATE DATABASE app", "mysql");
    for (const [{ user, password }, rights] of [
      [OWNER, "ALL PRIVILEGES"],
      [READER, "SELECT"],
    ] as const) {
      await this.sql(`CREATE USER '${user}'@'localhost' IDENTIFIED BY '${password}'`, "mysql");
      await this.sql(`GRANT ${rights} ON app.* TO '${user}'@'localhost'`, "mysql");
    }
  }

  async prepared(): Promise<string[]> {
    return (await this.sql("XA RECOVER", "mysql")).split("\n").filter(Boolean);
  }

  get #socket(): string {
    return join(this.folder, "own", "socket");
  }

  #options(): readonly string[] {
    const small = [
      "--innodb-log-file-size=4M",
      "--innodb-buffer-pool-size=16M",
      "--aria-pagecache-buffer-size=1M",
    ];
    return [
      "--no-defaults",
      `--datadir=${this.data}`,
      // A server that starts removes what other servers have in the folder for temporary tables.
      `--tmpdir=${this.data}`,
      `--socket=${this.#socket}`,
      "--skip-networking",
      `--pid-file=${this.data}.pid`,
      ...small,
      "--lc-messages-dir=/usr/share/mysql",
    ];
  }
}

/** Why there is no PostgreSQL or MariaDB to test with; undefined if there is. */
export function whyNoServer(kind: "postgres" | "mariadb"): string | undefined {
  if (process.getuid?.() === 0 && spawnSync("id", ["nobody"]).status !== 0)
    return "there is no user to run a server as";
  if (kind === "postgres")
    return postgresFolder() === undefined ? "PostgreSQL (Debian: postgresql) is missing" : undefined;
  const missing = spawnSync("mariadbd", ["--version"]).error !== undefined;
  return missing ? "MariaDB (Debian: mariadb-server-core) is missing" : undefined;
}

function postgresFolder(): string | undefined {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : [];
  return versions
    .map((version) => join(root, version, "bin"))
    .find((folder) => existsSync(join(folder, "initdb")));
}

/** The path of a program of PostgreSQL. */
export function postgresProgram(name: string): string {
  return join(postgresFolder() ?? "", name);
}

/** Servers refuse to run as root. */
export function asUser(file: string, args: readonly string[]): string[] {
  if (process.getuid?.() !== 0) return [file, ...args];
  return ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--", file, ...args];
}

function lastLines(log: string): string {
  return readFileSync(log, "utf8").slice(-2000);
}

function own(folder: string): void {
  if (process.getuid?.() === 0) spawnSync("chown", ["nobody:nogroup", folder]);
}

function run(file: string, args: readonly string[], input?: string): string {
  const [program = "", ...rest] = asUser(file, args);
  const { status, stdout, stderr, error } = spawnSync(program, rest, {
    encoding: "utf8",
    cwd: "/",
    ...(input !== undefined && { input }),
  });
  if (status !== 0)
    throw new Error(
      `${file} ${args.join(" ").slice(0, 300)} failed: ${error?.message ?? stderr.slice(-1000)}`,
    );
  return stdout;
}

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" });
  return stdout
    .split("\n")
    .map(Number)
    .filter((each) => each > 0);
}

function killOne(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

function readStat(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return `${pid} () Z`;
  }
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
}
