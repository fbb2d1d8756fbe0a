import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import { Workplace } from "../end-to-end/workplace.ts";
import { Served, textOf } from "./served.ts";

function connected(served: Served): Socket {
  return connect(served.address as { readonly port: number });
}

/** What comes back for these bytes, until the server ends the connection. */
async function answerTo(served: Served, bytes: string | Uint8Array): Promise<string> {
  const socket = connected(served);
  socket.on("error", () => undefined);
  socket.write(bytes);
  const pieces: Buffer[] = [];
  socket.on("data", (piece: Buffer) => pieces.push(piece));
  await closing(socket);
  return Buffer.concat(pieces).toString();
}

/** However it comes to that. */
async function closing(socket: Socket): Promise<void> {
  await new Promise<void>((resolve) => socket.once("close", () => resolve()));
}

async function problemOf(served: Served, path: string, headers: { readonly [name: string]: string }) {
  const answer = await served.raw(path, { headers });
  assert.equal(answer.headers["content-type"], "application/problem+json");
  return JSON.parse(await textOf(answer));
}

describe("what 'drydock serve' lets in", () => {
  it("[P5] is only a caller with the token, the right host and no foreign origin", async () => {
    using place = new Workplace();
    await using served = await Served.start(place, ["--listen", "127.0.0.1:0"]);
    const token = place.readAt(served.ready.tokenFile ?? "").trim();
    assert.ok(token.length > 40);
    for (const path of ["/v1/plans", "/v1/openapi.json", "/mcp", "/nowhere"]) {
      for (const authorization of [
        "",
        "Bearer",
        `Bearer ${token}x`,
        `Bearer ${token.slice(1)}`,
        `Basic ${token}`,
      ])
        assert.equal((await problemOf(served, path, { authorization })).code, "NO_TOKEN");
      for (const host of ["evil.example", "localhost.evil.example", `127.0.0.1.evil:${1}`, "127.0.0.2"])
        assert.equal((await problemOf(served, path, { host })).code, "FOREIGN_HOST");
      for (const origin of ["http://evil.example", "null", "https://localhost", "http://localhost:1"])
        assert.equal((await problemOf(served, path, { origin })).code, "FOREIGN_ORIGIN");
    }
    const fine = { host: "localhost:7", origin: "http://localhost:7" };
    assert.equal((await served.raw("/v1/plans", { headers: fine })).statusCode, 200);
    const approve = await served.raw("/v1/plans/x/approve", {
      ...{ method: "POST", headers: { "content-type": "application/json" }, body: '{"digest":"d"}' },
    });
    assert.deepEqual([approve.statusCode, JSON.parse(await textOf(approve)).code], [403, "NOT_ALLOWED"]);
  });

  it("[P5] is nothing from other machines, unless the user says so", () => {
    using place = new Workplace();
    for (const [address, wrong] of [
      ["0.0.0.0:0", /Other machines/],
      ["192.0.2.1:80", /Other machines/],
      ["nonsense", /no address/],
      ["127.0.0.1:99999", /no address/],
    ] as const) {
      const { status, stderr } = place.drydock(["serve", "--listen", address]);
      assert.deepEqual([status, wrong.test(stderr)], [2, true], stderr);
    }
  });

  it("[P5] is cut off when it is slow, huge or broken, and is in nobody's way meanwhile", async () => {
    using place = new Workplace();
    await using served = await Served.start(place, ["--listen", "127.0.0.1:0"]);
    const token = place.readAt(served.ready.tokenFile ?? "").trim();
    const head = `Host: localhost\r\nAuthorization: Bearer ${token}\r\n`;
    const slow = Array.from({ length: 50 }, () => {
      const socket = connected(served);
      socket.on("error", () => undefined);
      socket.write("GET /v1/version HTTP/1.1\r\nHo");
      return socket;
    });
    const closed = slow.map((socket) => closing(socket.resume()));
    for (const broken of [
      "nonsense\r\n\r\n",
      `GET /v1/version HTTP/9.9\r\n${head}\r\n`,
      `POST /v1/plans HTTP/1.1\r\n${head}Content-Length: x\r\n\r\n`,
      `POST /v1/plans HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
      `GET /v1/version HTTP/1.1\r\n${head}X: ${"x".repeat(100_000)}\r\n\r\n`,
      Uint8Array.from({ length: 5000 }, (_, at) => (at * 31) % 256),
    ])
      assert.match(await answerTo(served, broken), /^$|^HTTP\/1\.1 4\d\d /);
    const huge = `POST /v1/plans HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n{`;
    assert.match(await answerTo(served, huge), /^HTTP\/1\.1 413 .*"code":"BODY_TOO_LARGE"/s);
    for (let times = 0; times < 50; times += 1)
      assert.match(await textOf(await served.raw("/v1/version")), /stateDir/, "others are served");
    // An unfinished upload changes nothing, and holds no plan.
    place.folder("app", { "a.txt": "old\n" });
    place.done("plan", "create", "-r", "app", "--name", "p");
    const upload = connected(served);
    upload.write(`PUT /v1/plans/p/file?path=a.txt HTTP/1.1\r\n${head}Content-Length: 100\r\n\r\nhalf`);
    await textOf(await served.raw("/v1/version"));
    place.done("plan", "checkpoint", "p");
    upload.destroy();
    const { changes } = place.answer("plan", "diff", "p");
    assert.deepEqual(changes, []);
    await Promise.all(closed);
  });
});
