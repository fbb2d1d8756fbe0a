import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { AtomicCommitError, SandboxConflictError } from "../../src/index.ts";
import type { Services } from "../../src/services.ts";
import { Author, failureOf, spoiltDocument } from "./author.ts";

/** A plan over a document whose strategy is spoilt by these members, and a folder; with work in both. */
async function spoiltPlan(author: Author, members: string, more: { readonly timeout?: string } = {}) {
  author.write("spoilt.js", spoiltDocument(members));
  author.declare({ document: { module: "./spoilt.js", class: "Spoilt", ...more } });
  const drydock = await author.open();
  const plan = await drydock.plans.create({ resources: [{ location: "notes" }, { location: "website" }] });
  await drydock.plans.write(plan.id, "notes", "title", Buffer.from("New"));
  await drydock.plans.write(plan.id, "website", "index.html", Buffer.from("new\n"));
  return { drydock, plan };
}

async function assertOthersGoOn(author: Author, drydock: Services): Promise<void> {
  author.write("other/file", "old\n");
  const other = await drydock.plans.create({ resources: [{ location: "other" }] });
  await drydock.plans.write(other.id, "other", "file", Buffer.from("new\n"));
  assert.equal((await drydock.plans.apply(other.id)).state, "applied");
  assert.equal(author.text("other/file"), "new\n");
}

describe("A strategy that throws", () => {
  for (const [what, statement, message] of [
    ["text", 'throw "no network"', /prepare of the strategy document failed: no network/],
    ["nothing", "throw undefined", /prepare of the strategy document failed: it threw undefined/],
    [
      "an object",
      "throw { toString() { throw 1; } }",
      /prepare of the strategy document failed: something was thrown/,
    ],
    [
      "an error of its own",
      'throw new TypeError("x is not a function")',
      /document failed: x is not a function/,
    ],
    [
      "what can't be looked at",
      "throw new Proxy({}, { getPrototypeOf() { throw 1; } })",
      /of the strategy document failed/,
    ],
  ] as const)
    it(`[S4] [A1] [A7] ${what} in prepare fails its own plan with an error that names it, and can go on`, async () => {
      await using author = new Author();
      const { drydock, plan } = await spoiltPlan(author, `prepare() { ${statement}; }`);
      const error = await failureOf(drydock.plans.apply(plan.id));
      assert.ok(error instanceof AtomicCommitError);
      assert.match(error.message, message);
      assert.deepEqual(
        [author.text("notes.json"), author.text("website/index.html")],
        ['{ "title": "Old" }\n', "old\n"],
      );
      const { state } = await drydock.plans.show(plan.id);
      assert.equal(state, "open");
      await assertOthersGoOn(author, drydock);
    });

  it("[A15] a conflict of a foreign copy of the package is a conflict", async () => {
    await using author = new Author();
    const conflict =
      'Object.assign(new Error("moved"), { name: "SandboxConflictError", conflicts: [{ path: "title", why: "theirs" }, 3] })';
    const { drydock, plan } = await spoiltPlan(author, `async prepare() { throw ${conflict}; }`);
    const error = await failureOf(drydock.plans.apply(plan.id));
    assert.ok(error instanceof AtomicCommitError && error.cause instanceof SandboxConflictError);
    assert.deepEqual(error.conflicts, [{ resource: "notes", path: "title", why: "theirs" }]);
    assert.equal((error.cause.cause as Error).message, "moved", "the cause is kept, once");
  });
});

describe("A strategy that returns nonsense", () => {
  for (const [method, members, message] of [
    [
      "prepare",
      "async prepare() { return 7; }",
      /prepare of the strategy document returned an invalid result: .*expected object, received number/,
    ],
    [
      "prepare",
      "async prepare() { return { changes: -1, data: {} }; }",
      /prepare of the strategy document .*: changes: .*expected number to be >=0/,
    ],
    [
      "prepare",
      "async prepare() { return { changes: 1, data: { at: new Date() } }; }",
      /it\.data\.at is a Date/,
    ],
    [
      "prepare",
      "async prepare() { const data = {}; data.data = data; return { changes: 1, data }; }",
      /nested too deeply, or holds itself/,
    ],
    [
      "prepare",
      'async prepare() { return { changes: 1, data: { a: "x".repeat(5e6) } }; }',
      /larger than anything that is kept/,
    ],
    ["prepare", "async prepare() { return { changes: 1, data: { n: NaN } }; }", /it\.data\.n is NaN/],
    [
      "diff",
      "async diff() { return { changes: [{ path: 3 }] }; }",
      /diff of the strategy document .*: changes\.0\.path: .*expected string, received number/,
    ],
    [
      "diff",
      'async diff() { return { changes: [{ path: "a", operation: "gone", kind: "object" }] }; }',
      /changes\.0\.operation: .*expected one of "added"/,
    ],
    [
      "diff",
      "async diff() {}",
      /diff of the strategy document returned an invalid result: .*expected object, received undefined/,
    ],
    [
      "read",
      'async read() { return "text"; }',
      /read of the strategy document returned an invalid result: .*expected bytes/,
    ],
    ["path", 'async path() { return "../elsewhere"; }', /neither an absolute path nor a URL/],
  ] as const)
    it(`[S4] [A1] from ${method} is told so: ${message.source}`, async () => {
      await using author = new Author();
      author.write("spoilt.js", spoiltDocument(members));
      author.declare({ document: { module: "./spoilt.js", class: "Spoilt" } });
      const drydock = await author.open();
      const plan = await drydock.plans.create({ resources: [{ location: "notes" }], withoutPaths: true });
      await drydock.plans.write(plan.id, "notes", "title", Buffer.from("New"));
      const calls: { readonly [method: string]: () => Promise<unknown> } = {
        prepare: () => drydock.plans.apply(plan.id),
        diff: () => drydock.plans.diff(plan.id),
        read: () => drydock.plans.read(plan.id, "notes", "title"),
        path: () => drydock.plans.path(plan.id, "notes"),
      };
      assert.match((await failureOf((calls[method] as () => Promise<unknown>)())).message, message);
      assert.equal(author.text("notes.json"), '{ "title": "Old" }\n');
      await drydock.plans.cancel(plan.id);
    });

  for (const [title, members, message] of [
    [
      "another sandbox",
      'async create(p, r) { return { ...(await super.create(p, r)), sandboxId: "other" }; }',
      /sandboxId 'other', not/,
    ],
    [
      "no metadata",
      "async create(p, r) { return { ...(await super.create(p, r)), metadata: null }; }",
      /create of the strategy document .*: metadata: .*expected object, received null/,
    ],
    [
      "with capabilities that are none",
      'async create(p, r) { return { ...(await super.create(p, r)), capabilities: { commit: "two-phase", partial: "no" } }; }',
      /: capabilities\.partial: .*expected true or false/,
    ],
    [
      "nothing",
      "async create() {}",
      /create of the strategy document returned an invalid result: .*expected object, received undefined/,
    ],
  ] as const)
    it(`[S4] [L8] from create, ${title}, makes no plan and leaves nothing`, async () => {
      await using author = new Author();
      author.write("spoilt.js", spoiltDocument(members));
      author.declare({ document: { module: "./spoilt.js", class: "Spoilt" } });
      const drydock = await author.open();
      assert.match(
        (await failureOf(drydock.plans.create({ resources: [{ location: "notes" }] }))).message,
        message,
      );
      assert.deepEqual(await drydock.plans.list(), []);
      assert.deepEqual(await drydock.cleanup.scan(), []);
    });

  it("[S7] of a sandbox that could do more than the strategy declares is not believed", async () => {
    await using author = new Author();
    const more = '{ commit: "two-phase", partial: true }';
    const { drydock, plan } = await spoiltPlan(
      author,
      `async create(p, r) { return { ...(await super.create(p, r)), capabilities: ${more} }; }`,
    );
    const error = await failureOf(drydock.plans.apply(plan.id, { only: ["notes:title"] }));
    assert.match(error.message, /notes can't land in parts: its strategy document lands all or nothing/);
    assert.equal(author.text("notes.json"), '{ "title": "Old" }\n');
  });

  it("[A19] after it has landed is reported for a person to look at, and the plan is applied", async () => {
    await using author = new Author();
    const { drydock, plan } = await spoiltPlan(
      author,
      'async commitPrepared(...a) { await super.commitPrepared(...a); return "ok"; }',
    );
    const { state, attention } = await drydock.plans.apply(plan.id);
    assert.equal(state, "applied");
    assert.match(
      attention[0]?.message ?? "",
      /commitPrepared of the strategy document returned an invalid result: .*expected object, received string/,
    );
    assert.equal(author.text("website/index.html"), "new\n");
  });

  it("[A1] and changes what it is given spoils only its own copy", async () => {
    await using author = new Author();
    const spoil = `ref.sandboxId = "x"; ref.metadata.folder = ${JSON.stringify(author.at("elsewhere"))}; transaction.planId = "x";`;
    const { drydock, plan } = await spoiltPlan(
      author,
      `async prepare(ref, transaction) { const p = await super.prepare(ref, transaction); ${spoil} return p; }`,
    );
    assert.equal((await drydock.plans.apply(plan.id)).state, "applied");
    assert.deepEqual(
      readdirSync(author.at("state/documents")),
      [],
      "its sandbox is removed by the ref that we keep",
    );
    await drydock.plans.undo(plan.id);
    assert.equal(author.text("notes.json"), '{ "title": "Old" }\n');
  });

  it("[X1] can't take over the sandbox of another plan by recording it as its own", async () => {
    await using author = new Author();
    const { drydock, plan } = await spoiltPlan(author, "");
    const victim = `${plan.id}-`;
    author.write(
      "thief.js",
      spoiltDocument(`async create(p, r) {
        const ref = await super.create(p, r);
        await this.context.recordIntent({ ...ref, sandboxId: ${JSON.stringify(victim)} + r.id, planId: ${JSON.stringify(plan.id)} }, []);
        return ref;
      }`),
    );
    author.declare({ thief: { module: "./thief.js", class: "Spoilt" } });
    const other = await author.open();
    assert.match(
      (await failureOf(other.plans.create({ resources: [{ location: "notes" }] }))).message,
      /was not asked to make/,
    );
    assert.equal((await drydock.plans.apply(plan.id)).state, "applied");
  });
});

describe("A strategy that never answers", () => {
  const never = "return new Promise(() => {});";

  it("[A1] [A7] in prepare is given up after its time, and the plan is as before", async () => {
    await using author = new Author();
    const { drydock, plan } = await spoiltPlan(author, `prepare() { ${never} }`, { timeout: "1s" });
    const error = await failureOf(drydock.plans.apply(plan.id));
    assert.match(error.message, /prepare of the strategy document did not end within 1 seconds/);
    assert.equal(author.text("website/index.html"), "old\n");
    // It may still be at work, so this process does not call it again; the next one does, and takes back what
    // was begun.
    assert.match(
      (await failureOf(drydock.plans.read(plan.id, "notes", "."))).message,
      /may still be at work/,
    );
    await assertOthersGoOn(author, drydock);
    author.write("mended.js", spoiltDocument(""));
    author.declare({ document: { module: "./mended.js", class: "Spoilt" } });
    const mended = await author.open();
    assert.deepEqual(mended.recovery.pending, []);
    assert.equal((await mended.plans.show(plan.id)).state, "open");
    assert.equal((await mended.plans.apply(plan.id)).state, "applied");
  });

  it("[A3] after the decision stays pending, blocks only its own plan, and is finished once it answers", async () => {
    await using author = new Author();
    const { drydock, plan } = await spoiltPlan(author, `commitPrepared() { ${never} }`, { timeout: "1s" });
    await failureOf(drydock.plans.apply(plan.id));
    assert.equal(author.text("website/index.html"), "new\n", "the decision was made");
    const next = await author.open();
    assert.match(next.recovery.pending[0]?.why ?? "", /commitPrepared did not end/);
    await assertOthersGoOn(author, next);
    author.write("mended.js", spoiltDocument(""));
    author.declare({ document: { module: "./mended.js", class: "Spoilt" } });
    const mended = await author.open();
    assert.equal(mended.recovery.finished[0]?.planId, plan.id);
    assert.deepEqual(JSON.parse(author.text("notes.json")), { title: "New" });
  });

  it("[A1] is told by its signal that it took too long", async () => {
    await using author = new Author();
    author.write(
      "spoilt.js",
      `import { writeFileSync } from "node:fs";\n${spoiltDocument(`diff() {
        this.context.signal.addEventListener("abort", () => writeFileSync(${JSON.stringify(author.at("told"))}, ""));
        ${never}
      }`)}`,
    );
    author.declare({ document: { module: "./spoilt.js", class: "Spoilt", timeout: "1s" } });
    const drydock = await author.open();
    const plan = await drydock.plans.create({ resources: [{ location: "notes" }] });
    await failureOf(drydock.plans.diff(plan.id));
    assert.ok(existsSync(author.at("told")));
  });
});

describe("A user who does not want to wait", () => {
  it("[A1] interrupts what never answers, before anything is decided", async () => {
    await using author = new Author();
    const stop = new AbortController();
    author.write(
      "spoilt.js",
      spoiltDocument("create() { globalThis.interruptByTest(); return new Promise(() => {}); }"),
    );
    author.declare({ document: { module: "./spoilt.js", class: "Spoilt", timeout: "1s" } });
    const drydock = await author.open({ signal: stop.signal });
    Object.assign(globalThis, { interruptByTest: () => stop.abort() });
    const error = await failureOf(drydock.plans.create({ resources: [{ location: "notes" }] }));
    assert.equal(error.name, "InterruptedError");
    assert.equal(author.text("notes.json"), '{ "title": "Old" }\n');
  });
});
