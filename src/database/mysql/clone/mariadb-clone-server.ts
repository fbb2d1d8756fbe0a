import { Folder } from "../../../system/calls/folder.ts";
import { writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { Program } from "../../../system/process/start-process.ts";
import type { ServerProcesses } from "../../server/clone/clone-processes.ts";
import { CLONE_DATA, type ClonePlace, CloneServer } from "../../server/clone/clone-server.ts";
import { MysqlConnection } from "../mysql-connection.ts";
import type { MariadbPrograms } from "./mariadb-programs.ts";

const POINTS = {
  settings: failpoint("clone.settings"),
  first: failpoint("clone.first-statements"),
};
const LOCK = "drydock.pid";
const SETTINGS = "settings";
const FIRST = "first-statements";
export const MARIADB_PROCESSES: ServerProcesses = {
  lock: LOCK,
  ending: [
    ["SIGTERM", 60_000],
    ["SIGKILL", 10_000],
  ],
};

/**
 * A server of a clone of MariaDB. Its data directory is made by mariadb-install-db. Base and checkpoints are
 * copies of that directory, with servers of their own, which are ended like the clone's.
 *
 * `settings` has what decides the meaning of statements, from the original. `first-statements` makes the
 * superuser before anybody can connect, and removes the accounts that a new server has.
 */
export class MariadbCloneServer extends CloneServer<MysqlConnection> {
  protected readonly processes = MARIADB_PROCESSES;
  protected readonly notYet = /Can't lock|unable to lock|already in use|Unable to lock/i;
  readonly #programs: MariadbPrograms;

  constructor(place: ClonePlace, programs: MariadbPrograms, signal: AbortSignal, dataName?: string) {
    super(place, signal, dataName);
    this.#programs = programs;
  }

  /** Makes an empty server, with these settings. */
  async init(settings: ReadonlyMap<string, string>): Promise<void> {
    await this.makeData();
    using folder = Folder.open(this.place.folder);
    const lines = [...settings].map(([name, value]) => `${name}=${value}\n`);
    writeWhole(POINTS.settings, folder, SETTINGS, Buffer.from(`[mariadbd]\n${lines.join("")}`));
    const { user, password } = this.accounts;
    const statements = [
      `CREATE OR REPLACE USER '${user}'@'localhost' IDENTIFIED BY '${password}'`,
      `GRANT ALL PRIVILEGES ON *.* TO '${user}'@'localhost' WITH GRANT OPTION`,
      "DELETE FROM mysql.global_priv WHERE User NOT LIKE 'drydock\\_%' AND User <> 'mariadb.sys'",
      "DELETE FROM mysql.db",
      "FLUSH PRIVILEGES",
    ];
    writeWhole(POINTS.first, folder, FIRST, Buffer.from(statements.map((sql) => `${sql};\n`).join("")));
    await this.start();
    folder.removeFile(POINTS.first, FIRST);
  }

  /** How clients of the plan come in. */
  clientUrl(user: string, database: string): string {
    return this.#url(`${encodeURIComponent(user)}:${this.clientPassword}`, database);
  }

  /** The URL by which this user comes in, without a password. */
  url(user: string, database: string): string {
    return this.#url(encodeURIComponent(user), database);
  }

  #url(login: string, database: string): string {
    const parameters = new URLSearchParams({ socket: this.socket, socketPath: this.socket });
    return `mysql://${login}@localhost/${encodeURIComponent(database)}?${parameters}`;
  }

  /** Comes in as the superuser. */
  async connect(database: string): Promise<MysqlConnection> {
    return await MysqlConnection.open(this.loginBy(this.url(this.accounts.user, database)));
  }

  get socket(): string {
    return `${this.place.sockets}/${this.dataName === CLONE_DATA ? "socket" : this.dataName.slice(-8)}`;
  }

  /** Whether an account is the superuser's. */
  isSuperuser(user: string): boolean {
    return user === this.accounts.user;
  }

  protected initProgram(): Program {
    return {
      file: this.#programs.install,
      args: [
        "--no-defaults",
        `--datadir=${this.data}`,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        "--skip-name-resolve",
        ...SMALL,
      ],
    };
  }

  protected program(): Program {
    const { folder } = this.place;
    using inside = Folder.open(folder);
    const first = inside.facts(FIRST) === undefined ? [] : [`--init-file=${folder}/${FIRST}`];
    const args = [
      `--defaults-file=${folder}/${SETTINGS}`,
      `--datadir=${this.data}`,
      `--socket=${this.socket}`,
      `--pid-file=${this.data}/${LOCK}`,
      `--tmpdir=${this.data}`,
      `--secure-file-priv=${this.data}/mysql`,
      ...PRIVATE,
      ...SMALL,
      ...first,
    ];
    return { file: this.#programs.server, args };
  }

  protected async greet(): Promise<MysqlConnection> {
    return await this.connect("mysql");
  }
}

/** What makes a server private. Its events never run: only the superuser could switch them on. */
const PRIVATE = [
  "--skip-networking",
  "--skip-log-bin",
  "--skip-slave-start",
  "--event-scheduler=OFF",
  "--local-infile=0",
  "--skip-symbolic-links",
  "--log-warnings=1",
  "--max-allowed-packet=1G",
  "--max-connections=500",
  // What a committed transaction wrote outlives the server, not the machine.
  "--innodb-flush-log-at-trx-commit=2",
  "--innodb-buffer-pool-dump-at-shutdown=0",
  "--innodb-buffer-pool-load-at-startup=0",
];
const SMALL = [
  "--innodb-log-file-size=16M",
  "--innodb-buffer-pool-size=64M",
  "--aria-pagecache-buffer-size=8M",
  "--key-buffer-size=4M",
];

/** The account of the plan's user in a clone. */
export function accountOf(user: string): string {
  return `${literalName(user)}@'localhost'`;
}

function literalName(name: string): string {
  return `'${name.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
