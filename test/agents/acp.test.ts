import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { assertRefused, program, Workplace } from "../end-to-end/workplace.ts";

const AGENT = [process.execPath, join(import.meta.dirname, "acp-agent-program.ts")];

describe("drydock acp", () => {
  it("lets an editor talk to an agent inside, which can't work through the editor, and keeps the plan", async () => {
    using place = new Workplace();
    const app = place.folder("app", { "prices.txt": "10\n" });
    const drydock = spawn(program, ["acp", "--name", "turns", "--", ...AGENT], {
      cwd: app,
      env: place.environment,
      stdio: ["pipe", "pipe", "pipe"],
    });
    const [stderr, ended] = [text(drydock.stderr), once(drydock, "close")];
    const asked: string[] = [];
    const said: string[] = [];
    const editor = client({ name: "editor" })
      .onRequest(methods.client.fs.writeTextFile, ({ params }) => {
        asked.push(params.path);
        return {};
      })
      .onRequest(methods.client.terminal.create, ({ params }) => {
        asked.push(params.command);
        return { terminalId: "one" };
      })
      .onNotification(methods.client.session.update, ({ params: { update } }) => {
        if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text")
          said.push(update.content.text);
      });
    const output = Writable.toWeb(drydock.stdin) as WritableStream<Uint8Array>;
    const input = Readable.toWeb(drydock.stdout) as unknown as ReadableStream<Uint8Array>;
    const answer = await editor.connectWith(ndJsonStream(output, input), async (agent) => {
      await agent.request(methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: {
          ...{ fs: { readTextFile: true, writeTextFile: true }, terminal: true },
          ...{ auth: { terminal: true }, _meta: { "terminal-auth": true, mine: 1 } },
        },
      });
      const { sessionId } = await agent.request(methods.agent.session.new, { cwd: app, mcpServers: [] });
      const prompt = [{ type: "text" as const, text: "ä".repeat(100_000) }];
      return await agent.request(methods.agent.session.prompt, { sessionId, prompt });
    });
    drydock.stdin.end();
    const [status] = await ended;
    assert.deepEqual([status, answer, asked], [7, { stopReason: "end_turn" }, []], await stderr);
    const { offered, write, run, inside, ...rest } = JSON.parse(said.join(""));
    // The SDK fills in what is missing.
    const none = {
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
      auth: { terminal: false },
    };
    assert.deepEqual(offered, { ...none, _meta: { mine: 1 } });
    for (const refused of [write, run])
      assert.match(refused, /is not offered: work with the files and commands/);
    assert.deepEqual(rest, { ran: "11\n", file: "11\n", escaped: false });

    assert.equal(place.read("app/prices.txt"), "10\n");
    assert.ok(!existsSync(join(app, "escaped")));
    assert.equal(place.answer("plan", "show", "turns").id, inside);
    assert.equal(place.done("plan", "read", "turns", "app", "prices.txt"), "11\n");
    assert.match(await stderr, /a word on stderr\n[\s\S]*prices\.txt \|[\s\S]*drydock plan apply/);
  });

  it("passes every other line as it is, in both directions, and takes the end of input for the end", () => {
    using place = new Workplace();
    place.folder("app", { a: "a" });
    const input = `{"method":"x","params":{"b":  1e2}}\nno json \xff\n${"y".repeat(200_000)}\n[1]\nlast`;
    const { status, stdout } = place.drydock(["acp", "-r", "app", "-q", "--", "cat"], { input });
    assert.deepEqual([status, stdout], [0, input]);
    assert.deepEqual(place.answer("plan", "list").plans, [], "a plan in which nothing changed is closed");
  });

  it("ends with its agent, and refuses what can't be", async () => {
    using place = new Workplace();
    place.folder("app", { a: "a" });
    const agent = ["sh", "-c", "echo b > a; exit 3"];
    assert.equal(place.drydock(["acp", "-r", "app", "--apply", "--", ...agent]).status, 3);
    assert.equal(place.read("app/a"), "a");
    const open = place.start(["acp", "-r", "app", "--", "sh", "-c", "exit 4"]);
    assert.equal((await open.endedWithin(60)).status, 4, "its input is still open");
    assert.equal(place.drydock(["acp", "-r", "app", "--", "no-such-agent"]).status, 127);
    assertRefused(place.drydock(["acp"]), 2, /There is no command/);
    const { status, stdout } = place.drydock(["acp", "--json", "--", "cat"]);
    assert.deepEqual([status, JSON.parse(stdout).error.code], [2, "USAGE"]);
  });
});
