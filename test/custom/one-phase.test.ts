import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { AtomicCommitError } from "../../src/index.ts";
import { Author } from "./author.ts";
import { UNDOABLE } from "./undoable.ts";

const LATER = { now: () => new Date(Date.now() + 30 * 86_400_000) };

async function prepared(author: Author, className: string) {
  author.write("undoable.js", UNDOABLE);
  author.declare({ document: { module: "./undoable.js", class: className } });
  const drydock = await author.open();
  const plan = await drydock.plans.create({ resources: [{ location: "notes" }, { location: "website" }] });
  await drydock.plans.write(plan.id, "notes", "title", Buffer.from("New"));
  await drydock.plans.write(plan.id, "website", "index.html", Buffer.from("new\n"));
  return { drydock, plan };
}

describe("A strategy of one's own that commits in one step and can take that back", () => {
  it("[A6] [A18] [A17] is undone with the rest of the plan, and leaves nothing", async () => {
    await using author = new Author();
    const { drydock, plan } = await prepared(author, "Undoable");
    await drydock.plans.apply(plan.id);
    assert.equal(JSON.parse(author.text("notes.json")).title, "New");
    assert.equal(readdirSync(author.at("state/documents")).length, 1, "what an undo needs is there");
    await drydock.plans.undo(plan.id);
    assert.deepEqual(
      [author.text("notes.json"), author.text("website/index.html")],
      ['{ "title": "Old" }\n', "old\n"],
    );
    assert.deepEqual(readdirSync(author.at("state/documents")), []);
  });

  it("[A17] [A18] lets its undo record go when it is too old", async () => {
    await using author = new Author();
    const { drydock, plan } = await prepared(author, "Undoable");
    await drydock.plans.apply(plan.id);
    const later = await author.open(LATER);
    assert.deepEqual(readdirSync(author.at("state/documents")), []);
    await assert.rejects(later.plans.undo(plan.id), { reason: "UNDO_DISCARDED" });
    assert.deepEqual(await later.cleanup.scan(), []);
  });

  it("[A1] [A7] has its work back in the sandbox when its commit fails half way", async () => {
    await using author = new Author();
    const { drydock, plan } = await prepared(author, "Failing");
    await assert.rejects(drydock.plans.apply(plan.id), (error: unknown) => {
      assert.ok(error instanceof AtomicCommitError);
      assert.match(error.message, /commit of the strategy document failed: the line is dead/);
      assert.deepEqual(error.notUndone, []);
      return true;
    });
    assert.deepEqual(
      [author.text("notes.json"), author.text("website/index.html")],
      ['{ "title": "Old" }\n', "old\n"],
    );
    assert.equal(Buffer.from(await drydock.plans.read(plan.id, "notes", "title")).toString(), "New");
  });
});
