import type { Socket } from "node:net";

/** The part of the driver's own connection that this needs. */
interface DriverConnection {
  readonly stream: Socket;
  parse(query: { readonly text: string }): void;
  bind(values: object): void;
  execute(limits: object): void;
  flush(): void;
  sync(): void;
  sendCopyFromChunk(bytes: Buffer): void;
  endCopyFrom(): void;
}

const PIECE = 1 << 16;

/**
 * A COPY … FROM stdin with its data, as the driver's queue takes it. The text goes by the extended protocol,
 * because the server then refuses one with several statements. The server ignores what comes between an error
 * and a Sync, and a Sync before the end of the data; so the one Sync follows the end or an error.
 */
export class CopyIn {
  readonly #sql: string;
  readonly #data: string;
  readonly #copied = Promise.withResolvers<number>();
  #isSynced = false;
  #rows = 0;

  constructor(sql: string, data: string) {
    this.#sql = sql;
    this.#data = data;
  }

  /** How many rows were copied, once the server says so. */
  get copied(): Promise<number> {
    return this.#copied.promise;
  }

  submit(connection: DriverConnection): void {
    connection.parse({ text: this.#sql });
    connection.bind({});
    connection.execute({});
    connection.flush();
  }

  handleCopyInResponse(connection: DriverConnection): void {
    this.#send(connection).catch((error: unknown) => connection.stream.destroy(error as Error));
  }

  handleCommandComplete({ text }: { readonly text: string }, connection: DriverConnection): void {
    this.#rows = Number(/\d+$/.exec(text)?.[0] ?? 0);
    this.#sync(connection);
  }

  handleEmptyQuery(connection: DriverConnection): void {
    this.#sync(connection);
  }

  handleError(error: unknown, connection: DriverConnection): void {
    this.#sync(connection);
    this.#copied.reject(error);
  }

  handleReadyForQuery(): void {
    this.#copied.resolve(this.#rows);
  }

  handleRowDescription(): void {
    // A COPY of data has none.
  }

  handleDataRow(): void {
    // The same.
  }

  /** In pieces, at the pace of the server. */
  async #send(connection: DriverConnection): Promise<void> {
    const { stream } = connection;
    for (let at = 0; at < this.#data.length && !this.#isSynced; ) {
      // A character of two units stays whole.
      const isHalf = /[\ud800-\udbff]/.test(this.#data[at + PIECE - 1] ?? "");
      const end = at + (isHalf ? PIECE - 1 : PIECE);
      connection.sendCopyFromChunk(Buffer.from(this.#data.slice(at, end)));
      at = end;
      if (stream.writableNeedDrain) await drained(stream);
    }
    if (this.#isSynced) return;
    connection.endCopyFrom();
    this.#sync(connection);
  }

  #sync(connection: DriverConnection): void {
    if (this.#isSynced) return;
    this.#isSynced = true;
    if (connection.stream.writable) connection.sync();
  }
}

async function drained(stream: Socket): Promise<void> {
  if (stream.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  stream.once("drain", resolve);
  stream.once("close", resolve);
  await promise;
  stream.off("drain", resolve);
  stream.off("close", resolve);
}
