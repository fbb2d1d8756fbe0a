import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { describe, it } from "node:test";
import type { Services } from "../../src/services.ts";
import { Author, spoiltDocument, TWO_PHASE } from "./author.ts";

async function planWithWork(drydock: Services) {
  const plan = await drydock.plans.create({ resources: [{ location: "notes" }, { location: "website" }] });
  await drydock.plans.write(plan.id, "notes", "title", Buffer.from("New"));
  await drydock.plans.write(plan.id, "website", "index.html", Buffer.from("new\n"));
  return plan;
}

/** The sandboxes of documents that are there. */
function sandboxes(author: Author): readonly string[] {
  return existsSync(author.at("state/documents")) ? readdirSync(author.at("state/documents")) : [];
}

describe("A plan whose strategy is gone", () => {
  for (const [how, declaration, why] of [
    ["from the config", undefined, /There is no strategy called 'document'/],
    ["with its module", { module: "./removed.ts", class: "Mine" }, /there is no file \.\/removed\.ts/],
  ] as const)
    it(`[L4] [C2] ${how} says so and can be cancelled; what is left is named, and goes once the strategy is back`, async () => {
      await using author = new Author();
      author.declare({ document: TWO_PHASE });
      const plan = await planWithWork(await author.open());
      const [sandbox = ""] = sandboxes(author);

      author.declare(declaration === undefined ? { other: TWO_PHASE } : { document: declaration });
      const without = await author.open();
      const shown = (await without.plans.show(plan.id)).resources[0];
      assert.match(shown?.notes?.[0] ?? "", /^its strategy can't be used: /);
      assert.match(shown?.notes?.[0] ?? "", why);
      assert.equal((await without.plans.list()).length, 1);
      await assert.rejects(without.plans.diff(plan.id), why);
      await assert.rejects(without.plans.apply(plan.id), why);
      await assert.rejects(without.plans.rollback(plan.id), why);
      assert.equal(author.text("website/index.html"), "old\n");

      const { state, left } = await without.plans.cancel(plan.id);
      assert.equal(state, "cancelled");
      assert.deepEqual([left?.length, left?.[0]?.resource], [1, "notes"]);
      assert.match(left?.[0]?.message ?? "", why);
      assert.deepEqual(left?.[0]?.places, [author.at(`state/documents/${sandbox}`)]);
      assert.deepEqual(sandboxes(author), [sandbox]);
      const scanned = await without.cleanup.scan();
      assert.deepEqual(
        scanned.map(({ location, reason }) => [location, reason]),
        [[author.at(`state/documents/${sandbox}`), "its plan is cancelled"]],
      );
      assert.match((await without.cleanup.purge()).failed[0]?.message ?? "", why);

      author.declare({ document: TWO_PHASE });
      const back = await author.open();
      assert.equal((await back.cleanup.purge()).removed.length, 1);
      assert.deepEqual([sandboxes(author), await back.cleanup.scan()], [[], []]);
    });

  it("[C1] is found by the name of its sandbox if it recorded nothing", async () => {
    await using author = new Author();
    author.write(
      "silent.js",
      spoiltDocument("constructor(context) { super({ ...context, recordIntent: async () => {} }); }"),
    );
    author.declare({ document: { module: "./silent.js", class: "Spoilt" } });
    const plan = await planWithWork(await author.open());
    author.declare({ other: TWO_PHASE });
    const without = await author.open();
    assert.deepEqual((await without.plans.cancel(plan.id)).left?.[0]?.places, []);
    const [item] = await without.cleanup.scan();
    assert.deepEqual([item?.kind, item?.planId], ["sandbox of document", plan.id]);
  });
});

describe("A strategy that has nothing good to say", () => {
  it("[X4] of a sandbox keeps nobody from making, showing or cancelling the plan", async () => {
    await using author = new Author();
    author.write("moody.js", spoiltDocument('async notes() { throw "not today"; }'));
    author.declare({ document: { module: "./moody.js", class: "Spoilt" } });
    const { plans } = await author.open();
    const { id } = await plans.create({ resources: [{ location: "notes" }] });
    assert.deepEqual((await plans.show(id)).resources[0]?.notes, [
      "its strategy can't say anything of it: notes of the strategy document failed: not today",
    ]);
    assert.equal((await plans.cancel(id)).state, "cancelled");
  });
});

describe("A plan whose strategy has changed", () => {
  it("[L4] to another version says so, is not touched by it, and can be cancelled", async () => {
    await using author = new Author();
    author.write("one.js", spoiltDocument('version = "1.0";'));
    author.write("two.js", spoiltDocument('version = "2.0";'));
    author.declare({ document: { module: "./one.js", class: "Spoilt" } });
    const plan = await planWithWork(await author.open());
    author.declare({ document: { module: "./two.js", class: "Spoilt" } });
    const changed = await author.open();
    const why = /made by version 1\.0 of the strategy document; here is version 2\.0/;
    assert.match((await changed.plans.show(plan.id)).resources[0]?.notes?.[0] ?? "", why);
    for (const refused of [
      changed.plans.read(plan.id, "notes", "."),
      changed.plans.write(plan.id, "notes", "title", Buffer.from("1")),
      changed.plans.diff(plan.id),
    ])
      await assert.rejects(refused, { code: "STRATEGY_CHANGED", message: why, hint: /cancel the plan/ });
    await assert.rejects(changed.plans.apply(plan.id), why);
    assert.equal(author.text("notes.json"), '{ "title": "Old" }\n');
    const cancelled = await changed.plans.cancel(plan.id);
    assert.deepEqual([cancelled.state, cancelled.left], ["cancelled", undefined]);
    assert.deepEqual(sandboxes(author), []);
  });

  it("[L4] to a version that fails on what the old one made can be cancelled all the same", async () => {
    await using author = new Author();
    author.write("one.js", spoiltDocument('version = "1.0";'));
    author.write("two.js", spoiltDocument('version = "2.0"; async cleanup() { throw "what is this?"; }'));
    author.declare({ document: { module: "./one.js", class: "Spoilt" } });
    const plan = await planWithWork(await author.open());
    author.declare({ document: { module: "./two.js", class: "Spoilt" } });
    const { state, left } = await (await author.open()).plans.cancel(plan.id);
    assert.equal(state, "cancelled");
    assert.match(left?.[0]?.message ?? "", /cleanup of the strategy document failed: what is this\?/);
  });

  it("[L4] in its options goes on with those that it was made with", async () => {
    await using author = new Author();
    author.write(
      "tagged.js",
      `import { TwoPhaseDocumentStrategy } from "./two-phase-document.ts";
      export class Tagged extends TwoPhaseDocumentStrategy {
        static optionsSchema = { type: "object", properties: { tag: { type: "string", default: "none" } } };
        constructor(context, options) { super(context); this.options = options; }
        async notes() { return ["tag " + this.options.tag]; }
      }`,
    );
    const tagged = (options: object) => ({ document: { module: "./tagged.js", class: "Tagged", options } });
    const noteOf = async (drydock: Services, plan: string) =>
      (await drydock.plans.show(plan)).resources[0]?.notes;
    author.declare(tagged({ tag: "first" }));
    const plan = await planWithWork(await author.open());
    author.declare(tagged({}));
    const changed = await author.open();
    assert.deepEqual(await noteOf(changed, plan.id), ["tag first"]);
    await changed.plans.apply(plan.id);
    const second = await planWithWork(changed);
    assert.deepEqual(
      await noteOf(changed, second.id),
      ["tag none"],
      "a new plan takes the new ones, defaults filled in",
    );
  });
});
