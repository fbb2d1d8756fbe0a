import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StrategyUnavailableError } from "../../src/index.ts";
import { Author, type Declaration, ONE_PHASE, TWO_PHASE } from "./author.ts";

const MARK = "globalThis.loadedByTest = (globalThis.loadedByTest ?? 0) + 1;";
const marks = () => (globalThis as { loadedByTest?: number }).loadedByTest ?? 0;

describe("Strategies that a config declares", () => {
  for (const [title, declaration, files] of [
    ["a TypeScript file beside the config", TWO_PHASE, {}],
    ["one in a folder below, as module:ClassName", "./below/it.js:Mine", { "below/it.js": reExport("../") }],
    [
      "an installed package that only can be imported",
      { module: "my-strategies", class: "Mine" },
      {
        "node_modules/my-strategies/package.json":
          '{"type":"module","exports":{".":{"import":"./lib/main.js"}}}',
        "node_modules/my-strategies/lib/main.js": reExport("../../../"),
      },
    ],
    [
      "a part of a package of a scope",
      "@me/strategies/two:Mine",
      {
        "node_modules/@me/strategies/package.json": '{"type":"module","exports":{"./two":"./two.js"}}',
        "node_modules/@me/strategies/two.js": reExport("../../../"),
      },
    ],
  ] as const)
    it(`[S3] come from ${title}`, async () => {
      await using author = new Author();
      for (const [name, text] of Object.entries(files)) author.write(name, text);
      author.declare({ document: declaration });
      const drydock = await author.open();
      const plan = await drydock.plans.create({
        resources: [{ location: "notes" }, { location: "website" }],
      });
      assert.equal(plan.resources[0]?.strategy, "document");
      assert.match(plan.resources[0]?.why ?? "", /named by the type json-document in the config/);
      await drydock.plans.write(plan.id, "notes", "title", Buffer.from("New"));
      await drydock.plans.write(plan.id, "website", "index.html", Buffer.from("new\n"));
      await drydock.plans.apply(plan.id);
      assert.deepEqual(
        [JSON.parse(author.text("notes.json")), author.text("website/index.html")],
        [{ title: "New" }, "new\n"],
      );
      await drydock.plans.undo(plan.id);
      assert.equal(author.text("notes.json"), '{ "title": "Old" }\n');
    });

  it("[S3] are loaded when one is needed or listed, and not before", async () => {
    await using author = new Author();
    author.write("marked.js", `${MARK}\n${reExport("./")}`);
    author.declare({ document: "./marked.js:Mine" });
    const before = marks();
    const drydock = await author.open();
    await drydock.plans.list({ all: true });
    await drydock.plans.create({ resources: [{ location: "website", strategy: "filesystem_copy" }] });
    await drydock.plans.list({ all: true });
    assert.equal(marks(), before);
    const plan = await drydock.plans.create({ resources: [{ location: "notes" }] });
    assert.equal(marks(), before + 1);
    await drydock.close();

    // The module is loaded once by a process; what asks for it anew is another instance.
    const again = await author.open();
    await again.plans.list();
    assert.equal((await again.plans.show(plan.id)).resources[0]?.notes, undefined);
    const { strategies, unusable } = await again.registry.listAll();
    assert.ok(strategies.some(({ name, builtIn }) => name === "document" && !builtIn));
    assert.deepEqual(unusable, []);
  });

  it("[S5] are not taken by themselves unless they are stronger, and one that is broken is passed over with the reason", async () => {
    await using author = new Author();
    author.write("strong.js", strong(70));
    author.declare({ document: TWO_PHASE, broken: "./nowhere.js:Mine" });
    const drydock = await author.open();
    const weak = await drydock.plans.create({ resources: [{ location: "website" }] });
    assert.notEqual(weak.resources[0]?.strategy, "document");
    assert.match(weak.resources[0]?.why ?? "", /broken: .*there is no file \.\/nowhere\.js/);
    author.declare({ strong: "./strong.js:Mine" });
    const stronger = await author.open();
    const [resource] = (await stronger.plans.create({ resources: [{ location: "notes.json" }] })).resources;
    assert.deepEqual([resource?.strategy, resource?.why], ["strong", "the strongest that works here"]);
  });
});

/** Each with what is wrong and what to do. */
const BAD: readonly (readonly [
  title: string,
  declaration: Declaration | string,
  files: { readonly [name: string]: string },
  code: string,
  message: RegExp,
  hint: RegExp,
])[] = [
  ["a missing file", "./gone.js:Mine", {}, "STRATEGY_MODULE", /there is no file \.\/gone\.js/, /relative to/],
  [
    "a missing package",
    "not-installed:Mine",
    {},
    "STRATEGY_MODULE",
    /no package not-installed/,
    /npm install/,
  ],
  [
    "a module that imports what is missing",
    "./bad.js:Mine",
    { "bad.js": 'import "./gone.js";' },
    "STRATEGY_MODULE",
    /\.\/bad\.js can't be loaded: Cannot find module/,
    /Fix/,
  ],
  [
    "a module that makes no sense",
    "./bad.js:Mine",
    { "bad.js": "export class {" },
    "STRATEGY_MODULE",
    /\.\/bad\.js can't be loaded/,
    /Fix/,
  ],
  [
    "TypeScript in a package",
    "typed:Mine",
    {
      "node_modules/typed/package.json": '{"type":"module","exports":"./main.ts"}',
      "node_modules/typed/main.ts": "export class Mine {}",
    },
    "STRATEGY_MODULE",
    /typed can't be loaded/,
    /has to be JavaScript/,
  ],
  [
    "a missing export",
    "./two-phase-document.ts:TwoPhaseDocument",
    {},
    "STRATEGY_EXPORT",
    /exports no TwoPhaseDocument$/,
    /Did you mean TwoPhaseDocumentStrategy\?/,
  ],
  [
    "an export that is no class",
    "./bad.js:Mine",
    { "bad.js": "export const Mine = 3;" },
    "STRATEGY_EXPORT",
    /is no class/,
    /It exports Mine/,
  ],
  [
    "a constructor that throws",
    "./bad.js:Mine",
    { "bad.js": 'export class Mine { constructor() { throw new Error("no disk"); } }' },
    "STRATEGY_CONSTRUCTOR",
    /the constructor of Mine threw: no disk/,
    /Fix/,
  ],
  [
    "missing methods",
    "./bad.js:Mine",
    {
      "bad.js":
        'export class Mine { capabilities = { commit: "two-phase", undo: 1, leavesOut: "certainly", strength: "x" }; read = 3; create() {} path = "x" }',
    },
    "BAD_STRATEGY",
    /document lacks capabilities\.undo .*capabilities\.strength .*capabilities\.leavesOut .*read\(\), write\(\), diff\(\), commit\(\), rollback\(\), checkpoint\(\), restoreCheckpoint\(\), cleanup\(\), prepare\(\), commitPrepared\(\), rollbackPrepared\(\), path\(\)/,
    /writing-a-strategy/,
  ],
  [
    "capabilities that can't be looked at",
    "./bad.js:Mine",
    { "bad.js": 'export class Mine { get capabilities() { throw "boo"; } }' },
    "BAD_STRATEGY",
    /can't be examined: boo/,
    /writing-a-strategy/,
  ],
  [
    "undo without the checkpoints that it needs",
    "./bad.js:Mine",
    {
      "bad.js": `${reExport("./", 'capabilities = { commit: "one-phase", undo: true, checkpoint: false };')}`,
    },
    "BAD_STRATEGY",
    /needs checkpoints/,
    /writing-a-strategy/,
  ],
  [
    "options that it does not take",
    {
      module: "./indented-document.ts",
      class: "IndentedDocumentStrategy",
      options: { spaces: 99, tabs: true },
    },
    {},
    "STRATEGY_OPTIONS",
    /spaces: .*tabs/,
    /options: of document/,
  ],
  [
    "a schema that is none",
    "./bad.js:Mine",
    { "bad.js": reExport("./", "static optionsSchema = 7;") },
    "STRATEGY_OPTIONS",
    /its optionsSchema is invalid/,
    /options: of document/,
  ],
];

describe("A strategy that can't be used", () => {
  for (const [title, declaration, files, code, message, hint] of BAD)
    it(`[S4] because of ${title} is refused with what to do, and the place in the config`, async () => {
      await using author = new Author();
      for (const [name, text] of Object.entries(files)) author.write(name, text);
      const config = author.declare({ document: declaration });
      const drydock = await author.open();
      await assert.rejects(drydock.plans.create({ resources: [{ location: "notes" }] }), (error: unknown) => {
        assert.ok(error instanceof StrategyUnavailableError, String(error));
        assert.deepEqual([error.code, error.strategy], [code, "document"]);
        assert.match(error.message, message);
        if (code !== "BAD_STRATEGY") assert.ok(error.message.startsWith(`${config}:1:`), error.message);
        assert.match(error.hint, hint);
        return true;
      });
      assert.deepEqual(await drydock.plans.list({ all: true }), [], "nothing was made");
      // Nobody else minds.
      const plan = await drydock.plans.create({ resources: [{ location: "website" }] });
      await drydock.plans.write(plan.id, "website", "index.html", Buffer.from("new\n"));
      assert.equal((await drydock.plans.apply(plan.id)).state, "applied");
      const listed = await drydock.registry.listAll();
      assert.deepEqual(
        listed.unusable.map(({ name, error }) => [name, error.code]),
        [["document", code]],
      );
    });

  it("[S4] because a program and a config give two the same name is refused; so is the name of a built-in one", async () => {
    await using author = new Author();
    author.declare({ document: ONE_PHASE });
    const named = (name: string) => () =>
      ({
        ...Object.fromEntries(METHODS.map((method) => [method, async () => undefined])),
        name,
        capabilities: { commit: "one-phase" },
      }) as never;
    await assert.rejects(author.open({ strategies: [named("document")] }), {
      code: "STRATEGY_NAME",
      message: "There is already a strategy called document.",
    });
    await assert.rejects(author.open({ strategies: [named("mine"), named("mine")] }), {
      code: "STRATEGY_NAME",
    });
    await assert.rejects(author.open({ strategies: [named("overlay")] }), {
      code: "STRATEGY_NAME",
      message: "overlay is the name of a strategy of Drydock's own.",
    });
  });

  it("[S2] [S4] because nobody knows its name gets the nearest one suggested", async () => {
    await using author = new Author();
    author.declare({ document: ONE_PHASE });
    const drydock = await author.open();
    await assert.rejects(
      drydock.plans.create({ resources: [{ location: "notes.json", strategy: "documnet" }] }),
      {
        code: "UNKNOWN_STRATEGY",
        hint: /^Did you mean document\? Known strategies: .*document/,
      },
    );
    drydock.registry.remove("document");
    await assert.rejects(drydock.plans.create({ resources: [{ location: "notes" }] }), {
      code: "UNKNOWN_STRATEGY",
    });
  });
});

describe("Options of a strategy", () => {
  it("[S3] are checked by a schema of any library that keeps to the standard, and what comes out is what it gets", async () => {
    await using author = new Author();
    const validate =
      '(given) => typeof given.depth === "number" ? { value: { depth: given.depth + 1 } } : { issues: [{ message: "must be a number", path: ["depth"] }] }';
    author.write(
      "deep.js",
      `import { TwoPhaseDocumentStrategy } from "./two-phase-document.ts";
      export class Deep extends TwoPhaseDocumentStrategy {
        static optionsSchema = { "~standard": { version: 1, vendor: "me", validate: ${validate} } };
        constructor(context, options) { super(context); this.options = options; }
        async notes() { return ["depth " + this.options.depth]; }
      }`,
    );
    const declared = (options: object) => ({ document: { module: "./deep.js", class: "Deep", options } });
    author.declare(declared({ depth: 6 }));
    const { plans } = await author.open();
    const plan = await plans.create({ resources: [{ location: "notes" }] });
    assert.deepEqual(plan.resources[0]?.notes, ["depth 7"]);
    author.declare(declared({ depth: "six" }));
    const wrong = await author.open();
    await assert.rejects(wrong.plans.create({ resources: [{ location: "notes" }] }), {
      code: "STRATEGY_OPTIONS",
      message: /depth: must be a number/,
    });
    assert.deepEqual(
      (await wrong.plans.show(plan.id)).resources[0]?.notes,
      ["depth 7"],
      "a plan keeps those it was made with",
    );
  });
});

const METHODS = [
  "create",
  "read",
  "write",
  "diff",
  "commit",
  "rollback",
  "checkpoint",
  "restoreCheckpoint",
  "cleanup",
];

/** A module that exports the documented strategy as Mine. */
function reExport(to: string, members = ""): string {
  return `import { TwoPhaseDocumentStrategy } from "${to}two-phase-document.ts";
export class Mine extends TwoPhaseDocumentStrategy { ${members} }`;
}

function strong(strength: number): string {
  return reExport(
    "./",
    `capabilities = { commit: "two-phase", strength: ${strength}, resourceTypes: ["fs-file"] };`,
  );
}
