import { BusyError } from "../../../core/errors/errors.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { literal, quotedName } from "./quoting.ts";

/**
 * The databases of a clone's server. The one of the plan has the name of the original; others belong to
 * Drydock, and only its superuser may come in:
 *
 * - `drydock_base`: what the original had;
 * - `drydock_saved_ID`: a checkpoint;
 * - `drydock_stage`: the base after the statements that change definitions (clone-work.ts);
 * - `drydock_next`: the next database of the plan, until a restore is complete.
 *
 * All are copies of files, which share blocks where the file system and the server can.
 */
export const BASE = "drydock_base";
export const STAGE = "drydock_stage";
const NEXT = "drydock_next";

export function savedName(checkpointId: string): string {
  return `drydock_saved_${checkpointId.toLowerCase()}`;
}

/** Makes a database that only Drydock uses, as a copy of another. Replaces one of that name. */
export async function copyDatabase(admin: PostgresConnection, from: string, to: string): Promise<void> {
  await dropDatabase(admin, to);
  await makeCopy(admin, from, to);
  await admin.run(`REVOKE ALL ON DATABASE ${quotedName(to)} FROM PUBLIC`);
  await limitConnections(admin, to, 0);
}

/** Gives a database the owner of another: some rights inside of it are those of its owner. */
export async function copyOwner(admin: PostgresConnection, from: string, to: string): Promise<void> {
  const { rows } = await admin.run(
    "SELECT pg_get_userbyid(datdba) FROM pg_catalog.pg_database WHERE datname = $1",
    [from],
  );
  await admin.run(`ALTER DATABASE ${quotedName(to)} OWNER TO ${quotedName(String(rows[0]?.[0]))}`);
}

export async function dropDatabase(admin: PostgresConnection, name: string): Promise<void> {
  await admin.run(`DROP DATABASE IF EXISTS ${quotedName(name)} WITH (FORCE)`);
}

/**
 * Puts a copy of `from` in the place of the plan's database, with the owner, the privileges and the settings
 * that the old one had. May be repeated after a crash.
 */
export async function replaceDatabase(
  admin: PostgresConnection,
  from: string,
  target: string,
): Promise<void> {
  const isThere = await hasDatabase(admin, target);
  if (isThere || !(await hasDatabase(admin, NEXT))) {
    await dropDatabase(admin, NEXT);
    await makeCopy(admin, from, NEXT);
  }
  if (isThere) {
    await admin.run("BEGIN");
    await admin.run(
      `UPDATE pg_catalog.pg_database n SET datdba = o.datdba, datacl = o.datacl, datconnlimit = o.datconnlimit
       FROM pg_catalog.pg_database o WHERE n.datname = $1 AND o.datname = $2`,
      [NEXT, target],
    );
    await admin.run(
      `INSERT INTO pg_catalog.pg_db_role_setting
       SELECT n.oid, s.setrole, s.setconfig FROM pg_catalog.pg_db_role_setting s
       JOIN pg_catalog.pg_database o ON o.oid = s.setdatabase, pg_catalog.pg_database n
       WHERE o.datname = $2 AND n.datname = $1`,
      [NEXT, target],
    );
    await admin.run("COMMIT");
    await dropDatabase(admin, target);
  }
  await admin.run(`ALTER DATABASE ${quotedName(NEXT)} RENAME TO ${quotedName(target)}`);
}

async function hasDatabase(admin: PostgresConnection, name: string): Promise<boolean> {
  const { rows } = await admin.run("SELECT 1 FROM pg_catalog.pg_database WHERE datname = $1", [name]);
  return rows.length > 0;
}

/** Fails while a client is connected to a database. */
export async function assertUnused(admin: PostgresConnection, database: string): Promise<void> {
  const { rows } = await admin.run(
    `SELECT pid, application_name FROM pg_catalog.pg_stat_activity
     WHERE datname = $1 AND backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY pid`,
    [database],
  );
  const [first] = rows;
  if (first === undefined) return;
  const [pid, name] = first.map(String);
  const holder = `${name === "" ? "a client" : name} (process ${pid} of the clone's server)`;
  throw new BusyError(`The clone of the database is in use by ${holder}.`, {
    holder,
    hint: "Wait for it to end its connection, or end it, and try again.",
  });
}

/**
 * Bounds the number of clients; Drydock itself is not counted. While none can come in, what was compared is
 * what the clone holds.
 */
export async function limitConnections(
  admin: PostgresConnection,
  database: string,
  limit: number,
): Promise<void> {
  await admin.run(`ALTER DATABASE ${quotedName(database)} CONNECTION LIMIT ${limit}`);
}

/** Everything of the server and of the database itself that does not land: its digest. */
export async function surroundings(admin: PostgresConnection, database: string): Promise<string> {
  const { rows } = await admin.run(
    `SELECT md5(coalesce(string_agg(line, E'\\n' ORDER BY line), '')) FROM (
       SELECT row(rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication,
         rolbypassrls, rolconnlimit, rolpassword, rolvaliduntil)::text FROM pg_catalog.pg_authid
       UNION ALL SELECT row(roleid::regrole, member::regrole, admin_option)::text FROM pg_catalog.pg_auth_members
       UNION ALL SELECT row(d.datname, s.setrole::regrole, s.setconfig)::text
         FROM pg_catalog.pg_db_role_setting s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.setdatabase
         WHERE s.setdatabase = 0 OR d.datname = ${literal(database)}
       UNION ALL SELECT row(datdba::regrole, datacl, shobj_description(oid, 'pg_database'))::text
         FROM pg_catalog.pg_database WHERE datname = ${literal(database)}
     ) AS all_of_it(line)`,
  );
  return String(rows[0]?.[0]);
}

async function makeCopy(admin: PostgresConnection, from: string, to: string): Promise<void> {
  const { rows } = await admin.run("SELECT current_setting('server_version_num')::int >= 150000");
  // Before that version there was no other way than this one.
  const how = String(rows[0]?.[0]) === "true" ? " STRATEGY FILE_COPY" : "";
  await admin.run(`CREATE DATABASE ${quotedName(to)} TEMPLATE ${quotedName(from)}${how}`);
}
