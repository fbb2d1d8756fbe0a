import { setTimeout as sleep } from "node:timers/promises";
import { BusyError } from "../../core/errors/errors.ts";
import { milliseconds } from "../../system/milliseconds.ts";
import type { TransactionName } from "./server-database.ts";

const LOOK_AGAIN_MS = 20;

/**
 * The common part of both resolvers: a connection, our transactions, and how long they wait for the server.
 */
export abstract class ConnectedResolver<Connection extends { close(): Promise<void> }> {
  protected readonly connection: Connection;
  readonly #patienceMs: number;

  constructor(connection: Connection, { patienceMs }: { readonly patienceMs: number }) {
    this.connection = connection;
    this.#patienceMs = patienceMs;
  }

  /** All our transactions that the server lists as prepared. */
  protected abstract listed(): Promise<readonly TransactionName[]>;

  async prepared({ planId, resourceId }: Pick<TransactionName, "planId" | "resourceId">) {
    const all = await this.listed();
    return all.filter((name) => name.planId === planId && name.resourceId === resourceId);
  }

  async close(): Promise<void> {
    await this.connection.close();
  }

  /** Calls `look` until it returns a value; undefined if that takes too long. */
  protected async untilSeen<T>(look: () => Promise<T | undefined>): Promise<T | undefined> {
    const deadline = milliseconds() + this.#patienceMs;
    for (;;) {
      const seen = await look();
      if (seen !== undefined || milliseconds() > deadline) return seen;
      await sleep(LOOK_AGAIN_MS);
    }
  }

  /**
   * Ends a session of the server by `end`, which says whether the session still existed, and waits until it
   * does not.
   */
  protected async untilEnded(id: number, end: () => Promise<boolean>): Promise<void> {
    if ((await this.untilSeen(async () => ((await end()) ? undefined : "ended"))) === undefined)
      throw new BusyError(`Session ${id} of the server does not end.`, { holder: `session ${id}` });
  }
}
