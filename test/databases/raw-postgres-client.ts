import { once } from "node:events";
import { connect, type Socket } from "node:net";
import pg from "pg";
import {
  ContentReader,
  errorFields,
  MessageReader,
  message,
} from "../../src/database/postgres/proxy/wire.ts";

/** What is of no interest: ParameterStatus, NoticeResponse and the key for cancels. */
const UNSEEN = "SNK";

/** A client of PostgreSQL's protocol that sends what it is told, message by message. */
export class RawPostgresClient implements Disposable {
  readonly #socket: Socket;
  readonly #got: string[] = [];
  #came = Promise.withResolvers<void>();
  #isClosed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const reader = new MessageReader("");
    const sink = {
      message: (type: string, bytes: Buffer) => {
        if (!UNSEEN.includes(type)) this.#got.push(shown(type, bytes));
      },
      piece: () => undefined,
    };
    socket.on("data", (bytes) => {
      reader.push(bytes as Buffer, sink);
      this.#came.resolve();
    });
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      this.#isClosed = true;
      this.#came.resolve();
    });
  }

  /** A connection on which nothing was said yet, and the first packets for it. */
  static async reach(url: string): Promise<Reached> {
    const { host, port, user, database, password } = new pg.Client({ connectionString: url });
    const socket = connect(`${host}/.s.PGSQL.${port}`);
    await once(socket, "connect");
    const hello = startup(3 << 16, ["user", user ?? "", "database", database ?? ""]);
    return { socket, hello, password: message("p", String(password)) };
  }

  /** A client whose session has begun. */
  static async open(url: string): Promise<RawPostgresClient> {
    const { socket, hello, password } = await RawPostgresClient.reach(url);
    const client = new RawPostgresClient(socket);
    socket.write(Buffer.concat([hello, password]));
    await client.until("Z");
    return client;
  }

  send(...messages: readonly Buffer[]): void {
    this.#socket.write(Buffer.concat(messages));
  }

  /** All answers up to one of this type, in short; or up to the end of the connection. */
  async until(type: string): Promise<string> {
    for (;;) {
      const at = this.#got.findIndex((each) => each.startsWith(type));
      if (at >= 0) return this.#got.splice(0, at + 1).join(" ");
      if (this.#isClosed) return [...this.#got.splice(0), "closed"].join(" ");
      this.#came = Promise.withResolvers();
      await this.#came.promise;
    }
  }

  async ask(...messages: readonly Buffer[]): Promise<string> {
    this.send(...messages);
    return await this.until("Z");
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

interface Reached {
  readonly socket: Socket;
  readonly hello: Buffer;
  readonly password: Buffer;
}

function shown(type: string, bytes: Buffer): string {
  if (type === "E") return `E${errorFields(bytes)["C"]}`;
  if (type === "Z") return `Z${String.fromCharCode(bytes[5] ?? 0)}`;
  return type === "C" ? `C(${new ContentReader(bytes).text()})` : type;
}

/** The first packet of a client, for a version of the protocol. */
export function startup(version: number, words: readonly string[]): Buffer {
  const content = Buffer.from([...words, ""].map((word) => `${word}\0`).join(""));
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length + 8, 0);
  head.writeUInt32BE(version, 4);
  return Buffer.concat([head, content]);
}

export const query = (sql: string) => message("Q", sql);
export const parse = (name: string, sql: string) => message("P", name, sql, Buffer.alloc(2));
/** Binds a statement with parameters that are texts. */
export function bind(portal: string, name: string, ...values: readonly string[]): Buffer {
  const parts = values.map((value) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(value));
    return Buffer.concat([length, Buffer.from(value)]);
  });
  return message("B", portal, name, Buffer.from([0, 0, 0, values.length]), ...parts, Buffer.alloc(2));
}
/** Runs a portal; 0 is all of its rows. */
export const execute = (portal: string, most = 0) => message("E", portal, Buffer.from([0, 0, 0, most]));
