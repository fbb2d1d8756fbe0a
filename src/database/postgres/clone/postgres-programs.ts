import { UnsupportedError } from "../../../core/errors/errors.ts";
import { namesIn } from "../../../system/data/existence.ts";
import { isProgram } from "../../../system/process/programs.ts";
import { runProcess } from "../../../system/process/run-process.ts";

/** Where systems keep the programs of each version of PostgreSQL; `*` stands for the version. */
const FOLDERS = [
  "/usr/lib/postgresql/*/bin",
  "/usr/pgsql-*/bin",
  "/usr/lib64/pgsql/*/bin",
  "/opt/postgresql/*/bin",
];
/** Where they are if there is one version only. */
const OF_ANY_VERSION = ["/usr/bin", "/usr/local/bin", "/usr/local/pgsql/bin", "/run/current-system/sw/bin"];
const NEEDED = ["initdb", "postgres", "pg_dump", "psql"] as const;
const ANSWER_MS = 10_000;

/** The programs of one version of PostgreSQL, the server among them. */
export interface PostgresPrograms {
  readonly major: number;
  readonly folder: string;
}

/** All versions of the server on this machine, the newest first. */
export async function findPostgresPrograms(): Promise<readonly PostgresPrograms[]> {
  const folders = [...FOLDERS.flatMap(versionFolders), ...OF_ANY_VERSION];
  const found: PostgresPrograms[] = [];
  for (const folder of folders.filter((each) => NEEDED.every((name) => isProgram(`${each}/${name}`)))) {
    const { stdout } = await runProcess(
      { file: `${folder}/postgres`, args: ["--version"] },
      { limitMs: ANSWER_MS },
    );
    const major = Number(/\(PostgreSQL\) (\d+)/.exec(stdout.toString())?.[1] ?? 0);
    if (major > 0 && !found.some((other) => other.major === major)) found.push({ major, folder });
  }
  return found.sort((a, b) => b.major - a.major);
}

/** The programs of this version. Fails if this machine has none. */
export async function postgresPrograms(major: number): Promise<PostgresPrograms> {
  const found = await findPostgresPrograms();
  const wanted = found.find((programs) => programs.major === major);
  if (wanted !== undefined) return wanted;
  const there = found.map((programs) => programs.major).join(", ");
  throw new UnsupportedError(
    `A clone needs the server of PostgreSQL ${major} on this machine, which has ${there === "" ? "none" : `only ${there}`}.`,
    {
      hint: `Install it (on Debian: postgresql-${major}), or use transaction_rollback.`,
    },
  );
}

function versionFolders(pattern: string): string[] {
  const [parent = "", rest = ""] = pattern.split("*");
  const [folder, prefix] = [parent.replace(/[^/]*$/, ""), /[^/]*$/.exec(parent)?.[0] ?? ""];
  return namesIn(folder)
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => `${folder}${name}${rest}`);
}
