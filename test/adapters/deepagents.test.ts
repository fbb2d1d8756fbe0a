import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import {
  CompositeBackend,
  createDeepAgent,
  isSandboxBackend,
  type SandboxBackendProtocolV2,
  StateBackend,
} from "deepagents";
import { sandboxBackend } from "drydock-sandbox/deepagents";
import { Site } from "./site.ts";

describe("a plan as the backend of deepagents", () => {
  let site: Site;
  let backend: Required<SandboxBackendProtocolV2>;
  before(async () => {
    site = await Site.open();
    backend = await sandboxBackend(site.plan);
  });
  after(async () => site[Symbol.asyncDispose]());

  it("[P12] lets the tools of an agent work in the plan, and the originals stay as they are", async () => {
    assert.ok(isSandboxBackend(backend));
    const at = (path: string) => site.at(`website/${path}`);
    const calls: [string, Record<string, unknown>][] = [
      ["ls", { path: "/" }],
      ["write_file", { file_path: at("agent/new.txt"), content: "first line\n" }],
      ["edit_file", { file_path: at("agent/new.txt"), old_string: "first", new_string: "$& only" }],
      ["read_file", { file_path: at("agent/new.txt") }],
      ["grep", { pattern: "only line", path: at("agent"), output_mode: "content" }],
      ["glob", { pattern: "**/*.txt", path: at("agent") }],
      ["execute", { command: "seq 30000" }],
    ];
    const model = calls.reduce(
      (built, [name, args], index) => built.respondWithTools([{ name, args, id: `call-${index}` }]),
      fakeModel(),
    );
    const agent = createDeepAgent({
      model: model.respond(new AIMessage("Done.")),
      backend: new CompositeBackend(backend, { "/large_tool_results/": new StateBackend() }),
    });
    const { messages } = await agent.invoke({ messages: [{ role: "user", content: "Work." }] });
    const answers = (messages as BaseMessage[])
      .filter((message) => ToolMessage.isInstance(message))
      .map(({ text }) => text);
    const expected = [
      new RegExp(`${site.at("website")}/`),
      /agent\/new.txt/,
      /agent\/new.txt/,
      /\$& only line/,
      /\$& only line/,
      /agent\/new.txt/,
      /\/large_tool_results\/call-6/,
    ];
    assert.equal(answers.length, expected.length);
    for (const [at, pattern] of expected.entries()) assert.match(answers[at] ?? "", pattern);
    assert.deepEqual(await site.changes(), ["added website/agent", "added website/agent/new.txt"]);
    assert.throws(() => site.original("website/agent/new.txt"), { code: "ENOENT" });
  });

  it("[P12] runs commands with both outputs in the order in which they were written", async () => {
    const command = "pwd; echo one; echo two >&2; echo three; exit 4";
    assert.deepEqual(await backend.execute(command), {
      output: `${site.at("website")}\none\ntwo\nthree\n`,
      exitCode: 4,
      truncated: false,
    });
    const short = await sandboxBackend(site.plan, { commands: { maxOutputBytes: 100 } });
    assert.equal((await short.execute("seq 1000")).truncated, true);
  });

  it("[P12] reads pages of texts, and all of what is none", async () => {
    const about = site.at("website/pages/about.txt");
    assert.deepEqual(await backend.read(about, 1, 2), {
      content: "two\nthree",
      mimeType: "text/plain",
      totalLines: 4,
      startLine: 2,
      endLine: 3,
      nextOffset: 3,
    });
    assert.equal((await backend.read(site.at("website/folder-link/about.txt"), 3)).content, "four");
    assert.match((await backend.read(about, 4)).error ?? "", /has 4 lines/);
    const { content, mimeType } = await backend.read(site.at("website/logo.png"));
    assert.deepEqual([content?.length, mimeType], [6, "image/png"]);
    const { data } = await backend.readRaw(about);
    assert.equal(data?.content, "one\ntwo\nthree\nfour\n");
    assert.ok(Date.parse(data?.modified_at ?? "") > 0);
    for (const path of [site.at("website/none"), "/etc/passwd", site.at("website/out"), site.at("website")]) {
      assert.ok((await backend.read(path)).error);
      assert.ok((await backend.readRaw(path)).error);
    }
  });

  it("[P12] changes a text only where it is clear what is meant", async () => {
    const path = site.at("settings/words");
    assert.deepEqual(await backend.write(path, "a b a"), { path, filesUpdate: null });
    assert.match((await backend.edit(path, "a", "c")).error ?? "", /2 times/);
    assert.match((await backend.edit(path, "z", "c")).error ?? "", /does not hold/);
    assert.match((await backend.edit(path, "", "c")).error ?? "", /does not hold/);
    assert.equal((await backend.edit(path, "a", "c", true)).occurrences, 2);
    assert.equal((await backend.read(path)).content, "c b c");
    await backend.write(path, "");
    assert.equal((await backend.edit(path, "", "filled")).occurrences, 1);
    assert.equal((await backend.read(path)).content, "filled");
    assert.match((await backend.edit(site.at("website/logo.png"), "P", "Q")).error ?? "", /no text/);
    await backend.write(site.at("website/dot.gif"), Buffer.from([0, 255]).toString("base64"));
    assert.deepEqual((await backend.read(site.at("website/dot.gif"))).content, Buffer.from([0, 255]));
  });

  it("[P12] finds files by their names and by what is in them, in one folder or in all", async () => {
    const found = async (pattern: string, path?: string) =>
      (await backend.glob(pattern, path)).files?.map((file) => file.path);
    assert.deepEqual(await found("port"), [site.at("settings/port")]);
    assert.deepEqual(await found("*.{html,txt}", site.at("website")), [site.at("website/index.html")]);
    assert.deepEqual(await found("**/about.*"), [site.at("website/pages/about.txt")]);
    assert.ok((await backend.glob("*", site.at("website/none"))).error);
    const match = { path: site.at("website/pages/about.txt"), line: 2, text: "two" };
    assert.deepEqual(await backend.grep("two"), { matches: [match] });
    assert.deepEqual(await backend.grep("-e", site.at("website")), { matches: [] });
    assert.deepEqual(await backend.grep("two", site.at("website"), "*.html"), { matches: [] });
    assert.deepEqual(await backend.grep("o", site.at("website/pages"), null, 1), {
      matches: [{ ...match, line: 1, text: "one" }],
      truncated: true,
    });
    assert.match((await backend.grep("two", site.at("website/none"))).error ?? "", /No such file/);
    assert.ok((await backend.grep("root", "/etc")).error);
  });

  it("[P12] lists folders, and deletes what is in them", async () => {
    const names = async (path: string) => (await backend.ls(path)).files?.map((file) => file.path);
    assert.deepEqual(await names("/"), [site.at("website/"), site.at("settings/")]);
    assert.ok((await names(site.at("website")))?.includes(site.at("website/pages/")));
    assert.ok((await backend.ls(site.at("website/none"))).error);
    assert.ok((await backend.ls("/etc")).error);
    const path = site.at("website/pages");
    assert.deepEqual(await backend.delete(path), { path, filesUpdate: null });
    assert.ok((await backend.delete(path)).error);
    assert.ok((await backend.delete("/etc/hostname")).error);
  });

  it("[P12] takes and hands out many files at once, each with an answer of its own", async () => {
    const [good, folder] = [site.at("settings/sub/file"), site.at("website")];
    const bytes = Buffer.from([0, 1, 255]);
    assert.deepEqual(
      await backend.uploadFiles([
        [good, bytes],
        [folder, bytes],
        ["/etc/drydock-test", bytes],
      ]),
      [
        { path: good, error: null },
        { path: folder, error: "is_directory" },
        { path: "/etc/drydock-test", error: "invalid_path" },
      ],
    );
    assert.deepEqual(await backend.downloadFiles([good, folder, site.at("settings/none"), "/etc/passwd"]), [
      { path: good, content: bytes, error: null },
      { path: folder, content: null, error: "is_directory" },
      { path: site.at("settings/none"), content: null, error: "file_not_found" },
      { path: "/etc/passwd", content: null, error: "invalid_path" },
    ]);
  });
});
