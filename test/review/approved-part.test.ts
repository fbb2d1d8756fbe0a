import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { type Drydock, openDrydock, type Plan, type ReviewedHunks, type Vote } from "drydock-sandbox";
import { Workplace } from "../end-to-end/workplace.ts";
import { mountImage, whyNoImages } from "../support/file-systems.ts";
import { makeSubvolume } from "../support/subvolumes.ts";

/** Twenty lines, some of them changed. */
function lines(changed: { readonly [line: number]: string } = {}): string {
  return Array.from({ length: 20 }, (_, at) => `${changed[at + 1] ?? `line ${at + 1}`}\n`).join("");
}

const NEW = { 2: "two", 10: "ten", 18: "eighteen" };

interface Scene {
  readonly plan: Plan;
  readonly app: string;
  text(path: string): string;
}

/** A plan that changes three places of one file and the whole of two others, and adds a folder. */
async function sceneIn(path: string, drydock: Drydock, strategy: string): Promise<Scene> {
  const app = join(path, "app");
  mkdirSync(app, { recursive: true });
  for (const [name, text] of Object.entries({ "long.txt": lines(), "a.txt": "a\n", "b.txt": "b\n" }))
    writeFileSync(join(app, name), text);
  const plan = await drydock.plans.create({ name: "fix", resources: [{ location: app, strategy }] });
  await plan.write("long.txt", lines(NEW));
  await plan.write("a.txt", "A\n");
  await plan.write("b.txt", "B\n");
  await plan.write("new/c.txt", "c\n");
  return { plan, app, text: (name) => readFileSync(join(app, name), "utf8") };
}

async function vote(plan: Plan, word: Vote, path: string, hunks?: ReviewedHunks, at: readonly number[] = []) {
  const { changes } = await plan.review.changes({ paths: [path] });
  const change = changes.find((each) => each.path === path);
  const target = { resource: "app", path, digest: change?.digest ?? "" };
  const targets =
    hunks === undefined ? [target] : at.map((index) => ({ ...target, hunk: hunks.hunks[index]?.id ?? "" }));
  await plan.review.vote({ vote: word, targets });
}

async function rest(plan: Plan): Promise<readonly string[]> {
  return (await plan.diff()).changes.map(({ path }) => path);
}

/** Lands some hunks, then undoes that, then lands them again and the rest after them. */
async function landInHunks({ plan, text }: Scene): Promise<void> {
  const hunks = await plan.review.hunks({ path: "long.txt" });
  assert.equal(hunks.hunks.length, 3);
  await vote(plan, "approved", "long.txt", hunks, [0, 2]);
  await vote(plan, "approved", "b.txt");
  await vote(plan, "rejected", "a.txt");

  const landed = await plan.apply({ approvedPart: true });
  assert.deepEqual([landed.state, landed.participants[0]?.changes], ["open", 2]);
  assert.equal(text("long.txt"), lines({ 2: "two", 18: "eighteen" }));
  assert.deepEqual([text("a.txt"), text("b.txt")], ["a\n", "B\n"]);
  assert.equal(Buffer.from(await plan.read("long.txt")).toString(), lines(NEW), "the sandbox shows the same");
  assert.deepEqual(await rest(plan), ["a.txt", "long.txt", "new", "new/c.txt"]);
  const left = await plan.review.hunks({ path: "long.txt" });
  assert.deepEqual(
    left.hunks.map(({ id }) => id),
    [hunks.hunks[1]?.id],
    "the hunk that stays keeps its id",
  );
  await assert.rejects(plan.apply({ approvedPart: true }), /No change of the plan fix is approved/);

  assert.equal((await plan.undo()).state, "open");
  assert.equal(text("long.txt"), lines());
  assert.equal((await plan.review.hunks({ path: "long.txt" })).hunks.length, 3);

  // The changes are what they were, and so are the votes.
  await plan.apply({ approvedPart: true });
  assert.equal(text("long.txt"), lines({ 2: "two", 18: "eighteen" }));
  assert.equal((await plan.apply()).state, "applied");
  assert.equal(text("long.txt"), lines(NEW));
  assert.deepEqual([text("a.txt"), text("b.txt"), text("new/c.txt")], ["A\n", "B\n", "c\n"]);
  await plan.undo();
  assert.equal(text("long.txt"), lines({ 2: "two", 18: "eighteen" }));
  assert.equal((await plan.undo()).state, "undone");
  assert.deepEqual([text("long.txt"), text("a.txt"), text("b.txt")], [lines(), "a\n", "b\n"]);
}

describe("what votes approve", () => {
  for (const strategy of ["filesystem_copy", "overlay"])
    it(`[V2] [V4] lands alone, by hunks too, and the rest stays, with ${strategy}`, async () => {
      using place = new Workplace();
      await using drydock = await opened(place);
      await landInHunks(await sceneIn(place.path, drydock, strategy));
    });

  it("[V4] lands by hunks from a snapshot of a subvolume", { skip: whyNoImages() ?? false }, async () => {
    using image = mountImage("btrfs");
    using place = new Workplace();
    await using drydock = await opened(place);
    makeSubvolume(join(image.path, "app"));
    await landInHunks(await sceneIn(image.path, drydock, "snapshot"));
  });

  it("[V4] lands by hunks into a git checkout in place, with the mode of the original", async () => {
    using place = new Workplace();
    await using drydock = await opened(place);
    place.folder("app", {});
    const run = spawnSync("git", ["init", "-q", join(place.path, "app")], { encoding: "utf8" });
    assert.equal(run.status, 0, run.stderr);
    const scene = await sceneIn(place.path, drydock, "overlay");
    const { plan, app, text } = scene;
    await plan.run({ command: ["chmod", "755", join(app, "long.txt")] });
    const hunks = await plan.review.hunks({ path: "long.txt" });
    await vote(plan, "approved", "long.txt", hunks, [1]);
    await plan.apply({ approvedPart: true });
    assert.equal(text("long.txt"), lines({ 10: "ten" }));
    assert.equal(statSync(join(app, "long.txt")).mode & 0o777, 0o644);
    const { changes } = await plan.diff({ paths: ["long.txt"] });
    assert.deepEqual([changes[0]?.before?.mode, changes[0]?.after?.mode], [0o644, 0o755]);
    await plan.apply();
    assert.equal(text("long.txt"), lines(NEW));
    assert.equal(statSync(join(app, "long.txt")).mode & 0o777, 0o755);
  });

  it("[V2] lands as a whole if it is everything, and not at all once a change has moved", async () => {
    using place = new Workplace();
    await using drydock = await opened(place);
    const { plan, text } = await sceneIn(place.path, drydock, "filesystem_copy");
    const { digest } = await plan.review.changes();
    await plan.review.vote({ vote: "approved", targets: [{}], digest });
    await plan.write("a.txt", "not what was approved\n");
    assert.equal((await plan.apply({ approvedPart: true })).state, "open");
    assert.deepEqual([text("a.txt"), text("b.txt"), text("new/c.txt")], ["a\n", "B\n", "c\n"]);
    await vote(plan, "approved", "a.txt");
    assert.equal((await plan.apply({ approvedPart: true })).state, "applied");
    assert.equal(text("a.txt"), "not what was approved\n");
  });

  for (const strategy of ["filesystem_copy", "overlay"])
    it(`[V2] a vote on a new folder takes along no file in it without one, with ${strategy}`, async () => {
      using place = new Workplace();
      await using drydock = await opened(place);
      const { plan, app, text } = await sceneIn(place.path, drydock, strategy);
      await vote(plan, "approved", "b.txt");
      await vote(plan, "approved", "new");
      await assert.rejects(
        plan.apply({ approvedPart: true }),
        /new can't land without the rest of the folder/,
      );
      assert.deepEqual([text("b.txt"), existsSync(join(app, "new"))], ["b\n", false]);
      await vote(plan, "approved", "new/c.txt");
      await plan.apply({ approvedPart: true });
      assert.deepEqual([text("b.txt"), text("new/c.txt")], ["B\n", "c\n"]);
      assert.deepEqual(await rest(plan), ["a.txt", "long.txt"]);
    });

  it("is refused where it can't land alone: a file of a new folder, a row of a database", async () => {
    using place = new Workplace();
    await using drydock = await opened(place);
    const { plan } = await sceneIn(place.path, drydock, "overlay");
    await plan.write("new/d.txt", "d\n");
    await vote(plan, "approved", "new/c.txt");
    await assert.rejects(plan.apply({ approvedPart: true }), /can't land without the rest of the folder new/);
    await plan.cancel();

    const file = join(place.path, "shop.db");
    using database = new DatabaseSync(file);
    database.exec("CREATE TABLE items (id INTEGER PRIMARY KEY, price INTEGER); CREATE TABLE other (id)");
    const shop = await drydock.plans.create({ name: "shop", resources: [{ location: file }] });
    await shop.sql("INSERT INTO items VALUES (1, 10); INSERT INTO other VALUES (1)");
    const [first] = (await shop.review.changes()).changes;
    await shop.review.vote({ vote: "approved", targets: [{ digest: first?.digest ?? "" }] });
    await assert.rejects(shop.apply({ approvedPart: true }), /can't land in parts/);
  });
});

async function opened(place: Workplace): Promise<Drydock> {
  return await openDrydock({ stateDir: place.state, cwd: place.path, environment: place.environment });
}
