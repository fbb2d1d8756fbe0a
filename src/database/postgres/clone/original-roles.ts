import type { PostgresConnection } from "../postgres-connection.ts";
import { literal, quotedName } from "./quoting.ts";

/**
 * The roles of the original, as the statements that make them in a clone. None of them has a password there,
 * and none may do anything outside of the database: be a superuser, make roles, replicate, or belong to a
 * role of the server that reads files, runs programs or connects elsewhere. A user that is a superuser in the
 * original belongs to every role in the clone instead, so that it may do the same to every table.
 */
const ROLES = `SELECT rolname, rolinherit, rolcanlogin, rolcreatedb, rolbypassrls, rolsuper, rolconnlimit
  FROM pg_catalog.pg_roles WHERE rolname !~ '^pg_' ORDER BY rolname`;
const MEMBERS = `SELECT g.rolname, m.rolname FROM pg_catalog.pg_auth_members a
  JOIN pg_catalog.pg_roles g ON g.oid = a.roleid JOIN pg_catalog.pg_roles m ON m.oid = a.member
  WHERE m.rolname !~ '^pg_' ORDER BY 1, 2`;
const OPTIONS = `SELECT r.rolname, c.setting FROM pg_catalog.pg_db_role_setting s
  JOIN pg_catalog.pg_roles r ON r.oid = s.setrole, LATERAL unnest(s.setconfig) AS c(setting)
  WHERE s.setdatabase = 0 AND r.rolname !~ '^pg_' ORDER BY 1, 2`;

/** Roles of the server that give nothing outside of the database. */
const HARMLESS = [
  "pg_monitor",
  "pg_read_all_settings",
  "pg_read_all_stats",
  "pg_stat_scan_tables",
  "pg_signal_backend",
  "pg_read_all_data",
  "pg_write_all_data",
];
/** Settings whose value is a list of names, which is not one text. */
const LISTS = ["search_path", "temp_tablespaces"];
/** Settings that load code, or that only a superuser can make. */
const NOT_TAKEN = /preload_libraries$|^session_replication_role$|^log_|^role$/;

/** The statements that make the roles of the original. `user` is the one of the plan. */
export async function roleStatements(original: PostgresConnection, user: string): Promise<string[]> {
  const rows = async (sql: string) => (await original.run(sql)).rows.map((row) => row.map(String));
  const roles = await rows(ROLES);
  const statements = roles.map(([name = "", inherit, login, createdb, bypass, , limit]) => {
    const options = [
      inherit === "true" ? "INHERIT" : "NOINHERIT",
      login === "true" ? "LOGIN" : "NOLOGIN",
      createdb === "true" ? "CREATEDB" : "NOCREATEDB",
      bypass === "true" ? "BYPASSRLS" : "NOBYPASSRLS",
    ];
    return `CREATE ROLE ${quotedName(name)} ${options.join(" ")} CONNECTION LIMIT ${limit}`;
  });
  const known = new Set([...roles.map(([name = ""]) => name), ...HARMLESS]);
  const members = (await rows(MEMBERS)).filter(([group = ""]) => known.has(group));
  statements.push(...members.map(([group = "", member = ""]) => grant(group, member)));
  statements.push(...(await rows(OPTIONS)).flatMap(([name = "", setting = ""]) => option(name, setting)));
  const isSuperuser = roles.some(([name, , , , , superuser]) => name === user && superuser === "true");
  if (isSuperuser) statements.push(...asSuperuser(user, roles, members));
  return statements;
}

/** Belonging to a role that belongs to oneself is not possible. */
function asSuperuser(
  user: string,
  roles: readonly (readonly string[])[],
  members: readonly (readonly string[])[],
): string[] {
  const below = new Set([user]);
  for (let size = 0; size !== below.size; ) {
    size = below.size;
    for (const [group = "", member = ""] of members) if (below.has(group)) below.add(member);
  }
  const others = roles.map(([name = ""]) => name).filter((name) => !below.has(name));
  return [
    `ALTER ROLE ${quotedName(user)} CREATEDB BYPASSRLS INHERIT`,
    ...[...others, ...HARMLESS].map((group) => grant(group, user)),
  ];
}

function grant(group: string, member: string): string {
  return `GRANT ${quotedName(group)} TO ${quotedName(member)}`;
}

function option(role: string, setting: string): string[] {
  const [, name = "", value = ""] = /^([^=]*)=(.*)$/s.exec(setting) ?? [];
  if (name === "" || NOT_TAKEN.test(name)) return [];
  const written = LISTS.includes(name) ? value : literal(value);
  return [`ALTER ROLE ${quotedName(role)} SET ${quotedName(name)} TO ${written === "" ? "''" : written}`];
}
