import { setTimeout as sleep } from "node:timers/promises";
import {
  InterruptedError,
  messageOf,
  SandboxStateError,
  UnsupportedError,
} from "../../../core/errors/errors.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { closeFile } from "../../../system/calls/handles.ts";
import { readTextFile } from "../../../system/data/text-files.ts";
import { writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint, passFailpoint } from "../../../system/failpoints.ts";
import { milliseconds } from "../../../system/milliseconds.ts";
import { runProcess } from "../../../system/process/run-process.ts";
import { startProcess } from "../../../system/process/start-process.ts";
import { randomBytes } from "../../../system/random-bytes.ts";
import type { ServerLogin } from "../../server/server-database.ts";
import { PostgresConnection } from "../postgres-connection.ts";
import { leaderOf, removeDeadLock } from "./clone-processes.ts";
import type { PostgresPrograms } from "./postgres-programs.ts";
import { withoutNetwork } from "./private-network.ts";

/**
 * # The server of a clone
 *
 * In its folder:
 *
 * - `admin`: the password of the only superuser, which no client of a plan has, its name, and the password of
 *   the plan's user: a line each.
 * - `data/`: the data directory, made by initdb.
 * - `log`: what the server says.
 *
 * The server listens on no network and has none; clients come by a socket in a folder of their own, which
 * only the user of Drydock, and commands that are shown it, can enter. Commands without namespaces could
 * enter it too, so the plan's user needs a password, and no other role can log in. No role but the superuser
 * may read files, run programs or make roles: the server is outside of the walls of a plan.
 *
 * Whoever needs the server starts it, if it does not run: after a crash, a restart of the machine, or its end
 * by anybody. Its processes are found by their current folder, which is the data directory.
 */
const POINTS = {
  admin: failpoint("clone.admin"),
  init: failpoint("clone.init"),
  configure: failpoint("clone.configure"),
  start: failpoint("clone.start"),
  log: failpoint("clone.log"),
};
const ADMIN = "admin";
const DATA = "data";
const LOG = "log";
const LARGEST = 64 << 20;
const INIT_MS = 5 * 60_000;
/** Longer than a server needs to recover from a crash of a large clone. */
const START_MS = 10 * 60_000;
const LOOK_AGAIN_MS = 20;
export const CLONE_PORT = 5432;
/** The longest name of a socket, without the zero at its end. */
const LONGEST = 107;
export const CLONE_PATIENCE_MS = 10_000;

/** Where a clone's server is, and where its clients find it. */
export interface ClonePlace {
  /** The folder of the server. */
  readonly folder: string;
  /** The folder of its socket. */
  readonly sockets: string;
}

export class CloneServer {
  readonly place: ClonePlace;
  readonly #programs: PostgresPrograms;
  readonly #signal: AbortSignal | undefined;

  constructor(place: ClonePlace, programs: PostgresPrograms, signal?: AbortSignal) {
    this.place = place;
    this.#programs = programs;
    this.#signal = signal;
  }

  get programs(): PostgresPrograms {
    return this.#programs;
  }

  /** Makes an empty server, with these settings. */
  async init(settings: ReadonlyMap<string, string>): Promise<void> {
    assertShort(this.place.sockets);
    using folder = Folder.open(this.place.folder);
    const user = `drydock_${randomBytes(6).toString("hex")}`;
    const password = randomBytes(24).toString("hex");
    writeWhole(
      POINTS.admin,
      folder,
      ADMIN,
      Buffer.from(`${password}\n${user}\n${randomBytes(24).toString("hex")}\n`),
    );
    passFailpoint(POINTS.init);
    const args = ["-D", this.#data, "-U", user, `--pwfile=${folder.label(ADMIN)}`, "--no-sync"];
    const { code, stderr, tookTooLong } = await runProcess(
      withoutNetwork({
        file: `${this.#programs.folder}/initdb`,
        args: [...args, "--encoding=UTF8", "--locale=C", "--auth=scram-sha-256"],
      }),
      { limitMs: INIT_MS, ...this.#bounds },
    );
    if (code !== 0) throw notStarted(tookTooLong ? "initdb takes too long" : stderr);
    using data = Folder.open(this.#data);
    const rules = ["local all all scram-sha-256", ""];
    writeWhole(POINTS.configure, data, "pg_hba.conf", Buffer.from(rules.join("\n")));
    const lines = [...settings].map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`);
    writeWhole(POINTS.configure, data, "postgresql.conf", Buffer.from(lines.join("")));
  }

  /** Starts the server unless it runs, and waits until it takes connections. */
  async start(): Promise<void> {
    if (await this.#answers()) return;
    const deadline = milliseconds() + START_MS;
    while (!(await this.#started(deadline))) if (milliseconds() > deadline) throw notStarted(this.#said());
  }

  /** How Drydock itself comes in. */
  admin(database: string): ServerLogin {
    const { user, password } = this.#admin();
    return { location: this.url(user, database), secret: password, patienceMs: CLONE_PATIENCE_MS };
  }

  /** The password of the plan's user. */
  get clientPassword(): string {
    return this.#admin().client;
  }

  /** The URL by which clients of the plan come in. */
  clientUrl(user: string, database: string): string {
    return this.url(user, database).replace("@", `:${this.clientPassword}@`);
  }

  /** The URL by which this user comes in, without a password. */
  url(user: string, database: string): string {
    const parameters = new URLSearchParams({ host: this.place.sockets, port: String(CLONE_PORT) });
    return `postgresql://${encodeURIComponent(user)}@/${encodeURIComponent(database)}?${parameters}`;
  }

  async connect(database: string): Promise<PostgresConnection> {
    return await PostgresConnection.open(this.admin(database));
  }

  /** The variables of the programs of PostgreSQL. */
  environment(database: string): { readonly [name: string]: string } {
    const { user, password } = this.#admin();
    return {
      ...PROGRAM_ENVIRONMENT,
      PGHOST: this.place.sockets,
      PGPORT: String(CLONE_PORT),
      PGUSER: user,
      PGPASSWORD: password,
      PGDATABASE: database,
    };
  }

  get #data(): string {
    return `${this.place.folder}/${DATA}`;
  }

  get #bounds() {
    return this.#signal === undefined ? {} : { signal: this.#signal };
  }

  #admin(): { readonly user: string; readonly password: string; readonly client: string } {
    const file = readTextFile(`${this.place.folder}/${ADMIN}`, LARGEST);
    const [password, user, client] = file?.text.split("\n") ?? [];
    if (password === undefined || user === undefined || client === undefined)
      throw new SandboxStateError(`The clone in ${this.place.folder} is damaged: ${ADMIN} is missing.`, {
        from: "ACTIVE",
        to: "ACTIVE",
        hint: "Cancel the plan and make a new one.",
      });
    return { user, password, client };
  }

  /** Starts a process; false if it ended, because a process of an earlier server was not gone yet. */
  async #started(deadline: number): Promise<boolean> {
    removeDeadLock(this.#data);
    const child = this.#spawn();
    let hasEnded = false;
    child.once("exit", () => {
      hasEnded = true;
    });
    child.once("error", () => {
      hasEnded = true;
    });
    try {
      while (!(await this.#answers())) {
        if (this.#signal?.aborted === true) throw new InterruptedError();
        if (milliseconds() > deadline) throw notStarted(this.#said());
        // Another process may have started it, or one that was killed still has its memory.
        if (hasEnded && leaderOf(this.#data) === undefined) {
          if (!/still in use|already exists|starting up/.test(this.#said())) throw notStarted(this.#said());
          await sleep(LOOK_AGAIN_MS * 5);
          return false;
        }
        await sleep(LOOK_AGAIN_MS);
      }
      return true;
    } finally {
      child.unref();
    }
  }

  #spawn() {
    using folder = Folder.open(this.place.folder);
    if (folder.facts(LOG) !== undefined) folder.removeFile(POINTS.log, LOG);
    const log = folder.createFile(POINTS.log, LOG, 0o600);
    try {
      passFailpoint(POINTS.start);
      const sharing = this.#programs.major >= 18 ? { file_copy_method: "clone" } : {};
      const options = { ...SETTINGS, ...sharing, unix_socket_directories: this.place.sockets };
      const args = Object.entries(options).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
      return startProcess(
        withoutNetwork({ file: `${this.#programs.folder}/postgres`, args: ["-D", this.#data, ...args] }),
        ["ignore", log, log],
      );
    } finally {
      closeFile(log);
    }
  }

  async #answers(): Promise<boolean> {
    if (leaderOf(this.#data) === undefined) return false;
    try {
      const connection = await this.connect("postgres");
      await connection.close();
      return true;
    } catch (thrown) {
      // It is starting, or ending.
      if (/can't be reached/.test(messageOf(thrown))) return false;
      throw thrown;
    }
  }

  #said(): string {
    return readTextFile(`${this.place.folder}/${LOG}`, LARGEST)?.bytes.toString() ?? "";
  }
}

/** For the programs of PostgreSQL: nothing of the user's settings and passwords for other servers. */
export const PROGRAM_ENVIRONMENT = {
  PATH: "/usr/bin:/bin:/usr/sbin:/sbin",
  LC_ALL: "C",
  HOME: "/nonexistent",
  PGPASSFILE: "/dev/null",
  PGSERVICEFILE: "/dev/null",
  PGCLIENTENCODING: "UTF8",
};

/**
 * What makes the server private and small. Its memory is in its folder, so that nothing stays when it is
 * killed.
 */
const SETTINGS = {
  listen_addresses: "",
  port: String(CLONE_PORT),
  unix_socket_permissions: "0777",
  wal_level: "minimal",
  max_wal_senders: "0",
  archive_mode: "off",
  max_prepared_transactions: "0",
  dynamic_shared_memory_type: "mmap",
  shared_buffers: "32MB",
  logging_collector: "off",
  log_min_messages: "fatal",
  log_destination: "stderr",
  ssl: "off",
};

function assertShort(sockets: string): void {
  const socket = `${sockets}/.s.PGSQL.${CLONE_PORT}`;
  if (Buffer.byteLength(socket) <= LONGEST) return;
  throw new UnsupportedError(`A server can't have the socket ${socket}: its name is too long.`, {
    hint: `Choose a state directory with a shorter path; the name of a socket has at most ${LONGEST} bytes.`,
    code: "NO_PATH",
  });
}

function notStarted(said: string): UnsupportedError {
  const why = said.trim().split("\n").slice(-5).join(" ") || "it ended at once";
  return new UnsupportedError(`The server of the clone does not start: ${why}`, {
    hint: "Mend the cause and try again.",
  });
}
