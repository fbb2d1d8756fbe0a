import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Experimental_SandboxSession, generateText, isStepCount, tool } from "ai";
import { UsageError } from "drydock-sandbox";
import { sandboxSession } from "drydock-sandbox/ai-sdk";
import { z } from "zod";
import { modelThatRuns } from "./ai-sdk-model.ts";
import { Site } from "./site.ts";

const bash = tool({
  description: "Runs a command.",
  inputSchema: z.object({ command: z.string() }),
  execute: async ({ command }, { experimental_sandbox: sandbox }) => {
    assert.ok(sandbox !== undefined);
    return await sandbox.run({ command });
  },
});

describe("a plan as the sandbox of the AI SDK", () => {
  let site: Site;
  let sandbox: Experimental_SandboxSession;
  before(async () => {
    site = await Site.open();
    sandbox = await sandboxSession(site.plan);
  });
  after(async () => site[Symbol.asyncDispose]());

  it("[P12] lets the tools of a model work in the plan, and the originals stay as they are", async () => {
    const model = modelThatRuns("pwd; sed -i s/Old/New/ index.html", "cat index.html; cat none");
    const { text, steps } = await generateText({
      model,
      tools: { bash },
      experimental_sandbox: sandbox,
      prompt: "Say New.",
      stopWhen: isStepCount(5),
    });
    assert.equal(text, "Done.");
    const results = steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output));
    assert.deepEqual(results[0], { exitCode: 0, stdout: `${site.at("website")}\n`, stderr: "" });
    const [, second] = results as { exitCode: number; stdout: string; stderr: string }[];
    assert.deepEqual([second?.exitCode, second?.stdout], [1, "<h1>New</h1>\n"]);
    assert.match(second?.stderr ?? "", /none: No such file/);
    assert.equal(site.original("website/index.html"), "<h1>Old</h1>\n");
    assert.deepEqual(await site.changes(), ["modified website/index.html"]);
  });

  it("[P12] reads files and parts of them, and follows links that stay inside", async () => {
    const about = { path: "folder-link/about.txt" };
    assert.equal(await sandbox.readTextFile(about), "one\ntwo\nthree\nfour\n");
    assert.equal(await sandbox.readTextFile({ ...about, startLine: 2, endLine: 3 }), "two\nthree");
    assert.equal(await sandbox.readTextFile({ ...about, startLine: 4, endLine: 99 }), "four\n");
    assert.equal(await sandbox.readTextFile({ path: "file-link", endLine: 1 }), "one");
    assert.deepEqual([...((await sandbox.readBinaryFile({ path: "logo.png" })) ?? [])].length, 6);
    const stream = await sandbox.readFile({ path: site.at("settings/port") });
    assert.equal(await new Response(stream).text(), "80\n");
    for (const path of ["none", "none/deeper", "index.html/below"]) {
      assert.equal(await sandbox.readFile({ path }), null);
      assert.equal(await sandbox.readBinaryFile({ path }), null);
      assert.equal(await sandbox.readTextFile({ path }), null);
      assert.equal(await sandbox.stat({ path }), null);
    }
    await assert.rejects(async () => sandbox.readTextFile({ path: "pages" }), /is a directory/);
  });

  it("[P12] writes texts, bytes and streams, and makes the folders above them", async () => {
    await sandbox.writeTextFile({ path: "new/text.txt", content: "é" });
    await sandbox.writeTextFile({ path: "new/latin.txt", content: "é", encoding: "latin1" });
    await sandbox.writeBinaryFile({ path: "new/bytes", content: new Uint8Array([0, 1, 2]) });
    await sandbox.writeFile({
      path: site.at("settings/stream"),
      content: ReadableStream.from([Buffer.from("one "), Buffer.from("two")]),
    });
    assert.deepEqual(await sandbox.readBinaryFile({ path: "new/text.txt" }), Buffer.from("é"));
    assert.equal(await sandbox.readTextFile({ path: "new/latin.txt", encoding: "latin1" }), "é");
    assert.deepEqual(await sandbox.readBinaryFile({ path: "new/bytes" }), Buffer.from([0, 1, 2]));
    assert.equal(await sandbox.readTextFile({ path: "../settings/stream" }), "one two");
    await assert.rejects(async () => sandbox.writeTextFile({ path: "pages", content: "" }), /is a directory/);
    await assert.rejects(
      async () => sandbox.writeTextFile({ path: "x", content: "", encoding: "klingon" }),
      /'klingon' is no encoding/,
    );
  });

  it("[P12] tells what is there, and deletes files", async () => {
    assert.deepEqual(await sandbox.stat({ path: "pages/about.txt" }), { type: "file", size: 19 });
    assert.equal((await sandbox.stat({ path: "folder-link" }))?.type, "directory");
    assert.equal((await sandbox.stat({ path: "file-link" }))?.type, "file");
    const listed = await sandbox.listDirectory({ path: "." });
    assert.deepEqual(new Map(listed?.map(({ name, type }) => [name, type])).get("folder-link"), "symlink");
    assert.deepEqual(await sandbox.listDirectory({ path: "folder-link" }), [
      { name: "about.txt", type: "file" },
    ]);
    assert.equal(await sandbox.listDirectory({ path: "none" }), null);
    await assert.rejects(async () => sandbox.listDirectory({ path: "index.html" }), /is no folder/);
    assert.equal(await sandbox.deleteFile({ path: "file-link" }), true);
    assert.equal(await sandbox.deleteFile({ path: "file-link" }), false);
    assert.equal((await sandbox.stat({ path: "pages/about.txt" }))?.type, "file");
    await assert.rejects(async () => sandbox.deleteFile({ path: "pages" }), /is a folder/);
  });

  it("[P12] refuses files outside of the plan, and links that lead there", async () => {
    for (const path of ["/etc/passwd", "../state", "out", ".."]) {
      for (const call of [
        async () => sandbox.readTextFile({ path }),
        async () => sandbox.stat({ path }),
        async () => sandbox.writeTextFile({ path, content: "" }),
        async () => sandbox.listDirectory({ path }),
      ])
        await assert.rejects(call, (thrown) => thrown instanceof UsageError && thrown.code === "BAD_PATH");
    }
  });

  it("[P12] spawns commands with input and output as streams, in a folder and with variables", async () => {
    const started = await sandbox.spawn({
      command: 'pwd; echo "$WORD"; cat; exit 7',
      workingDirectory: "pages",
      env: { WORD: "hello" },
      stdin: true,
    });
    const input = started.stdin.getWriter();
    await input.write(Buffer.from("typed"));
    await input.close();
    assert.equal(await new Response(started.stdout).text(), `${site.at("website/pages")}\nhello\ntyped`);
    assert.deepEqual(await started.wait(), { exitCode: 7 });
    const silent = await sandbox.spawn({ command: "cat; sleep 300 & sleep 300" });
    assert.ok(!("stdin" in silent));
    await silent.kill();
    await silent.kill();
    assert.deepEqual(
      [await new Response(silent.stdout).text(), await silent.wait()],
      ["", { exitCode: 137 }],
    );
  });

  it("[P12] ends what the caller aborts, with the caller's reason", async () => {
    const reason = new Error("enough");
    const aborting = new AbortController();
    const started = await sandbox.spawn({ command: "echo up; exec sleep 300", abortSignal: aborting.signal });
    const running = sandbox.run({ command: "exec sleep 300", abortSignal: aborting.signal });
    const ended = Promise.allSettled([started.wait(), running]);
    const reader = started.stdout.getReader();
    await reader.read();
    aborting.abort(reason);
    for (const settled of await ended) assert.deepEqual(settled, { status: "rejected", reason });
  });

  it("[P12] starts where it is told, with what holds for every command", async () => {
    const other = await sandboxSession(site.plan, {
      resource: "settings",
      shell: ["sh", "-ec"],
      commands: { environment: { A: "a", B: "b" }, maxOutputBytes: 20 },
    });
    assert.match(other.description, /Commands start in .*\/settings\./);
    assert.deepEqual(await other.run({ command: 'cat port; echo "$A$B"; false; echo no', env: { B: "B" } }), {
      exitCode: 1,
      stdout: "80\naB\n",
      stderr: "",
    });
    const { stdout } = await other.run({ command: "seq 1000" });
    assert.match(stdout, /bytes left out/);
    await assert.rejects(sandboxSession(site.plan, { resource: "none" }), { code: "NO_SUCH_RESOURCE" });
  });
});
