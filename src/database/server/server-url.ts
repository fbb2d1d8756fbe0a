import { UsageError } from "../../core/errors/errors.ts";

/** The kinds of server that have a driver. */
export type ServerKind = "postgres" | "mysql";

const KINDS: { readonly [scheme: string]: ServerKind } = {
  "postgres:": "postgres",
  "postgresql:": "postgres",
  "mysql:": "mysql",
  "mariadb:": "mysql",
};

/** The location of a database on a server, from the URL of a resource. */
export interface ServerAddress {
  readonly kind: ServerKind;
  readonly host: string;
  readonly port: number | undefined;
  readonly user: string;
  readonly database: string;
  /** The folder (PostgreSQL) or file (MySQL) of a local socket, instead of host and port. */
  readonly socket: string | undefined;
  readonly parameters: ReadonlyMap<string, string>;
}

/** The kind of server that a URL names; undefined for any other URL. */
export function serverKind(location: string): ServerKind | undefined {
  return KINDS[/^[a-z]+:(?=\/\/)/.exec(location)?.[0] ?? ""];
}

/** Parses a URL. It needs no host if its parameter `host` or `socket` names a local socket. */
export function parseServerUrl(location: string): ServerAddress {
  const kind = serverKind(location);
  const {
    user = "",
    host = "",
    port,
    path = "",
    query = "",
  } = /^[a-z]+:\/\/(?:(?<user>[^@/?#]*)@)?(?<host>\[[^\]]*\]|[^:/?#]*)(?::(?<port>\d*))?(?:\/(?<path>[^?#]*))?(?:\?(?<query>[^#]*))?$/.exec(
    location,
  )?.groups ?? {};
  const parameters = new Map(new URLSearchParams(query));
  const given = decodeURIComponent(host);
  const socket =
    parameters.get("socket") ?? [parameters.get("host"), given].find((name) => name?.startsWith("/"));
  const database = decodeURIComponent(path);
  if (kind === undefined || (given === "" && socket === undefined && parameters.get("host") === undefined))
    throw unusable(location, "names no server");
  if (database === "" || user === "")
    throw unusable(location, database === "" ? "names no database" : "names no user");
  return {
    kind,
    host: (parameters.get("host") ?? given).replace(/^\[(.*)\]$/, "$1"),
    port: port === undefined || port === "" ? undefined : Number(port),
    user: decodeURIComponent(user),
    database,
    socket,
    parameters,
  };
}

function unusable(location: string, why: string): UsageError {
  return new UsageError(`The URL ${location} ${why}.`, {
    hint: "Write it as postgres://USER:PASSWORD@HOST/DATABASE or mysql://USER:PASSWORD@HOST/DATABASE.",
    code: "BAD_URL",
  });
}
