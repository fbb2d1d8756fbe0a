import type { ServerDatabase, ServerLogin, TransactionResolver } from "./server/server-database.ts";
import { parseServerUrl } from "./server/server-url.ts";

/** Connects to hold a transaction. Loads only the driver that is needed. */
export async function openServerDatabase(login: ServerLogin): Promise<ServerDatabase> {
  if (parseServerUrl(login.location).kind === "postgres")
    return (await import("./postgres/postgres-database.ts")).PostgresDatabase.open(login);
  return (await import("./mysql/mysql-database.ts")).MysqlDatabase.open(login);
}

/** Connects to end prepared transactions. */
export async function openTransactionResolver(login: ServerLogin): Promise<TransactionResolver> {
  if (parseServerUrl(login.location).kind === "postgres")
    return (await import("./postgres/postgres-resolver.ts")).PostgresResolver.open(login);
  return (await import("./mysql/mysql-resolver.ts")).MysqlResolver.open(login);
}
