import { Folder } from "../../../system/calls/folder.ts";
import { writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { Program } from "../../../system/process/start-process.ts";
import type { ServerProcesses } from "../../server/clone/clone-processes.ts";
import { type CloneAccounts, type ClonePlace, CloneServer } from "../../server/clone/clone-server.ts";
import type { ServerLogin } from "../../server/server-database.ts";
import { PostgresConnection } from "../postgres-connection.ts";
import type { PostgresPrograms } from "./postgres-programs.ts";

const CONFIGURE = failpoint("clone.configure");
export const CLONE_PORT = 5432;
export const POSTGRES_PROCESSES: ServerProcesses = {
  lock: "postmaster.pid",
  ending: [
    ["SIGINT", 20_000],
    ["SIGQUIT", 5000],
    ["SIGKILL", 10_000],
  ],
};

/** The server of a clone of PostgreSQL. Its data directory is made by initdb. */
export class PostgresCloneServer extends CloneServer<PostgresConnection> {
  protected readonly processes = POSTGRES_PROCESSES;
  protected readonly notYet = /still in use|already exists|starting up/;
  readonly programs: PostgresPrograms;

  constructor(place: ClonePlace, programs: PostgresPrograms, signal?: AbortSignal) {
    super(place, signal);
    this.programs = programs;
  }

  /** Makes an empty server, with these settings. */
  async init(settings: ReadonlyMap<string, string>): Promise<void> {
    await this.makeData();
    using data = Folder.open(this.data);
    const rules = ["local all all scram-sha-256", ""];
    writeWhole(CONFIGURE, data, "pg_hba.conf", Buffer.from(rules.join("\n")));
    const lines = [...settings].map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`);
    writeWhole(CONFIGURE, data, "postgresql.conf", Buffer.from(lines.join("")));
  }

  /** How Drydock itself comes in. */
  admin(database: string): ServerLogin {
    return this.loginBy(this.url(this.accounts.user, database));
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
    const { user, password } = this.accounts;
    return {
      ...PROGRAM_ENVIRONMENT,
      PGHOST: this.place.sockets,
      PGPORT: String(CLONE_PORT),
      PGUSER: user,
      PGPASSWORD: password,
      PGDATABASE: database,
    };
  }

  protected get socket(): string {
    return `${this.place.sockets}/.s.PGSQL.${CLONE_PORT}`;
  }

  protected initProgram({ user }: CloneAccounts): Program {
    const args = ["-D", this.data, "-U", user, `--pwfile=${this.passwordFile}`, "--no-sync"];
    return {
      file: `${this.programs.folder}/initdb`,
      args: [...args, "--encoding=UTF8", "--locale=C", "--auth=scram-sha-256"],
    };
  }

  protected program(): Program {
    const sharing = this.programs.major >= 18 ? { file_copy_method: "clone" } : {};
    const options = { ...SETTINGS, ...sharing, unix_socket_directories: this.place.sockets };
    const args = Object.entries(options).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    return { file: `${this.programs.folder}/postgres`, args: ["-D", this.data, ...args] };
  }

  protected async greet(): Promise<PostgresConnection> {
    return await this.connect("postgres");
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
