import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { ACTORS, ANY_ACTOR, Stage } from "./stage.ts";
import { WalledStage } from "./walled-stage.ts";

const PROBE = fileURLToPath(new URL("./network-probe.cjs", import.meta.url));

/** A server of the host's loopback, which remembers what it was asked for. */
class HostServer implements Disposable {
  readonly asked: string[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer(async (request, response) => {
      let body = "";
      for await (const part of request.setEncoding("utf8")) body += part;
      this.asked.push(`${request.method} ${request.headers.host ?? ""}${request.url}${body && ` ${body}`}`);
      response.setHeader("Connection", "close").end("here");
    });
  }

  static async start(): Promise<HostServer> {
    const made = new HostServer();
    await once(made.#server.listen(0, "127.0.0.1"), "listening");
    return made;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  [Symbol.dispose](): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** A stage with the probe in its project. */
function probing(stage: Stage): readonly string[] {
  copyFileSync(PROBE, join(stage.project, "probe.cjs"));
  stage.give();
  return [process.execPath, "probe.cjs"];
}

for (const actor of ACTORS) {
  describe(`The network of commands of ${actor}`, () => {
    it("[I4, I14] leads to what is allowed, by no other way and by no other name, and all that was denied is told", async () => {
      using stage = new Stage(actor);
      using allowed = await HostServer.start();
      using other = await HostServer.start();
      const probe = [...probing(stage), String(allowed.port), String(other.port)];
      const id = stage.drydock(["plan", "create", "-r", stage.project]).stdout.trim();
      const lines = `localhost:${allowed.port},127.0.0.1:${allowed.port},localhost:${other.port}`;
      const exec = ["--json", "plan", "exec", id, "--network", `allow=${lines}`, "--", ...probe];
      const ended = await stage.start(exec).endedWithin(120);
      const { stdout, denied } = JSON.parse(ended.stdout);
      const { "allowed, plain": plain, ...found } = JSON.parse(stdout);
      const first = (text: string) => text.split("\r\n")[0];
      assert.match(plain, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n.*here/);
      assert.match(
        found["other port"],
        /403 Forbidden[\s\S]*leads to 127\.0\.0\.1, an address of this machine/,
      );
      assert.match(found["second request"], /200 OK[\s\S]*403 Forbidden/);
      const answers = Object.entries(found).map(([name, text]) => [name, first(String(text))]);
      const ok = "HTTP/1.1 200 OK";
      const no = "HTTP/1.1 403 Forbidden";
      const bad = "HTTP/1.1 400 Bad Request";
      assert.deepEqual(Object.fromEntries(answers), {
        "direct loopback": "ECONNREFUSED",
        "direct loopback, IPv6": "ECONNREFUSED",
        "direct address": "ENETUNREACH",
        "direct address, IPv6": "ENETUNREACH",
        "allowed, tunnel": "HTTP/1.1 200 Connection established",
        "allowed, upload": ok,
        "other port": no,
        "other port by address": no,
        "other port, IPv6": no,
        "other port, mapped": no,
        "other port, as a number": no,
        "other port, behind a user": no,
        metadata: no,
        "metadata, plain": no,
        "metadata, IPv6": no,
        "every address": no,
        "unknown name": no,
        "no target": bad,
        file: bad,
        "second request": ok,
        "two lengths": bad,
      });
      assert.deepEqual(other.asked, []);
      const host = `localhost:${allowed.port}`;
      assert.deepEqual(allowed.asked, [
        `GET ${host}/plain`,
        "GET inner/tunnel",
        `POST ${host}/upload body`,
        `GET ${host}/first`,
      ]);
      const destinations = denied.map(({ destination }: { destination: string }) => destination);
      assert.ok(destinations.includes("example.com:443"), String(destinations));
      assert.match(ended.stderr, /The command was not allowed to reach .*; example\.com:443/);
      const { entries } = JSON.parse(stage.drydock(["--json", "plan", "log", id]).stdout);
      const executed = entries.find(({ event }: { event: string }) => event === "executed");
      assert.deepEqual(executed.details.denied, denied);
    });
  });
}

for (const actor of ANY_ACTOR) {
  describe(`The policy about the network of commands of ${actor}`, () => {
    it("[I4] reaches the machine's servers if it is open, which it is unless the user says otherwise", async () => {
      using stage = new Stage(actor);
      using server = await HostServer.start();
      const reach = ["curl", "-sS", "--noproxy", "*", `http://127.0.0.1:${server.port}/`];
      const open = await stage.start(["run", "--discard", "--", ...reach]).endedWithin(60);
      assert.equal(open.stdout, "here", open.stderr);
      stage.write("home/.config/drydock/config.yaml", "run: { network: { mode: none } }\n");
      stage.give();
      const env = { HOME: stage.home };
      const none = await stage.start(["run", "--discard", "--", ...reach], env).endedWithin(60);
      assert.match(none.stderr, /Failed to connect|Couldn't connect/);
      const asked = ["run", "--discard", "--network", "open", "--", ...reach];
      assert.equal((await stage.start(asked, env).endedWithin(60)).stdout, "here");
    });

    it("[I6, I14] is narrowed by a project's config and never widened, and explained", () => {
      using stage = new Stage(actor);
      const explain = (user: string, project: string, ...args: readonly string[]) => {
        stage.write("home/.config/drydock/config.yaml", `run: { network: ${user} }\n`);
        stage.write("project/drydock.yaml", `run: { network: ${project} }\n`);
        stage.give();
        const env = { HOME: stage.home, DRYDOCK_CONFIG: "drydock.yaml" };
        const { stdout, stderr } = stage.drydock(["--json", "run", "--explain", ...args], { env });
        assert.notEqual(stdout, "", stderr);
        const { network, reachable, refused } = JSON.parse(stdout);
        const names = reachable.map(({ destination }: { destination: string }) => destination);
        return [network, names, refused.map(({ path }: { path: string }) => path)];
      };
      assert.deepEqual(explain("{}", "{ mode: none }"), ["none", [], []]);
      assert.deepEqual(explain("{ mode: none }", "{ mode: open }"), ["none", [], ["an open network"]]);
      assert.deepEqual(explain("{ allow: ['*.a.net', b.net] }", "{ allow: [x.a.net, c.net] }"), [
        ...["allow", ["x.a.net"], ["c.net"]],
      ]);
      assert.deepEqual(explain("{ mode: none }", "{}", "--network", "allow=b.net:*", "--", "claude"), [
        ...["allow", ["b.net:*", "*.anthropic.com:443", "claude.ai:443", "platform.claude.com:443"], []],
      ]);
      assert.deepEqual(explain("{}", "{}", "--", "claude"), ["open", [], []]);
    });

    it("refuses to allow some names where there are no namespaces", () => {
      using stage = new WalledStage(actor);
      const { status, stderr } = stage.inside("echo ran", "--network", "allow=example.com");
      assert.notEqual(status, 0);
      assert.match(stderr, /network can't be limited to some names here/);
    });
  });
}
