import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { program, Workplace } from "../end-to-end/workplace.ts";
import { TOOLS } from "./mcp-client.ts";
import { NpmTool } from "./npm-tool.ts";

/** Scenarios that any server must pass. The others call tools and prompts of the suite's sample server. */
const SCENARIOS = [
  "server-initialize",
  "server-session-lifecycle",
  "ping",
  "tools-list",
  "resources-list",
  "sep-2164-resource-not-found",
  "dns-rebinding-protection",
  "http-header-validation",
  "input-required-result-unsupported-methods",
];

describe("the MCP server and the protocol's own tools", () => {
  it("[P7] satisfies the Inspector in strict mode, without an error or a warning", async () => {
    using inspector = new NpmTool("@modelcontextprotocol/inspector", "2.12.0", ".bin/mcp-inspector");
    using place = new Workplace();
    const { status, stdout, stderr } = await inspector.run(
      ["--cli", program, "mcp", "--method", "tools/list", "--strict"],
      { cwd: place.path, env: place.environment },
    );
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(stderr, /^(?:Warning|Error)/m);
    const tools: readonly { readonly name: string }[] = JSON.parse(stdout).tools;
    assert.deepEqual(
      tools.map(({ name }) => name),
      TOOLS,
    );
  });

  it("[P7] passes the scenarios of the conformance suite that are about any server, over HTTP", async () => {
    using suite = new NpmTool("@modelcontextprotocol/conformance", "0.2.0-alpha.12", ".bin/conformance");
    using place = new Workplace();
    await using gate = await Gate.open(place);
    const check = (scenario: string) =>
      suite.run(["server", "--url", gate.url, "--scenario", scenario], {
        cwd: place.path,
        env: place.environment,
      });
    for (const scenario of SCENARIOS) {
      const { status, stdout, stderr } = await check(scenario);
      assert.equal(status, 0, `${scenario}: ${stdout}${stderr}`);
    }
    // Of these some checks need the sample server.
    for (const scenario of ["server-stateless", "caching"]) {
      const { stdout, stderr } = await check(scenario);
      assert.match(stdout, /SUCCESS/);
      const reasons = [...`${stdout}${stderr}`.matchAll(/^ {4}Error: (.*)$/gm)].map(([, why = ""]) => why);
      assert.ok(reasons.length > 0);
      const own = reasons.filter((why) => !/^Not testable: server does not list|^prompts\/list/.test(why));
      assert.deepEqual(own, [], scenario);
    }
  });
});

/** A server of Drydock, and a port in front of it that adds the token, which the suite can't send. */
class Gate implements AsyncDisposable {
  readonly url: string;
  readonly #close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  static async open(place: Workplace): Promise<Gate> {
    const drydock = place.start(["serve", "--listen", "127.0.0.1:0", "--json"]);
    await drydock.until(() => drydock.stdout.includes("\n"));
    const { url, tokenFile } = JSON.parse(drydock.stdout);
    const authorization = `Bearer ${place.readAt(tokenFile).trim()}`;
    const { port } = new URL(url);
    const front = createServer((incoming, outgoing) => {
      const headers = { ...incoming.headers, authorization };
      const { method, url: path } = incoming;
      const behind = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      behind.on("error", () => outgoing.destroy());
      incoming.pipe(behind);
    });
    front.listen(0, "127.0.0.1");
    await once(front, "listening");
    return new Gate(`http://127.0.0.1:${(front.address() as AddressInfo).port}/mcp`, async () => {
      front.closeAllConnections();
      front.close();
      drydock.signal("SIGTERM");
      await drydock.endedWithin(60);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}
