import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";

/**
 * A small agent of the Agent Client Protocol. At each prompt it writes to prices.txt, by itself and through
 * the editor, whatever the editor offers, and answers with what came of it.
 */
let offered: unknown;
const program = agent({ name: "test" })
  .onRequest(methods.agent.initialize, ({ params }) => {
    offered = params.clientCapabilities;
    return { protocolVersion: PROTOCOL_VERSION, agentCapabilities: {} };
  })
  .onRequest(methods.agent.session.new, () => ({ sessionId: "one" }))
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const path = `${process.cwd()}/prices.txt`;
    writeFileSync(path, "11\n");
    const write = client
      .request(methods.client.fs.writeTextFile, { sessionId: "one", path, content: "99\n" })
      .then(() => "written", String);
    const run = client
      .request(methods.client.terminal.create, { sessionId: "one", command: "touch", args: ["escaped"] })
      .then(() => "started", String);
    const ran = execFileSync("cat", [path], { encoding: "utf8" });
    const said = { offered, write: await write, run: await run, ran, inside: process.env["DRYDOCK_PLAN"] };
    const text = JSON.stringify({ ...said, file: readFileSync(path, "utf8"), ...seen() });
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } as const;
    await client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
    console.error("a word on stderr");
    return { stopReason: "end_turn" };
  });

function seen(): object {
  return { escaped: existsSync("escaped") };
}

process.exitCode = 7;
const output = Writable.toWeb(process.stdout) as WritableStream<Uint8Array>;
const input = Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>;
program.connect(ndJsonStream(output, input));
