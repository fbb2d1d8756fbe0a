import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import { RequestGate } from "./request-gate.ts";

/** A server that notes what it gets, and answers it. */
class Listener implements AsyncDisposable {
  readonly got: string[] = [];
  readonly #server = createServer((socket) => {
    socket.setEncoding("utf8").on("data", (text: string) => {
      this.got.push(text);
      socket.write(`got ${text}`);
    });
    socket.on("error", () => socket.destroy());
  });

  async start(): Promise<RequestGate> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    assert.ok(address !== null && typeof address === "object");
    return await RequestGate.open({ host: "127.0.0.1", port: address.port });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    await once(this.#server, "close");
  }
}

async function client(gate: RequestGate): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port: gate.port });
  await once(socket, "connect");
  return socket.setEncoding("utf8");
}

async function asks(socket: Socket, text: string): Promise<string> {
  const answered = once(socket, "data");
  socket.write(text);
  return String((await answered)[0]);
}

describe("[B9] a gate before a server", () => {
  it("hands a request over that its client has not lived to see answered, and lets others pass meanwhile", async () => {
    await using listener = new Listener();
    await using gate = await listener.start();
    const others = await client(gate);
    assert.equal(await asks(others, "early"), "got early");
    const held = gate.holdWhen(() => true);
    const victim = await client(gate);
    victim.write("late");
    await held;
    victim.resetAndDestroy();
    gate.admitOthers();
    assert.equal(await asks(others, "meanwhile"), "got meanwhile");
    assert.deepEqual(listener.got, ["early", "meanwhile"]);
    await gate.release();
    assert.deepEqual(listener.got, ["early", "meanwhile", "late"]);
    others.destroy();
  });

  it("hands it over right before what somebody else sends as the so-manyth thing", async () => {
    await using listener = new Listener();
    await using gate = await listener.start();
    const held = gate.holdWhen(() => true);
    const victim = await client(gate);
    victim.write("late");
    await held;
    victim.destroy();
    gate.admitOthers(1);
    const others = await client(gate);
    assert.equal(await asks(others, "look"), "got look");
    assert.equal(await asks(others, "act"), "got act");
    assert.deepEqual(listener.got, ["look", "late", "act"]);
    others.destroy();
  });
});
