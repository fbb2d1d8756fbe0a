import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { destinationOf, endpointKey } from "./server-addresses.ts";

describe("the address of a server", () => {
  it("is the same however it is written", () => {
    const local = endpointKey("127.0.0.1", 5432);
    for (const address of [
      "127.9.9.9",
      "0.0.0.0",
      "::1",
      "::",
      "::ffff:127.0.0.1",
      "0:0:0:0:0:0:0:1",
      "::1%lo",
    ])
      assert.equal(endpointKey(address, 5432), local, address);
    assert.notEqual(endpointKey("127.0.0.1", 5433), local);
    assert.equal(endpointKey("::FFFF:10.1.2.3", 1), endpointKey("10.1.2.3", 1));
    assert.equal(endpointKey("FE80::0a", 1), endpointKey("fe80:0:0:0:0:0:0:a", 1));
    assert.notEqual(endpointKey("10.0.0.1", 1), endpointKey("10.0.0.2", 1));
  });

  it("is read from what a program gives the kernel", () => {
    const four = Buffer.from([2, 0, 0x15, 0x38, 10, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert.deepEqual(destinationOf(four), { address: "10.1.2.3", port: 5432 });
    const six = Buffer.alloc(28);
    six.set([10, 0, 0x15, 0x38]);
    six[23] = 1;
    assert.deepEqual(destinationOf(six), { address: "0:0:0:0:0:0:0:1", port: 5432 });
    assert.deepEqual(destinationOf(Buffer.from("\x01\0/run/x.sock\0garbage")), { path: "/run/x.sock" });
    for (const other of [
      Buffer.alloc(0),
      Buffer.from([2, 0]),
      Buffer.from("\x01\0\0abstract"),
      Buffer.from([16, 0, 0, 0]),
    ])
      assert.equal(destinationOf(other), undefined);
  });
});
