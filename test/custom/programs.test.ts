import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { AtomicCommitError } from "../../src/index.ts";
import { runProcess } from "../rivals/drydock-process.ts";
import { Author, failureOf } from "./author.ts";

const PYTHON = join(import.meta.dirname, "../../examples/python-strategy/document_strategy.py");

/** A Python program that serves the strategy of the example, spoilt by these lines of its class. */
function spoilt(lines: string): string {
  const body = lines.split("\n").map((line) => `    ${line}\n`);
  return `#!/usr/bin/env python3
import os, sys, time
sys.path.insert(0, ${JSON.stringify(join(PYTHON, ".."))})
import document_strategy
class Spoilt(document_strategy.DocumentStrategy):
    name = "document"
${body.join("")}
document_strategy.serve(Spoilt)
`;
}

class Programmer extends Author {
  /** Declares documents to be isolated by this program. */
  program(text: string, more: { readonly timeout?: string; readonly options?: object } = {}): void {
    chmodSync(this.write("program", text), 0o755);
    this.declare({ document: { module: "exec:./program", ...more } });
  }

  async openHere() {
    return await this.open({ environment: { PATH: process.env["PATH"] } });
  }

  /** A plan over a document, isolated by the program, and a folder. */
  async plan() {
    const drydock = await this.openHere();
    const plan = await drydock.plans.create({ resources: [{ location: "notes" }, { location: "website" }] });
    return { drydock, plan };
  }
}

/** Waits until a process has ended; the limit of the test bounds the wait. */
async function hasEnded(pid: number): Promise<void> {
  while (existsSync(`/proc/${pid}`) && !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8")))
    await new Promise((resolve) => setTimeout(resolve, 20));
}

describe("A strategy that is a program", () => {
  it("[P11] lands together with a folder, and is undone with it", async () => {
    await using author = new Programmer();
    author.declare({ document: { module: `exec:${PYTHON}` } });
    const { drydock, plan } = await author.plan();
    await drydock.plans.write(plan.id, "notes", "title", Buffer.from([0x4e, 0xff]));
    await drydock.plans.write(plan.id, "website", "index.html", Buffer.from("new\n"));
    assert.deepEqual(await drydock.plans.read(plan.id, "notes", "title"), new Uint8Array([0x4e, 0xff]));
    await drydock.plans.apply(plan.id);
    assert.equal(JSON.parse(author.text("notes.json")).title, "N\u00ff");
    assert.equal(author.text("website/index.html"), "new\n");
    await drydock.plans.undo(plan.id);
    assert.equal(JSON.parse(author.text("notes.json")).title, "Old");
    assert.equal(author.text("website/index.html"), "old\n");
  });

  it("[P11] has its errors understood: a conflict of the program is a conflict of the plan", async () => {
    await using author = new Programmer();
    author.declare({ document: `exec:${PYTHON}` });
    const { drydock, plan } = await author.plan();
    await drydock.plans.write(plan.id, "notes", "title", Buffer.from("New"));
    author.write("notes.json", '{ "title": "Theirs" }\n');
    const error = await failureOf(drydock.plans.apply(plan.id));
    assert.ok(error instanceof AtomicCommitError);
    assert.deepEqual(error.conflicts, [
      { resource: "notes", path: ".", why: "another writer changed the document" },
    ]);
    assert.equal(JSON.parse(author.text("notes.json")).title, "Theirs");
    const missing = await failureOf(drydock.plans.read(plan.id, "notes", "none"));
    assert.deepEqual([missing.code, missing.message], ["NO_SUCH_FILE", "The document has no 'none'."]);
  });

  for (const [what, lines, message] of [
    [
      "dies",
      "def diff(self, ref): print('out of paper', file=sys.stderr); os._exit(3)",
      /diff of the strategy document failed: Its program ended with exit code 3: out of paper/,
    ],
    ["is killed", "def diff(self, ref): os.kill(os.getpid(), 9)", /Its program was ended by SIGKILL/],
    [
      "writes nonsense",
      "def diff(self, ref): self.context._connection._output.write('hello\\n'); return {'changes': []}",
      /Its program wrote nonsense: it is no message: "hello"/,
    ],
    [
      "answers a call that was not made",
      "def diff(self, ref): self.context._connection._send({'call': 99, 'result': None})",
      /answered the call 99, which was not made/,
    ],
    [
      "answers with the wrong shape",
      "def diff(self, ref): return {'changes': [{'path': ''}]}",
      /diff of the strategy document returned an invalid result/,
    ],
    [
      "throws an error of its own",
      "def diff(self, ref): return {}['x']",
      /diff of the strategy document failed: 'x'/,
    ],
    [
      "asks for what there is not",
      "def diff(self, ref): return self.context._connection.ask('land')",
      /There is no land to ask for/,
    ],
  ] as const)
    it(`[P11] that ${what} fails that call by a clear error, and serves the next one`, async () => {
      await using author = new Programmer();
      author.program(spoilt(`${lines}`));
      const { drydock, plan } = await author.plan();
      const error = await failureOf(drydock.plans.diff(plan.id));
      assert.match(error.message, message);
      const read = await drydock.plans.read(plan.id, "notes", "title");
      assert.equal(Buffer.from(read).toString(), "Old");
    });

  it("[P11] that is silent is killed after its time limit, and so does not work on", async () => {
    await using author = new Programmer();
    const silent = `def diff(self, ref):
    with open("${author.at("pid")}", "w") as file: file.write(str(os.getpid()))
    time.sleep(600)`;
    author.program(spoilt(silent), { timeout: "5s" });
    const { drydock, plan } = await author.plan();
    const error = await failureOf(drydock.plans.diff(plan.id));
    assert.equal(error.code, "STRATEGY_TIMEOUT");
    await hasEnded(Number(author.text("pid")));
  });

  for (const step of ["document.staged", "document.land"])
    it(`[P11] is killed with Drydock at ${step}, and another process goes on`, async () => {
      await using author = new Programmer();
      author.declare({ document: { module: `exec:${PYTHON}` } });
      const { drydock, plan } = await author.plan();
      await drydock.plans.write(plan.id, "notes", "title", Buffer.from("New"));
      await drydock.plans.write(plan.id, "website", "index.html", Buffer.from("new\n"));
      await drydock.close();
      const task = {
        stateDir: author.at("state"),
        config: author.at("drydock.yaml"),
        calls: [["apply", plan.id]] as const,
      };
      const killed = await runProcess(task, { failpoint: `${step}:1=kill` });
      assert.equal(killed.signal, "SIGKILL", killed.stderr);
      const next = await author.openHere();
      const landed = [JSON.parse(author.text("notes.json")).title, author.text("website/index.html")];
      assert.deepEqual(landed, step === "document.land" ? ["New", "new\n"] : ["Old", "old\n"]);
      if (step === "document.staged") await next.plans.apply(plan.id);
      assert.equal(JSON.parse(author.text("notes.json")).title, "New");
    });

  it("[P11] may print: that does not get between its messages", async () => {
    await using author = new Programmer();
    author.program(spoilt("def diff(self, ref): print('looking'); return super().diff(ref)"));
    const { drydock, plan } = await author.plan();
    assert.deepEqual((await drydock.plans.diff(plan.id)).changes, []);
  });

  for (const [what, program, mode, message, hint] of [
    ["is missing", undefined, 0o755, /there is no program .*program/, /Correct module:/],
    ["is not executable", "#!/bin/sh\n", 0o644, /program can't be run/, /chmod \+x/],
    [
      "ends at once",
      "#!/bin/sh\necho broken >&2; exit 4\n",
      0o755,
      /ended with exit code 4: broken/,
      /docs\//,
    ],
    [
      "describes itself wrongly",
      `#!/bin/sh\necho '{"strategy": {"name": "x", "capabilities": {}, "methods": ["fly"]}}'\nread x\n`,
      0o755,
      /wrote nonsense: strategy\.methods/,
      /docs\//,
    ],
    [
      "lacks a method",
      `#!/bin/sh\necho '{"strategy": {"name": "x", "capabilities": {"commit": "one-phase"}, "methods": ["create"]}}'\nread x\n`,
      0o755,
      /lacks read\(\), write\(\)/,
      /docs\//,
    ],
  ] as const)
    it(`[P11] that ${what} is refused before anything is made`, async () => {
      await using author = new Programmer();
      if (program !== undefined) chmodSync(author.write("program", program), mode);
      author.declare({ document: { module: "exec:./program" } });
      const drydock = await author.openHere();
      const error = await failureOf(drydock.plans.create({ resources: [{ location: "notes" }] }));
      assert.match(error.message, message);
      assert.match(error.hint ?? "", hint);
      assert.deepEqual(await drydock.plans.list(), []);
    });

  it("[P11] gets its options, checked by its own schema", async () => {
    await using author = new Programmer();
    const text = spoilt(
      "options_schema = {'type': 'object', 'properties': {'mark': {'type': 'string'}}, 'required': ['mark'], 'additionalProperties': False}\n" +
        "def notes(self, ref): return [self.context.options['mark']]",
    );
    author.program(text, { options: { mark: 3 } });
    const wrong = await author.openHere();
    const error = await failureOf(wrong.plans.create({ resources: [{ location: "notes" }] }));
    assert.match(error.message, /its options are not what the program takes: mark/);
    author.program(text, { options: { mark: "seen" } });
    const { drydock, plan } = await author.plan();
    const [notes] = (await drydock.plans.show(plan.id)).resources;
    assert.match(JSON.stringify(notes), /seen/);
  });
});
