import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, it } from "node:test";
import { parseNetworkRules } from "../../system/network/network-rule.ts";
import { DeniedRequests } from "./denied-requests.ts";
import { DeniedError, NetworkGate, type Resolve } from "./gate.ts";

function gate(lines: readonly string[], resolve: Resolve) {
  const denied = new DeniedRequests();
  return { denied, gate: new NetworkGate(lines.flatMap(parseNetworkRules), denied, resolve) };
}

describe("The gate of a command's network", () => {
  it("[I4] asks no resolver about a name that is not allowed", async () => {
    const { gate: made, denied } = gate(["example.com"], () => assert.fail("it asked"));
    for (const host of ["example.net", "secret.example.com", "example.com\u0000.net", ""])
      await assert.rejects(made.allowed(host, 443), DeniedError);
    await assert.rejects(made.allowed("example.com", 22), DeniedError);
    assert.equal(denied.list.length, 5);
  });

  it("[I4] refuses a name that leads to this machine, its network or a metadata service", async () => {
    for (const address of ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "fd00:ec2::254"]) {
      const { gate: made } = gate(["*:*"], () => Promise.resolve([address]));
      await assert.rejects(made.allowed("example.com", 80), /leads to/, address);
      await assert.rejects(made.allowed(address, 80), DeniedError, address);
    }
  });

  it("[I4] connects to the address that it checked, whatever the name leads to a moment later", async () => {
    const server = createServer((socket) => socket.end("here")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    try {
      let asked = 0;
      const lines = [`example.com:${port}`, `127.0.0.1:${port}`];
      const { gate: made } = gate(lines, () =>
        Promise.resolve(asked++ === 0 ? ["127.0.0.1"] : ["127.0.0.2"]),
      );
      const socket = await made.connect("EXAMPLE.com.", port);
      const [said] = await once(socket, "data");
      assert.deepEqual([String(said), asked], ["here", 1]);
      socket.destroy();
      await assert.rejects(made.connect("example.com", port), DeniedError);
    } finally {
      server.close();
    }
  });

  it("takes of several addresses those that are allowed", async () => {
    const { gate: made } = gate(["example.com"], () => Promise.resolve(["10.0.0.1", "1.1.1.1"]));
    assert.deepEqual(await made.allowed("example.com", 443), ["1.1.1.1"]);
  });

  it("remembers a bounded number of what it denied", async () => {
    const { gate: made, denied } = gate([], () => assert.fail("it asked"));
    for (let at = 0; at < 200; at += 1) await assert.rejects(made.allowed(`${at}.example.com`, 443));
    await assert.rejects(made.allowed("0.example.com", 443));
    assert.deepEqual([denied.list.length, denied.others, denied.list[0]?.times], [50, 150, 2]);
  });
});
