import { createHash } from "node:crypto";
import type { Client as PostgresClient } from "pg";
import type { ServerLogin } from "../../database/server/server-database.ts";
import { rowsOf } from "./postgres-session.ts";

/**
 * Hears that something is there for somebody, by LISTEN. It only saves time: a connection that was lost, and
 * what was told meanwhile, is made up for by looking now and then.
 */
export class Bell {
  readonly #channels: readonly string[];
  #waiting: (() => void)[] = [];
  #rings = 0;

  /** `names` are hosts or processes. */
  constructor(names: readonly string[]) {
    this.#channels = names.map(channelOf);
  }

  /** Listens on a connection. */
  async hangIn(client: PostgresClient, login: ServerLogin): Promise<void> {
    client.on("notification", () => this.#ring());
    await rowsOf(client, this.#channels.map((channel) => `LISTEN ${channel}`).join(";"), login);
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

/** Channels have short names of few characters. */
function channelOf(name: string): string {
  return `drydock_${createHash("sha256").update(name).digest("hex").slice(0, 24)}`;
}
