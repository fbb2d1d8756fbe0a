import type { ServerDatabase, ServerLogin, ServerSettler } from "./server-database.ts";
import { parseServerUrl } from "./server-url.ts";

/** Connects to hold a transaction. Only the driver that is needed is loaded. */
export async function openServerDatabase(login: ServerLogin): Promise<ServerDatabase> {
  if (parseServerUrl(login.location).kind === "postgres")
    return (await import("./postgres-database.ts")).PostgresDatabase.open(login);
  return (await import("./mysql-database.ts")).MysqlDatabase.open(login);
}

/** Connects to settle prepared transactions. */
export async function openServerSettler(login: ServerLogin): Promise<ServerSettler> {
  if (parseServerUrl(login.location).kind === "postgres")
    return (await import("./postgres-settler.ts")).PostgresSettler.open(login);
  return (await import("./mysql-settler.ts")).MysqlSettler.open(login);
}
