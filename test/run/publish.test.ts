import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { assertRefused, type Running } from "../end-to-end/workplace.ts";
import { ACTORS, ANY_ACTOR, inTurn, Stage } from "./stage.ts";
import { WalledStage } from "./walled-stage.ts";

/**
 * Sends back what it gets at port 3000, and has other servers at port 3001, and 3006 of IPv6. Ends when there
 * is input.
 */
const SERVER = `const { createServer } = require("node:net");
const echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket).on("error", () => {}));
const other = createServer((socket) => socket.end("other"));
const up = () => console.log("up");
const six = createServer((socket) => socket.end("six")).on("error", up);
echo.listen(3000, "127.0.0.1", () => other.listen(3001, "0.0.0.0", () => six.listen(3006, "::1", up)));
process.stdin.once("data", () => process.exit());
`;
/** How many connections can be open at once. */
const MOST = 64;

/** A command with the server, once that is up, and the ports that lead to it. */
async function serving(stage: Stage, published: readonly string[], env: NodeJS.ProcessEnv = {}) {
  stage.write("project/server.cjs", SERVER);
  stage.give();
  const publish = published.flatMap((port) => ["--publish", port]);
  const run = ["run", "--discard", "--network", "none", ...publish];
  const running = stage.start([...run, "--", process.execPath, "server.cjs"], env);
  await running.until(() => running.stdout.includes("up\n"));
  const told = () => [...running.stderr.matchAll(/^.*:(\d+) leads to port \d+ of the command\.$/gm)];
  await running.until(() => told().length === (published.length || 1));
  return { running, ports: told().map(([, port]) => Number(port)) };
}

/** What a server at a port of the loopback answers, or the code of the error. */
async function answer(port: number, said: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
  const heard = text(socket).catch(({ code }: NodeJS.ErrnoException) => String(code));
  socket.end(said);
  return await heard;
}

/** A connection to the server that sends back what it gets. */
async function connected(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.write("a");
  await once(socket, "data");
  return socket;
}

/** The addresses and ports at which processes of this machine listen, as /proc has them. */
function listening() {
  const files = ["/proc/net/tcp", "/proc/net/tcp6"].filter((file) => existsSync(file));
  const rows = files.flatMap((file) => readFileSync(file, "latin1").split("\n"));
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/);
    return state === "0A" ? [{ local, link: `socket:[${inode}]` }] : [];
  });
}

/** Those of one process. */
function listeningOf({ pid }: Running): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  const links = readdirSync(folder).map((name) => linkOf(join(folder, name)));
  return listening().flatMap(({ local, link }) => (links.includes(link) ? [local] : []));
}

/** A port of the loopback, as /proc has it. */
function onLoopback(port: number): string {
  return `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}

function isListenedAt(port: number): boolean {
  return listening().some(({ local }) => local === onLoopback(port));
}

/** Empty if the descriptor is closed by now. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw thrown;
  }
}

for (const actor of ACTORS) {
  describe(`A published port of a command of ${actor}`, () => {
    const it = inTurn(actor);
    it("[I13] leads from the loopback to one server inside, until the command ends", async () => {
      using stage = new Stage(actor);
      const { running, ports } = await serving(stage, ["0:3000", "0:3009", "0:3006"]);
      const [echo = 0, nothing = 0, six = 0] = ports;
      assert.deepEqual(listeningOf(running).toSorted(), ports.map(onLoopback).toSorted());
      const long = "0123456789".repeat(300_000);
      assert.ok((await answer(echo, long)) === long);
      assert.equal(await answer(nothing, "hello"), "ECONNRESET");
      assert.equal(await answer(six, ""), existsSync("/proc/net/if_inet6") ? "six" : "ECONNRESET");
      for (let at = 0; at < 2 * MOST; at += 1) assert.equal(await answer(echo, `${at}`), `${at}`);
      const open: Socket[] = [];
      for (let at = 0; at < MOST; at += 1) open.push(await connected(echo));
      assert.equal(await answer(echo, "one too many"), "ECONNRESET");
      for (const socket of open) socket.resetAndDestroy();
      for (let tries = 0; (await answer(echo, "again")) !== "again"; tries += 1) {
        assert.ok(tries < 1000, "a connection that broke is not given back");
        await setTimeout(10);
      }
      const taken = stage.inside("echo ran", "--network", "none", "--publish", `${echo}:3000`);
      assertRefused(taken, 2, /can't be published: another program listens there/, /0:3000/);
      running.input("end\n");
      assert.equal((await running.endedWithin(60)).status, 0);
      assert.deepEqual(ports.filter(isListenedAt), []);
    });

    it("[I13] of the user's config is gone when Drydock is killed, with the command", async () => {
      using stage = new Stage(actor);
      stage.write("home/.config/drydock/config.yaml", 'run: { ports: ["0:3000"] }\n');
      const { running, ports } = await serving(stage, [], { HOME: stage.home });
      const [echo = 0] = ports;
      const socket = (await connected(echo)).on("error", () => undefined);
      const closed = once(socket, "close");
      running.signal("SIGKILL");
      await running.ended();
      await closed;
      assert.ok(!isListenedAt(echo));
    });
  });
}

for (const actor of ANY_ACTOR) {
  describe(`The option --publish of ${actor}`, () => {
    it("is refused for a port of another program, with an open network, and without namespaces", async () => {
      using stage = new Stage(actor);
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      try {
        const { port } = server.address() as AddressInfo;
        const none = ["--network", "none", "--publish", String(port)];
        assertRefused(stage.inside("echo ran", ...none), 2, /another program listens there/);
        assertRefused(stage.inside("echo ran", "--publish", "0:80"), 2, /uses this machine's network/);
        assertRefused(stage.inside("echo ran", "--publish", "a:80"), 2, /'a:80' names no port/);
        using walled = new WalledStage(actor);
        const options = ["--network", "none", "--publish", "0:80"];
        const { status, stdout, stderr } = walled.inside("echo ran", ...options);
        assert.deepEqual([status !== 0, stdout], [true, ""]);
        assert.match(stderr, /No port can be published here/);
      } finally {
        server.close();
      }
    });

    it("[I6, I14] is explained, and so are the ports of the user's config, which a project's narrows", () => {
      using stage = new Stage(actor);
      stage.write("home/.config/drydock/config.yaml", 'run: { ports: ["0:3000", "81:3001"] }\n');
      stage.write("project/drydock.yaml", 'run: { ports: ["0:3000", "82:3002"] }\n');
      stage.give();
      const env = { HOME: stage.home, DRYDOCK_CONFIG: "drydock.yaml" };
      const explain = ["run", "--explain", "--network", "none", "--publish", "0.0.0.0:80:3000"];
      const { published, refused } = JSON.parse(stage.drydock(["--json", ...explain], { env }).stdout);
      assert.deepEqual(published, [
        { address: "127.0.0.1:0", inside: 3000, from: `${stage.home}/.config/drydock/config.yaml:1:16` },
        { address: "0.0.0.0:80", inside: 3000, from: "--publish" },
      ]);
      assert.deepEqual(refused, [{ path: "82:3002", from: `${stage.project}/drydock.yaml:1:26` }]);
      assert.match(stage.drydock(explain, { env }).stdout, /0\.0\.0\.0:80, its port 3000 +--publish/);
      const open = JSON.parse(stage.drydock(["--json", "run", "--explain"], { env }).stdout);
      assert.deepEqual(open.published, []);
    });
  });
}
