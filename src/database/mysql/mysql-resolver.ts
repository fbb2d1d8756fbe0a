import { DrydockError, StatementError } from "../../core/errors/errors.ts";
import { ConnectedResolver } from "../server/connected-resolver.ts";
import type {
  Evidence,
  Outcome,
  ServerLogin,
  ServerSession,
  TransactionName,
  TransactionResolver,
} from "../server/server-database.ts";
import { MysqlConnection } from "./mysql-connection.ts";
import { serverStart } from "./mysql-facts.ts";
import { isMarked, removeMarkerTable } from "./mysql-marker.ts";
import { nameFromXa, xaName } from "./mysql-xa.ts";

/**
 * Ends prepared transactions on MySQL and MariaDB. While the connection that prepared a transaction is open,
 * the server tells all others that it does not exist (XAER_NOTA), and it says the same of a finished one. So
 * only XA RECOVER tells whether a transaction is prepared, and only its mark (mysql-marker.ts) how it ended.
 */
export class MysqlResolver extends ConnectedResolver<MysqlConnection> implements TransactionResolver {
  static async open(login: ServerLogin): Promise<MysqlResolver> {
    return new MysqlResolver(await MysqlConnection.open(login), login);
  }

  protected async listed(): Promise<readonly TransactionName[]> {
    const { rows } = await this.connection.run("XA RECOVER");
    return rows.flatMap(([, firstLength, , data]) => nameFromXa(Number(firstLength), textOf(data)) ?? []);
  }

  async outcome(name: TransactionName, { marker }: Evidence): Promise<Outcome> {
    const isListed = async () => (await this.prepared(name)).some(({ serial }) => serial === name.serial);
    if (await isListed()) return "prepared";
    if (marker === undefined) return "unknown";
    return (await isMarked(this.connection, marker, name)) ? "committed" : "rolled back";
  }

  async finish(name: TransactionName, how: "commit" | "rollback"): Promise<void> {
    let refusal: unknown;
    const seen = await this.untilSeen(async () => {
      try {
        await this.connection.run(`XA ${how === "commit" ? "COMMIT" : "ROLLBACK"} ${xaName(name)}`);
        return "done";
      } catch (thrown) {
        const isListed = (await this.prepared(name)).some(({ serial }) => serial === name.serial);
        if (!(thrown instanceof DrydockError) || !isListed) throw thrown;
        refusal = thrown;
        return undefined;
      }
    });
    if (seen === undefined) throw refusal;
  }

  async endSession({ id, startedAt }: ServerSession): Promise<void> {
    await this.untilEnded(id, async () => {
      const isThere = await this.#isSession(id, startedAt);
      if (isThere) await this.#kill(id);
      return isThere;
    });
  }

  /** If the session has just ended by itself, the next look shows it. */
  async #kill(id: number): Promise<void> {
    try {
      await this.connection.run(`KILL ${id}`, "");
    } catch (thrown) {
      if (!(thrown instanceof StatementError)) throw thrown;
    }
  }

  async forget(marker: string): Promise<void> {
    await removeMarkerTable(this.connection, marker);
  }

  /** A restarted server numbers its sessions from the beginning. */
  async #isSession(id: number, startedAt: string): Promise<boolean> {
    const { rows } = await this.connection.run(
      `SELECT ID FROM information_schema.PROCESSLIST WHERE ID = ${id}`,
    );
    return rows.length > 0 && Math.abs((await serverStart(this.connection)) - Number(startedAt)) <= 2;
  }
}

function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
}
