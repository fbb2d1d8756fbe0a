import { createHash } from "node:crypto";
import type { Client as PostgresClient } from "pg";
import type { ServerLogin } from "../../database/server/server-database.ts";
import { presenceLock } from "./advisory-locks.ts";
import { rowsOf } from "./postgres-session.ts";

/**
 * Hears that something is there for somebody, by LISTEN. It only saves time: a connection that was lost, and
 * what was told meanwhile, is made up for by looking now and then. Who listens is there: others see it by a
 * lock of its connection.
 */
export class Bell {
  readonly #names: readonly string[];
  #waiting: (() => void)[] = [];
  #rings = 0;

  /** `names` are hosts or processes. */
  constructor(names: readonly string[]) {
    this.#names = names;
  }

  /** Listens on a connection. */
  async hangIn(client: PostgresClient, login: ServerLogin): Promise<void> {
    client.on("notification", () => this.#ring());
    const listening = this.#names.flatMap((name) => [
      `LISTEN ${channelOf(name)}`,
      `SELECT pg_advisory_lock_shared(${presenceLock(numberOf(name))})`,
    ]);
    await rowsOf(client, listening.join(";"), login);
  }

  /** How often it rang, to be handed to `next`. */
  get rings(): number {
    return this.#rings;
  }

  /** Waits until it has rung more often than this, or for so long. */
  async next(rings: number, ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#rings > rings || signal?.aborted === true) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal?.addEventListener("abort", end, { once: true });
      this.#waiting.push(end);
    });
  }

  #ring(): void {
    this.#rings += 1;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const end of waiting) end();
  }
}

/** A statement that rings for a host or a process. */
export function ringFor(name: string): string {
  return `SELECT pg_notify('${channelOf(name)}', '')`;
}

/** A query whether somebody listens as this host or process. */
export function presenceOf(name: string): string {
  const [lock, number] = presenceLock(numberOf(name)).split(", ");
  return `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid = ${lock} AND objid = ${number} AND objsubid = 2)`;
}

function numberOf(name: string): number {
  return createHash("sha256").update(name).digest().readUInt32BE() >>> 1;
}

/** Channels have short names of few characters. */
function channelOf(name: string): string {
  return `drydock_${createHash("sha256").update(name).digest("hex").slice(0, 24)}`;
}
