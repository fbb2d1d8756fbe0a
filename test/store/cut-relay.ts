import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestServer } from "../support/database-servers.ts";
import { removeFolder } from "../support/remove-folder.ts";

/** The name that PostgreSQL's clients expect of a socket in a folder. */
const SOCKET = ".s.PGSQL.5432";
/** The first byte of a message that runs statements: "Q". */
const QUERY = 0x51;

/** A relay between a client and a server of PostgreSQL that loses a connection on purpose. */
export class CutRelay {
  readonly #folder = mkdtempSync(join(tmpdir(), "drydock-relay-"));
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #cut: "request" | "answer" | undefined;
  #after = 0;
  #refuses = false;
  #isFrozen = false;
  cuts = 0;

  static async to(server: TestServer): Promise<CutRelay> {
    const relay = new CutRelay(join(server.folder, "own", SOCKET));
    relay.#server.listen(join(relay.#folder, SOCKET));
    await once(relay.#server, "listening");
    return relay;
  }

  private constructor(target: string) {
    this.#server = createServer((client) => {
      if (this.#refuses) {
        client.destroy();
        return;
      }
      const upstream = connect(target);
      const pair = [client, upstream] as const;
      this.#pairs.add(pair);
      const end = () => {
        client.destroy();
        upstream.destroy();
        this.#pairs.delete(pair);
      };
      for (const socket of pair) socket.on("error", end).on("close", end);
      let isLast = false;
      client.on("data", (bytes) => {
        if (this.#isFrozen) return;
        const isCounted = bytes[0] === QUERY && this.#cut !== undefined;
        if (isCounted) this.#after -= 1;
        if (isCounted && this.#after === 0) {
          if (this.#cut === "request") {
            this.#cutNow(end);
            return;
          }
          isLast = true;
        }
        upstream.write(bytes);
      });
      upstream.on("data", (bytes) => {
        if (isLast) this.#cutNow(end);
        else if (!this.#isFrozen) client.write(bytes);
      });
    });
  }

  /** The URL of the server, through the relay. */
  url(direct: string): string {
    const url = new URL(direct.replace("@/", "@localhost/"));
    url.searchParams.set("host", this.#folder);
    return url.href.replace("@localhost/", "@/");
  }

  /** Loses the connection at a message that runs statements, the next one or the one after some others. */
  cutNext(where: "request" | "answer", message = 1): void {
    this.#cut = where;
    this.#after = message;
  }

  /** Ends all connections, and takes no more. */
  refuse(): void {
    this.#refuses = true;
    for (const [client] of this.#pairs) client.destroy();
  }

  allow(): void {
    this.#refuses = false;
  }

  /** Passes nothing on any more, and says nothing of it. */
  freeze(): void {
    this.#isFrozen = true;
  }

  async close(): Promise<void> {
    for (const [client, upstream] of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
    this.#server.close();
    await once(this.#server, "close");
    removeFolder(this.#folder);
  }

  #cutNow(end: () => void): void {
    this.#cut = undefined;
    this.cuts += 1;
    end();
  }
}
