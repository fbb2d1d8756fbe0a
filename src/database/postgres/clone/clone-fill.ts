import { pipeline } from "node:stream/promises";
import { InterruptedError, messageOf, UnsupportedError } from "../../../core/errors/errors.ts";
import { hideSecret } from "../../../core/resource/secret-url.ts";
import { failpoint, passFailpoint } from "../../../system/failpoints.ts";
import { endingWithUs, signalGroup, startProcess } from "../../../system/process/start-process.ts";
import type { ServerLogin } from "../../server/server-database.ts";
import { parseServerUrl } from "../../server/server-url.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { roleStatements } from "./original-roles.ts";
import { type PostgresCloneServer, PROGRAM_ENVIRONMENT } from "./postgres-clone-server.ts";
import { literal, quotedName } from "./quoting.ts";

const FILL = failpoint("clone.fill");
/** Settings of the original's server that decide what statements mean. A clone has the same. */
const SAME_SETTINGS = [
  "TimeZone",
  "DateStyle",
  "IntervalStyle",
  "default_text_search_config",
  "default_transaction_isolation",
  "standard_conforming_strings",
  "search_path",
  "lc_messages",
  "lc_monetary",
  "lc_numeric",
  "lc_time",
];
/** What libpq reads of a URL, and what its variables are called. */
const URL_PARAMETERS = {
  sslmode: "PGSSLMODE",
  sslrootcert: "PGSSLROOTCERT",
  sslcert: "PGSSLCERT",
  sslkey: "PGSSLKEY",
  options: "PGOPTIONS",
} as const;

/** The settings that a clone takes over. */
export async function settingsOf(original: PostgresConnection): Promise<Map<string, string>> {
  const { rows } = await original.run(
    "SELECT name, reset_val FROM pg_catalog.pg_settings WHERE name = ANY ($1)",
    [SAME_SETTINGS],
  );
  return new Map(rows.map(([name, value]) => [String(name), String(value ?? "")]));
}

/**
 * Fills the server of a clone from the original: its roles, and the database as it was at one moment, by
 * pg_dump. Subscriptions stay behind; slots, prepared transactions and schedules of the server are not part
 * of a dump. So are statistics, and the content of unlogged tables.
 */
export async function fillClone(
  server: PostgresCloneServer,
  original: PostgresConnection,
  login: ServerLogin,
  signal: AbortSignal,
): Promise<void> {
  passFailpoint(FILL);
  const { user } = parseServerUrl(login.location);
  const connection = await server.connect("postgres");
  try {
    for (const sql of await roleStatements(original, user)) await connection.run(sql);
    await connection.run(`ALTER ROLE ${quotedName(user)} PASSWORD ${literal(server.clientPassword)}`);
  } finally {
    await connection.close();
  }
  await copyDatabase(server, login, signal);
}

async function copyDatabase(
  server: PostgresCloneServer,
  login: ServerLogin,
  signal: AbortSignal,
): Promise<void> {
  const { folder } = server.programs;
  const dump = startProcess(
    endingWithUs(
      { file: `${folder}/pg_dump`, args: dumpOptions(login), environment: sourceEnvironment(login) },
      "TERM",
    ),
    ["ignore", "pipe", "pipe"],
  );
  const load = startProcess(
    endingWithUs(
      {
        file: `${folder}/psql`,
        args: ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-"],
        environment: server.environment("postgres"),
      },
      "TERM",
    ),
    ["pipe", "ignore", "pipe"],
  );
  const end = () => {
    for (const child of [dump, load]) signalGroup(child, "SIGTERM");
  };
  signal.addEventListener("abort", end);
  try {
    const ends = [ended(dump), ended(load)];
    // If one of them ends early, its own words say why.
    const piped = pipeline(
      dump.stdout as NonNullable<typeof dump.stdout>,
      load.stdin as NonNullable<typeof load.stdin>,
    ).catch((thrown: unknown) => messageOf(thrown));
    const [dumped, loaded] = await Promise.all(ends);
    await piped;
    if (signal.aborted) throw new InterruptedError();
    for (const [name, outcome] of [
      ["psql", loaded],
      ["pg_dump", dumped],
    ] as const)
      if (outcome !== undefined && outcome.code !== 0)
        throw notCopied(name, hideSecret(outcome.said, login.secret));
  } finally {
    signal.removeEventListener("abort", end);
    end();
  }
}

function dumpOptions({ patienceMs }: ServerLogin): string[] {
  return [
    "--create",
    "--format=plain",
    "--no-subscriptions",
    "--no-security-labels",
    "--no-tablespaces",
    "--no-unlogged-table-data",
    `--lock-wait-timeout=${patienceMs}`,
  ];
}

/** The original, for the programs of PostgreSQL. The password is seen by nobody else. */
function sourceEnvironment({ location, secret }: ServerLogin): { readonly [name: string]: string } {
  const { host, socket, port, user, database, parameters } = parseServerUrl(location);
  const given = Object.entries(URL_PARAMETERS).flatMap(([name, variable]) => {
    const value = parameters.get(name);
    return value === undefined ? [] : [[variable, value] as const];
  });
  const portGiven = port ?? parameters.get("port");
  return {
    ...PROGRAM_ENVIRONMENT,
    PGHOST: socket ?? host,
    PGUSER: user,
    PGDATABASE: database,
    ...(portGiven !== undefined && { PGPORT: String(portGiven) }),
    ...(secret !== undefined && { PGPASSWORD: secret }),
    ...Object.fromEntries(given),
  };
}

interface Ended {
  readonly code: number | null;
  readonly said: string;
}

function ended(child: ReturnType<typeof startProcess>): Promise<Ended> {
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said = `${said}${text}`.slice(-MOST_SAID);
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, said }));
  });
}

const MOST_SAID = 4000;

function notCopied(program: string, said: string): UnsupportedError {
  const why = said.trim().split("\n").slice(0, 3).join(" ") || "it ended without a word";
  return new UnsupportedError(`The database could not be copied: ${program}: ${why}`, {
    hint: "A clone needs a user that may read every table, and every extension of the database on this machine.",
  });
}
