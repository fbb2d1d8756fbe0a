import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";

export const NATIVE = "mysql_native_password";

/** The password of a plan's clients. */
export function keyIn(url: string): string {
  return /:\/\/[^:]*:([^@]*)@/.exec(url)?.[1] ?? "";
}

/** A client that sends what it is told to, and shows the answers in short. */
export class RawMysqlClient implements Disposable {
  readonly socket: Socket;
  #got = Buffer.alloc(0);
  #isClosed = false;
  #salt = Buffer.alloc(0);
  #came = Promise.withResolvers<void>();

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("data", (bytes: Buffer) => {
      this.#got = Buffer.concat([this.#got, bytes]);
      this.#came.resolve();
    });
    socket.on("close", () => {
      this.#isClosed = true;
      this.#came.resolve();
    });
  }

  /** Reaches the socket, and takes the greeting. */
  static async reach(url: string): Promise<RawMysqlClient> {
    const socket = connect(new URLSearchParams(url.split("?")[1]).get("socket") ?? "");
    const client = new RawMysqlClient(socket);
    await client.#takeGreeting();
    return client;
  }

  async #takeGreeting(): Promise<void> {
    const greeting = Buffer.from(await this.packet(), "latin1");
    const start = greeting.indexOf(0, 1) + 5;
    this.#salt = Buffer.concat([
      greeting.subarray(start, start + 8),
      greeting.subarray(start + 27, start + 39),
    ]);
  }

  /** Logs in, and takes the answer. */
  static async open(url: string): Promise<RawMysqlClient> {
    const client = await RawMysqlClient.reach(url);
    client.send(login(NATIVE, client.proof(keyIn(url))), 1);
    assert.equal(await client.packet(), "OK 2");
    return client;
  }

  /** What shows that a client knows a password. */
  proof(password: string, method = NATIVE): Buffer {
    const digest = (...parts: readonly Buffer[]) =>
      createHash(method === NATIVE ? "sha1" : "sha256")
        .update(Buffer.concat(parts))
        .digest();
    const once = digest(Buffer.from(password));
    const mask = method === NATIVE ? digest(this.#salt, digest(once)) : digest(digest(once), this.#salt);
    return Buffer.from(once.map((byte, at) => byte ^ (mask[at] ?? 0)));
  }

  /** Sends a packet. */
  send(content: Buffer, sequence = 0): void {
    const head = Buffer.alloc(4);
    head.writeUIntLE(content.length, 0, 3);
    head[3] = sequence;
    this.socket.write(Buffer.concat([head, content]));
  }

  /** Sends a command, and gives the first packet of its answer. */
  async ask(...content: readonly Buffer[]): Promise<string> {
    for (const each of content) this.send(each);
    return await this.packet();
  }

  /** The next packet: OK and the flags of its transaction, an error, its bytes, or "closed". */
  async packet(): Promise<string> {
    for (;;) {
      const length = this.#got.length < 4 ? undefined : this.#got.readUIntLE(0, 3);
      if (length !== undefined && this.#got.length >= 4 + length) {
        const content = this.#got.subarray(4, 4 + length);
        this.#got = this.#got.subarray(4 + length);
        return shown(content);
      }
      if (this.#isClosed) return "closed";
      this.#came = Promise.withResolvers();
      await this.#came.promise;
    }
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

function shown(content: Buffer): string {
  if (content[0] === 0 && content.length >= 7 && content.length < 12)
    return `OK ${content.readUInt16LE(3) & 3}`;
  if (content[0] === 0xff) return `E${content.readUInt16LE(1)}`;
  return content.toString("latin1");
}

/** The first words of a client. */
export function login(method: string, proof: Buffer): Buffer {
  const fixed = Buffer.alloc(32);
  // Protocol 4.1, transactions, secure connection, several results, methods by name.
  fixed.writeUInt32LE((1 << 9) | (1 << 13) | (1 << 15) | (1 << 16) | (1 << 17) | (1 << 19), 0);
  fixed[8] = 45;
  const user = Buffer.from("anyone\0");
  return Buffer.concat([
    fixed,
    user,
    Buffer.of(proof.length),
    Buffer.from(proof),
    Buffer.from(`${method}\0`),
  ]);
}

export function command(code: number, content: string | Buffer = ""): Buffer {
  return Buffer.concat([Buffer.of(code), Buffer.from(content)]);
}
