import { ConnectedResolver } from "../server/connected-resolver.ts";
import type {
  Evidence,
  Outcome,
  ServerLogin,
  ServerSession,
  TransactionName,
  TransactionResolver,
} from "../server/server-database.ts";
import { nameFrom, nameText } from "../server/server-database.ts";
import { PostgresConnection } from "./postgres-connection.ts";

/**
 * Ends prepared transactions on PostgreSQL. One that is not in `pg_prepared_xacts` has ended. The server
 * tells by its number how, as long as it keeps the status of such old transactions.
 */
export class PostgresResolver extends ConnectedResolver<PostgresConnection> implements TransactionResolver {
  static async open(login: ServerLogin): Promise<PostgresResolver> {
    return new PostgresResolver(await PostgresConnection.open(login), login);
  }

  protected async listed(): Promise<readonly TransactionName[]> {
    const { rows } = await this.connection.run(
      "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() ORDER BY gid",
    );
    return rows.flatMap(([gid]) => nameFrom(String(gid)) ?? []);
  }

  async outcome(name: TransactionName, { transactionNumber }: Evidence): Promise<Outcome> {
    const seen = await this.untilSeen<Outcome>(async () => {
      const { rows } = await this.connection.run("SELECT 1 FROM pg_prepared_xacts WHERE gid = $1", [
        nameText(name),
      ]);
      if (rows.length > 0) return "prepared";
      if (transactionNumber === undefined) return "unknown";
      const status = await this.#statusOf(transactionNumber);
      if (status === "committed") return "committed";
      if (status === "aborted") return "rolled back";
      // For a moment a transaction is neither listed nor ended.
      return status === "in progress" ? undefined : "unknown";
    });
    return seen ?? "unknown";
  }

  async finish(name: TransactionName, how: "commit" | "rollback"): Promise<void> {
    await this.connection.run(`${how === "commit" ? "COMMIT" : "ROLLBACK"} PREPARED '${nameText(name)}'`);
  }

  async endSession({ id, startedAt }: ServerSession): Promise<void> {
    const end =
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2";
    const isThere = async () => (await this.connection.run(end, [id, startedAt])).rows.length > 0;
    await this.untilEnded(id, isThere);
  }

  async forget(): Promise<void> {
    // The server remembers outcomes by itself, so there is no marker.
  }

  /**
   * Null for a transaction that is too old. A number that this server has not reached yet is unknown to it
   * too.
   */
  async #statusOf(transactionNumber: string): Promise<string | null> {
    const { rows } = await this.connection.run(
      "SELECT CASE WHEN $1::bigint < txid_current() THEN txid_status($1::bigint) END",
      [transactionNumber],
    );
    const [status] = rows[0] ?? [];
    return status === null || status === undefined ? null : String(status);
  }
}
