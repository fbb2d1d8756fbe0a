import assert from "node:assert/strict";
import { existsSync, linkSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { ulid } from "ulid";
import { withDefaults } from "../../src/core/capabilities.ts";
import { AtomicCommitError } from "../../src/index.ts";
import type { Services } from "../../src/services.ts";
import { FilesystemCopyStrategy } from "../../src/strategies/filesystem-copy/filesystem-copy.ts";
import { SqliteSnapshotStrategy } from "../../src/strategies/sqlite-snapshot/sqlite-snapshot.ts";
import { type MountedImage, mountImage, whyNoImages } from "../support/file-systems.ts";
import { itInTurn } from "../support/long-form.ts";
import { contextIn } from "../support/strategy-context.ts";
import { makeSubvolume } from "../support/subvolumes.ts";
import { Workshop, type WorkshopPlace } from "./workshop.ts";

function isOnImage(strategy: string): boolean {
  return strategy === "copy_on_write" || strategy === "snapshot";
}

/** A plan over the folder `a`, called p, with files in it and its sandbox. */
async function planOver(shop: Workshop, strategy: string): Promise<{ drydock: Services; sandbox: string }> {
  for (const path of ["a/src/app.ts", "a/src/other.ts", "a/docs/guide.md", "a/docs/gone.md"]) {
    mkdirSync(dirname(shop.at(path)), { recursive: true });
    shop.write(path, `old ${path}\n`);
  }
  const drydock = await shop.open();
  await drydock.plans.create({ name: "p", resources: [{ location: shop.at("a"), strategy }] });
  return { drydock, sandbox: await drydock.plans.path("p") };
}

async function paths({ plans }: Services): Promise<string[]> {
  return (await plans.diff("p")).changes.map(({ operation, path }) => `${operation} ${path}`);
}

/** Why a landing is refused. */
async function refusal(landing: Promise<unknown>): Promise<{ readonly code: string; readonly hint: string }> {
  try {
    await landing;
  } catch (thrown) {
    assert.ok(thrown instanceof AtomicCommitError, String(thrown));
    const cause = thrown.cause as { readonly code: string; readonly hint: string };
    return { code: cause.code, hint: cause.hint };
  }
  return assert.fail("it landed");
}

/** Those that need a file system of their own take turns in a normal run. */
const ON_IMAGES = ["copy_on_write", "snapshot"];

for (const strategy of ["filesystem_copy", "overlay", ...ON_IMAGES])
  describe(`a part of a plan, with ${strategy}`, {
    skip: isOnImage(strategy) ? (whyNoImages() ?? false) : false,
  }, () => {
    let image: MountedImage | undefined;
    let place: WorkshopPlace | undefined;
    before(() => {
      if (!isOnImage(strategy)) return;
      image = mountImage("btrfs");
      place = { parent: image.path, ...(strategy === "snapshot" && { makeOriginal: makeSubvolume }) };
    });
    after(() => image?.remove());
    const it = itInTurn(strategy, ON_IMAGES);

    it("[A1] lands by itself; the rest stays, can be worked on, and lands later without a conflict", async () => {
      await using shop = new Workshop(place);
      const { drydock, sandbox } = await planOver(shop, strategy);
      const { plans } = drydock;
      writeFileSync(join(sandbox, "src/app.ts"), "new app\n");
      writeFileSync(join(sandbox, "docs/guide.md"), "new guide\n");
      rmSync(join(sandbox, "docs/gone.md"));
      mkdirSync(join(sandbox, "docs/new"));
      writeFileSync(join(sandbox, "docs/new/page.md"), "new page\n");
      const { state, participants } = await plans.apply("p", { only: ["docs/**"], message: "the docs" });
      assert.deepEqual([state, participants.map(({ changes }) => changes)], ["open", [4]]);
      assert.equal(shop.text("a/docs/guide.md"), "new guide\n");
      assert.equal(shop.text("a/docs/new/page.md"), "new page\n");
      assert.equal(shop.text("a/docs/gone.md"), undefined);
      assert.equal(shop.text("a/src/app.ts"), "old a/src/app.ts\n");
      assert.deepEqual(await paths(drydock), ["modified src/app.ts"]);
      // What landed is changed once more, deleted, and deleted with the folder around it.
      const again = await plans.path("p");
      writeFileSync(join(again, "docs/guide.md"), "newer guide\n");
      rmSync(join(again, "docs/new"), { recursive: true });
      rmSync(join(again, "src"), { recursive: true });
      await plans.apply("p");
      assert.equal(shop.text("a/docs/guide.md"), "newer guide\n");
      assert.deepEqual([existsSync(shop.at("a/docs/new")), existsSync(shop.at("a/src"))], [false, false]);
      assert.equal((await plans.undo("p")).state, "applied");
      assert.equal(shop.text("a/docs/guide.md"), "new guide\n");
      assert.equal((await plans.undo("p")).state, "undone");
      assert.equal(shop.text("a/docs/gone.md"), "old a/docs/gone.md\n");
      const { entries } = await drydock.log("p");
      const told = entries.filter(({ event }) => /appl|undo/.test(event)).map(({ event }) => event);
      assert.deepEqual(told, ["part applied", "applied", "last landing undone", "undone"]);
      const parts = entries.flatMap((entry) => (entry.event === "part applied" ? [entry.details.only] : []));
      assert.deepEqual(parts, [["a:docs/**"]]);
    });

    it("[A18] is taken back into the sandbox, the last one first, and the plan stays open", async () => {
      await using shop = new Workshop(place);
      const { drydock, sandbox } = await planOver(shop, strategy);
      const { plans } = drydock;
      writeFileSync(join(sandbox, "src/app.ts"), "new app\n");
      rmSync(join(sandbox, "docs/gone.md"));
      const all = ["deleted docs/gone.md", "modified src/app.ts"];
      assert.deepEqual(await paths(drydock), all);
      await plans.apply("p", { only: ["src"] });
      await plans.apply("p", { only: ["docs"] });
      assert.deepEqual(await paths(drydock), []);
      assert.match(JSON.stringify((await plans.show("p")).undo), /until/);
      assert.equal((await plans.undo("p")).state, "open");
      assert.deepEqual(
        [shop.text("a/docs/gone.md"), shop.text("a/src/app.ts")],
        ["old a/docs/gone.md\n", "new app\n"],
      );
      assert.deepEqual(await paths(drydock), ["deleted docs/gone.md"]);
      await plans.undo("p");
      assert.equal(shop.text("a/src/app.ts"), "old a/src/app.ts\n");
      assert.deepEqual(await paths(drydock), all);
      await assert.rejects(plans.undo("p"), { reason: "PLAN_STATE" });
      await plans.apply("p");
      assert.equal(shop.text("a/src/app.ts"), "new app\n");
    });

    it("[C6][C7] ends the checkpoints of before, and so does its undo", async () => {
      await using shop = new Workshop(place);
      const { drydock, sandbox } = await planOver(shop, strategy);
      const { plans, checkpoints } = drydock;
      writeFileSync(join(sandbox, "src/app.ts"), "new app\n");
      writeFileSync(join(sandbox, "src/other.ts"), "new other\n");
      await checkpoints.checkpoint("p", { label: "before" });
      await plans.apply("p", { only: ["src/app.ts"] });
      assert.deepEqual(await checkpoints.list("p"), []);
      await checkpoints.checkpoint("p", { label: "between" });
      rmSync(join(await plans.path("p"), "src/other.ts"));
      await checkpoints.restore("p", "between");
      assert.deepEqual(await paths(drydock), ["modified src/other.ts"]);
      await plans.undo("p");
      assert.deepEqual(await checkpoints.list("p"), []);
      assert.deepEqual(await paths(drydock), ["modified src/app.ts", "modified src/other.ts"]);
    });

    it("[L2] stays landed when the rest is rolled back, and can be taken back then", async () => {
      await using shop = new Workshop(place);
      const { drydock, sandbox } = await planOver(shop, strategy);
      const { plans } = drydock;
      writeFileSync(join(sandbox, "src/app.ts"), "new app\n");
      writeFileSync(join(sandbox, "docs/guide.md"), "new guide\n");
      await plans.apply("p", { only: ["src"] });
      await plans.rollback("p");
      assert.deepEqual(await paths(drydock), []);
      assert.equal(shop.text("a/src/app.ts"), "new app\n");
      await plans.undo("p");
      assert.equal(shop.text("a/src/app.ts"), "old a/src/app.ts\n");
      assert.deepEqual(await paths(drydock), ["modified src/app.ts"]);
    });

    it("[A15] is still a rival's to change: the rest lands over nothing of his, and his is not taken back", async () => {
      await using shop = new Workshop(place);
      const { drydock, sandbox } = await planOver(shop, strategy);
      const { plans } = drydock;
      writeFileSync(join(sandbox, "src/app.ts"), "new app\n");
      writeFileSync(join(sandbox, "docs/guide.md"), "new guide\n");
      await plans.apply("p", { only: ["src"] });
      shop.write("a/src/app.ts", "somebody else's\n");
      const undone = await refusalOfUndo(drydock);
      assert.deepEqual(undone, ["src/app.ts"]);
      writeFileSync(join(await plans.path("p"), "src/app.ts"), "newer app\n");
      assert.equal((await refusal(plans.apply("p"))).code, "CONFLICT");
      assert.equal(shop.text("a/src/app.ts"), "somebody else's\n");
      await plans.apply("p", { only: ["docs"] });
      assert.equal(shop.text("a/docs/guide.md"), "new guide\n");
    });

    it("[A7] does not land in a dry run, nor by the digest of other work", async () => {
      await using shop = new Workshop(place);
      const { drydock, sandbox } = await planOver(shop, strategy);
      const { plans } = drydock;
      writeFileSync(join(sandbox, "src/app.ts"), "new app\n");
      const { digest } = await plans.diff("p");
      const dry = await plans.apply("p", { only: ["src/*.ts"], dryRun: true, digest });
      assert.deepEqual([dry.state, dry.participants[0]?.changes], ["open", 1]);
      assert.equal(shop.text("a/src/app.ts"), "old a/src/app.ts\n");
      assert.equal((await plans.diff("p")).digest, digest);
      writeFileSync(join(await plans.path("p"), "docs/guide.md"), "not reviewed\n");
      assert.equal((await refusal(plans.apply("p", { only: ["src"], digest }))).code, "DIGEST_DIFFERS");
      await plans.apply("p", { only: ["src"], digest: (await plans.diff("p")).digest });
      assert.deepEqual(await paths(drydock), ["modified docs/guide.md"]);
    });

    it("[A15] is no change of somebody else's to another name of the same file, nor is taking one back", async () => {
      await using shop = new Workshop(place);
      for (const name of ["second", "third"]) linkSync(shop.at("a/old.txt"), shop.at(`a/${name}`));
      const { drydock, sandbox } = await planOver(shop, strategy);
      const { plans } = drydock;
      for (const name of ["second", "third"]) rmSync(join(sandbox, name));
      writeFileSync(join(sandbox, "old.txt"), "new of a\n");
      await plans.apply("p", { only: ["second"] });
      await plans.apply("p", { only: ["third"] });
      await plans.undo("p");
      const { attention } = await plans.apply("p");
      assert.deepEqual(attention, []);
      assert.deepEqual([shop.text("a/old.txt"), shop.text("a/third")], ["new of a\n", undefined]);
    });

    it("[A11] is never a part of a folder that lands as one, nor one of the names of a file", async () => {
      await using shop = new Workshop(place);
      const { drydock, sandbox } = await planOver(shop, strategy);
      const { plans } = drydock;
      mkdirSync(join(sandbox, "new/deep"), { recursive: true });
      for (const name of ["one", "two"]) writeFileSync(join(sandbox, "new/deep", name), `${name}\n`);
      writeFileSync(join(sandbox, "linked-1"), "linked\n");
      linkSync(join(sandbox, "linked-1"), join(sandbox, "linked-2"));
      assert.equal((await refusal(plans.apply("p", { only: ["new/deep/one"] }))).code, "PART_OF_FOLDER");
      assert.match((await refusal(plans.apply("p", { only: ["**/one"] }))).hint, /Choose new:/);
      assert.equal((await refusal(plans.apply("p", { only: ["linked-2"] }))).code, "PART_OF_FILE");
      await plans.apply("p", { only: ["linked-?"] });
      await plans.apply("p", { only: ["new/deep/*"] });
      assert.deepEqual(readdirSync(shop.at("a/new/deep")).sort(), ["one", "two"]);
      assert.deepEqual(await paths(drydock), []);
    });
  });

async function refusalOfUndo({ plans }: Services): Promise<readonly string[]> {
  try {
    await plans.undo("p");
  } catch (thrown) {
    assert.ok(thrown instanceof AtomicCommitError, String(thrown));
    return thrown.conflicts.map(({ path }) => path);
  }
  return assert.fail("it was taken back");
}

describe("a part of a plan", () => {
  it("[A15] of an overlay is not taken back under what the sandbox made of it since", async () => {
    await using shop = new Workshop();
    const { drydock, sandbox } = await planOver(shop, "overlay");
    writeFileSync(join(sandbox, "src/app.ts"), "new app\n");
    await drydock.plans.apply("p", { only: ["src"] });
    writeFileSync(join(await drydock.plans.path("p"), "src/app.ts"), "newer app\n");
    assert.deepEqual(await refusalOfUndo(drydock), ["src/app.ts"]);
    assert.equal(shop.text("a/src/app.ts"), "new app\n");
    assert.deepEqual(await paths(drydock), ["modified src/app.ts"]);
    await drydock.plans.apply("p", { only: ["src"] });
    await drydock.plans.undo("p");
    assert.equal(shop.text("a/src/app.ts"), "new app\n");
  });

  it("[A1] is of the resources in which it is found, and only those land", async () => {
    await using shop = new Workshop();
    const drydock = await shop.open();
    const { plans } = drydock;
    const resources = [
      { location: shop.at("a"), strategy: "filesystem_copy" },
      { location: shop.at("b"), strategy: "overlay" },
    ];
    await plans.create({ name: "p", resources });
    for (const name of ["a", "b"])
      for (const path of ["new.txt", "more.txt"])
        await plans.write("p", name, path, Buffer.from(`${path} of ${name}\n`));
    const landed = await plans.apply("p", { only: ["b:new.txt", "more.*"] });
    assert.deepEqual(landed.participants.map(({ resource, changes }) => [resource, changes]).sort(), [
      ["a", 1],
      ["b", 2],
    ]);
    assert.deepEqual([shop.text("a/new.txt"), shop.text("b/new.txt")], [undefined, "new.txt of b\n"]);
    assert.deepEqual(await paths(drydock), ["added new.txt"]);
    const one = await plans.apply("p", { only: ["a:"] });
    assert.deepEqual(
      one.participants.map(({ resource }) => resource),
      ["a"],
    );
    await plans.undo("p");
    await plans.undo("p");
    assert.deepEqual([shop.text("a/more.txt"), shop.text("b/new.txt")], [undefined, undefined]);
  });
});

describe("a part of a database", () => {
  it("[S7] does not land, also where the reference to its sandbox is of a time when nobody asked", async () => {
    await using shop = new Workshop();
    mkdirSync(shop.stateDir);
    using database = new DatabaseSync(shop.at("data.db"));
    database.exec("CREATE TABLE t(a)");
    const strategy = new SqliteSnapshotStrategy(contextIn(shop.stateDir));
    const planId = ulid();
    const location = shop.at("data.db");
    const resource = { id: "d", name: "d", type: "sqlite-database", location, properties: {} };
    assert.equal(withDefaults(strategy.capabilities).partial, false);
    const ref = await strategy.create(planId, resource);
    await strategy.query(ref, "INSERT INTO t VALUES (7)", { readOnly: false });
    const part = { id: ulid(), planId, direction: "commit", only: ["t"] } as const;
    await assert.rejects(strategy.prepare(ref, part), {
      code: "UNSUPPORTED",
      message: /can't land in parts/,
    });
    assert.equal((await strategy.diff(ref)).changes.length, 1);
    await strategy.cleanup(ref);
  });
});

describe("what is chosen to land", () => {
  const wrong: readonly (readonly [only: string, hint: RegExp])[] = [
    ["READM.md", /Did you mean README\.md\?/],
    ["b:*.txt", /There is nothing to land there/],
    ["nothing/**", /It changes README\.md, old\.txt\./],
    ["", /Give one like/],
    ["c:README.md", /Did you mean README\.md\?|It changes/],
  ];
  for (const [only, hint] of wrong)
    it(`[X5] is refused where '${only}' means nothing, with what is near`, async () => {
      await using shop = new Workshop();
      const { plans } = await shop.open();
      const resources = ["a", "b"].map((name) => ({ location: shop.at(name), strategy: "filesystem_copy" }));
      await plans.create({ name: "p", resources });
      await plans.write("p", "a", "README.md", Buffer.from("new\n"));
      await plans.write("p", "a", "old.txt", Buffer.from("new\n"));
      assert.match((await refusal(plans.apply("p", { only: ["README.md", only] }))).hint, hint);
      assert.equal(shop.text("a/README.md"), undefined);
    });
});

describe("work that goes on in a copy while a part of it lands", () => {
  it("[A7] is still there afterwards, and lands later", async () => {
    await using shop = new Workshop();
    mkdirSync(shop.stateDir);
    const strategy = new FilesystemCopyStrategy(contextIn(shop.stateDir));
    const planId = ulid();
    const resource = { id: "a", name: "a", type: "fs-directory", location: shop.at("a"), properties: {} };
    const ref = await strategy.create(planId, resource);
    const file = join(await strategy.path(ref), "old.txt");
    // Of the same size and time, so that nothing but a look at it tells.
    const write = (text: string) => {
      writeFileSync(file, text);
      utimesSync(file, 1_000_000_000, 1_000_000_000);
    };
    write("first\n");
    const part = { id: ulid(), planId, direction: "commit", only: ["old.txt"] } as const;
    const prepared = await strategy.prepare(ref, part);
    assert.ok(prepared !== null);
    write("later\n");
    await strategy.commitPrepared(ref, part, prepared);
    assert.equal(shop.text("a/old.txt"), "first\n");
    assert.deepEqual(
      (await strategy.diff(ref)).changes.map(({ path }) => path),
      ["old.txt"],
    );
    await strategy.commit(ref);
    assert.equal(shop.text("a/old.txt"), "later\n");
    await strategy.rollback(ref);
    assert.equal(shop.text("a/old.txt"), "first\n");
  });
});
