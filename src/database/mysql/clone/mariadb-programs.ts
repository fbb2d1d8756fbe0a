import { UnsupportedError } from "../../../core/errors/errors.ts";
import { isProgram, programAmong } from "../../../system/process/programs.ts";
import { runProcess } from "../../../system/process/run-process.ts";

const FOLDERS = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/run/current-system/sw/bin"];
const IN_ONE_FOLDER = ["/usr/local/mysql", "/opt/mariadb"];
const ANSWER_MS = 10_000;

/** The server of MariaDB on this machine. */
export interface MariadbPrograms {
  /** Its series, such as "10.11": within one, definitions look the same. */
  readonly series: string;
  readonly server: string;
  readonly install: string;
}

/** The server of MariaDB on this machine, if there is one. */
export async function findMariadbPrograms(): Promise<MariadbPrograms | undefined> {
  const folders = [...FOLDERS, ...IN_ONE_FOLDER.flatMap((folder) => [`${folder}/bin`, `${folder}/scripts`])];
  const server = programAmong(folders, "mariadbd");
  const install = programAmong(folders, "mariadb-install-db");
  if (server === undefined || install === undefined || !isProgram(server)) return undefined;
  const { stdout } = await runProcess({ file: server, args: ["--version"] }, { limitMs: ANSWER_MS });
  const series = /Ver (\d+\.\d+)\.\d+-MariaDB/.exec(stdout.toString())?.[1];
  return series === undefined ? undefined : { series, server, install };
}

/** The programs of this series. Fails if this machine has none. */
export async function mariadbPrograms(series: string): Promise<MariadbPrograms> {
  const found = await findMariadbPrograms();
  if (found?.series === series) return found;
  throw new UnsupportedError(
    `A clone needs the server of MariaDB ${series} on this machine, which has ${found === undefined ? "none" : `only ${found.series}`}.`,
    { hint: "Install it (on Debian: mariadb-server-core), or use transaction_rollback." },
  );
}
