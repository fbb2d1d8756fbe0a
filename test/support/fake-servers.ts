import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

/** What a server does once somebody is in, or before it lets him in. */
export type Behaviour = "silent" | "flood" | "asks in the clear" | "asks under its key" | "deaf";

/**
 * A server of our own on 127.0.0.1 that speaks just enough of a protocol to get somebody to wait for it, or
 * to tell it something.
 */
abstract class FakeServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Everything that clients have sent. */
  #received = Buffer.alloc(0);
  sent = 0;

  constructor() {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("data", (bytes) => {
        this.#received = Buffer.concat([this.#received, bytes]);
        this.answer(socket, bytes);
      });
      this.greet(socket);
    });
  }

  async listen(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Whether somebody is connected. */
  get hasClient(): boolean {
    return this.#sockets.size > 0;
  }

  heard(text: string): boolean {
    return this.#received.includes(text);
  }

  protected abstract greet(socket: Socket): void;
  protected abstract answer(socket: Socket, bytes: Buffer): void;

  protected send(socket: Socket, bytes: Buffer): boolean {
    this.sent += bytes.length;
    return socket.write(bytes);
  }

  /** Sends the same again and again, as fast as it is taken. */
  protected async flood(socket: Socket, bytes: Buffer): Promise<void> {
    while (!socket.destroyed) {
      if (this.send(socket, bytes)) await new Promise((resolve) => setImmediate(resolve));
      else await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => undefined);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}

export class FakePostgres extends FakeServer {
  readonly #behaviour: Behaviour;
  readonly #greeted = new Set<Socket>();

  constructor(behaviour: Behaviour) {
    super();
    this.#behaviour = behaviour;
  }

  protected greet(): void {
    // The client speaks first.
  }

  protected answer(socket: Socket, bytes: Buffer): void {
    if (this.#behaviour === "deaf") return;
    const isFirst = !this.#greeted.has(socket);
    this.#greeted.add(socket);
    const asksForPassword = this.#behaviour === "asks in the clear";
    if (isFirst && asksForPassword) this.send(socket, message("R", int32(3)));
    else if (isFirst || bytes[0] === 0x70) this.send(socket, Buffer.concat([message("R", int32(0)), ready]));
    else if (this.#behaviour === "flood") {
      this.send(socket, Buffer.concat([message("1"), message("2"), message("T", oneField)]));
      void this.flood(socket, Buffer.concat(Array.from({ length: 1000 }, () => message("D", oneValue))));
    }
  }
}

function message(kind: string, payload: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from(kind), int32(payload.length + 4), payload]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

const ready = message("Z", Buffer.from("I"));
const oneField = Buffer.concat([
  Buffer.of(0, 1),
  Buffer.from("c\0"),
  Buffer.alloc(6),
  int32(25),
  Buffer.alloc(8),
]);
const oneValue = Buffer.concat([Buffer.of(0, 1), int32(200), Buffer.alloc(200, "x")]);

export class FakeMysql extends FakeServer {
  readonly #behaviour: Behaviour;
  readonly #steps = new WeakMap<Socket, number>();

  constructor(behaviour: Behaviour) {
    super();
    this.#behaviour = behaviour;
  }

  protected greet(socket: Socket): void {
    if (this.#behaviour !== "deaf") this.send(socket, packet(0, handshake));
  }

  protected answer(socket: Socket, bytes: Buffer): void {
    const step = (this.#steps.get(socket) ?? 0) + 1;
    this.#steps.set(socket, step);
    const sequence = (bytes[3] ?? 0) + 1;
    const way = this.#behaviour === "asks in the clear" ? "mysql_clear_password" : "caching_sha2_password";
    const asks = this.#behaviour === "asks in the clear" || this.#behaviour === "asks under its key";
    if (step === 1 && asks) this.send(socket, packet(sequence, authSwitch(way)));
    else if (step === 2 && this.#behaviour === "asks under its key")
      this.send(socket, packet(sequence, Buffer.of(1, 4)));
    else if (step === (asks ? 2 : 1)) this.send(socket, packet(sequence, ok));
    else if (this.#behaviour === "flood") {
      this.send(socket, Buffer.concat([packet(1, Buffer.of(1)), packet(2, column), packet(3, endOfColumns)]));
      const rows = Array.from({ length: 256 * 4 }, (_, at) =>
        packet((at + 4) % 256, Buffer.concat([Buffer.of(200), Buffer.alloc(200, "x")])),
      );
      void this.flood(socket, Buffer.concat(rows));
    }
  }
}

function packet(sequence: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUIntLE(payload.length, 0, 3);
  header[3] = sequence % 256;
  return Buffer.concat([header, payload]);
}

const CAPABILITIES = 0x8 | 0x200 | 0x2000 | 0x8000 | 0x80000;
const scramble = Buffer.from("abcdefghijklmnopqrst");
const handshake = Buffer.concat([
  Buffer.of(10),
  Buffer.from("8.0.36\0"),
  Buffer.of(7, 0, 0, 0),
  scramble.subarray(0, 8),
  Buffer.of(0, CAPABILITIES & 0xff, (CAPABILITIES >> 8) & 0xff, 45, 2, 0, (CAPABILITIES >> 16) & 0xff, 0, 21),
  Buffer.alloc(10),
  scramble.subarray(8),
  Buffer.from("\0mysql_native_password\0"),
]);
const ok = Buffer.of(0, 0, 0, 2, 0, 0, 0);
const endOfColumns = Buffer.of(0xfe, 0, 0, 2, 0);
const column = Buffer.concat([
  Buffer.from("\x03def\0\0\0\x01c\0\x0c"),
  Buffer.of(45, 0, 255, 0, 0, 0, 253, 0, 0, 0, 0, 0),
]);

function authSwitch(plugin: string): Buffer {
  return Buffer.concat([Buffer.of(0xfe), Buffer.from(`${plugin}\0`), scramble, Buffer.of(0)]);
}
