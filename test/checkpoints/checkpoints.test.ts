import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type PlanDiff, SandboxConflictError } from "../../src/index.ts";
import type { Services } from "../../src/services.ts";
import { letterbox, planWithWork, twoPhase, Workshop } from "../commit/workshop.ts";
import { buildRichTree, changeRichTree } from "../support/rich-tree.ts";

const FOLDERS = [
  { location: "a", strategy: "filesystem_copy" },
  { location: "b", strategy: "filesystem_copy" },
] as const;

async function textOf(
  drydock: Services,
  plan: string,
  resource: string,
  path: string,
): Promise<string | undefined> {
  try {
    return Buffer.from(await drydock.plans.read(plan, resource, path)).toString();
  } catch {
    return undefined;
  }
}

async function write(drydock: Services, plan: string, text: string): Promise<void> {
  for (const resource of ["a", "b"]) await drydock.plans.write(plan, resource, "old.txt", Buffer.from(text));
}

function pick({ changes, digest, stats, renames }: PlanDiff): Partial<PlanDiff> {
  return { changes, digest, stats, renames };
}

describe("checkpoints of a plan", () => {
  const isRoot = process.geteuid?.() === 0;

  it("[C6][C7] bring all sandboxes back at once, exactly, in both directions, and drop those made later", async () => {
    await using shop = new Workshop();
    const drydock = await shop.open();
    const { id } = await planWithWork(drydock, FOLDERS);
    const before = await drydock.plans.diff(id);
    const first = await drydock.checkpoints.checkpoint(id, { label: "first" });
    assert.equal(first.automatic, false);
    assert.ok(first.bytes > 0);
    await write(drydock, id, "worse\n");
    for (const name of ["a", "b"]) rmSync(join(await drydock.plans.path(id, name), "added.txt"));
    const second = await drydock.checkpoints.checkpoint(id);
    await write(drydock, id, "worst\n");
    const result = await drydock.checkpoints.restore(id, second.id.slice(0, -2).toLowerCase());
    assert.deepEqual(result.dropped, []);
    assert.equal(await textOf(drydock, id, "b", "old.txt"), "worse\n");
    assert.equal(await textOf(drydock, id, "b", "added.txt"), undefined);
    assert.deepEqual((await drydock.checkpoints.restore(id, "first")).dropped, [second.id]);
    const now = await drydock.plans.diff(id);
    assert.deepEqual(now.changes, before.changes);
    assert.deepEqual(
      (await drydock.checkpoints.list(id)).map(({ label }) => label),
      ["first"],
    );
    await drydock.plans.apply(id);
    assert.equal(shop.text("a/old.txt"), "new of a\n");
    assert.equal(shop.text("b/added.txt"), "added\n");
  });

  it("[V1] show what they hold, of every kind of entry, exactly as the diff did then, and what changed since", {
    skip: !isRoot,
  }, async () => {
    await using shop = new Workshop();
    for (const name of ["a", "b"]) buildRichTree(shop.at(name));
    const drydock = await shop.open();
    const resources = [FOLDERS[0], { location: "b", strategy: "overlay" }];
    const { id } = await drydock.plans.create({ resources });
    for (const name of ["a", "b"]) changeRichTree(await drydock.plans.path(id, name));
    const before = await drydock.plans.diff(id);
    const patch = (await Array.fromAsync(drydock.plans.patch(id))).join("");
    const { id: checkpoint } = await drydock.checkpoints.checkpoint(id, { label: "then" });
    const same = await drydock.plans.diff(id, { checkpoint });
    assert.deepEqual(same.changes, before.changes);
    assert.deepEqual(same.saved?.since, { new: 0, changed: 0, gone: 0, changes: [] });
    for (const name of ["a", "b"]) {
      const root = await drydock.plans.path(id, name);
      writeFileSync(join(root, "plain-edit"), "edited once more\n");
      writeFileSync(join(root, "since"), "new\n");
      writeFileSync(join(root, "plain-gone"), "back as another\n");
      chmodSync(join(root, "plain-mode"), 0o640);
    }
    const { changes, digest, stats, renames, saved } = await drydock.plans.diff(id, { checkpoint: "then" });
    assert.deepEqual({ changes, digest, stats, renames }, pick(before));
    assert.deepEqual([saved?.checkpoint.label, saved?.unlisted], ["then", []]);
    assert.deepEqual(
      saved?.since.changes.filter(({ resource }) => resource === "b").map((each) => [each.path, each.since]),
      [
        [".", "changed"],
        ["plain-edit", "changed"],
        ["plain-gone", "changed"],
        ["since", "new"],
        ["plain-mode", "gone"],
      ],
    );
    assert.equal((await Array.fromAsync(drydock.plans.patch(id, { checkpoint }))).join(""), patch);
    const only = await drydock.plans.diff(id, { checkpoint, paths: ["a/plain-edit"] });
    assert.deepEqual([only.changes.length, only.saved?.since.changed, only.saved?.since.new], [1, 1, 0]);
    assert.equal((await drydock.plans.diff(id)).saved, undefined);
  });

  it("[V1] of a strategy that does not tell what they hold are named, and the others are shown", async () => {
    await using shop = new Workshop();
    const drydock = await shop.open([twoPhase()]);
    const { id } = await drydock.plans.create({
      resources: [FOLDERS[0], letterbox("mail", "two_phase_mail")],
    });
    await drydock.plans.write(id, "a", "old.txt", Buffer.from("new of a\n"));
    await drydock.plans.write(id, "mail", ".", Buffer.from("sent\n"));
    await drydock.checkpoints.checkpoint(id, { label: "then" });
    const { changes, saved } = await drydock.plans.diff(id, { checkpoint: "then" });
    assert.deepEqual(
      changes.map(({ resource, path }) => [resource, path]),
      [["a", "old.txt"]],
    );
    assert.deepEqual([saved?.unlisted, saved?.since.changes], [["mail"], []]);
    await assert.rejects(drydock.plans.diff(id, { checkpoint: "never" }), { code: "UNKNOWN_CHECKPOINT" });
  });

  it("[C7] refer to the same data when nothing changed, and keep it until the last of them goes", async () => {
    await using shop = new Workshop();
    const drydock = await shop.open();
    const { id, resources } = await planWithWork(drydock, FOLDERS);
    const one = await drydock.checkpoints.checkpoint(id);
    const saved = () =>
      readdirSync(join(shop.stateDir, "sandboxes")).flatMap((home) => {
        const folder = join(shop.stateDir, "sandboxes", home, "checkpoints");
        return existsSync(folder) ? readdirSync(folder) : [];
      });
    assert.deepEqual(saved(), [one.id, one.id]);
    await drydock.checkpoints.checkpoint(id, { label: "same" });
    assert.deepEqual(saved(), [one.id, one.id]);
    await drydock.plans.write(id, resources[0]?.name ?? "", "old.txt", Buffer.from("other\n"));
    const three = await drydock.checkpoints.checkpoint(id);
    assert.deepEqual(saved().toSorted(), [one.id, one.id, three.id].toSorted());
    await drydock.checkpoints.restore(id, one.id);
    assert.deepEqual(saved(), [one.id, one.id]);
    assert.equal(await textOf(drydock, id, "a", "old.txt"), "new of a\n");
  });

  it("[C7] of a view refer to the same data when it was only mounted again, and not when its root changed", {
    skip: !isRoot,
  }, async () => {
    await using shop = new Workshop();
    const drydock = await shop.open();
    const { id } = await drydock.plans.create({ resources: [{ location: "a", strategy: "overlay" }] });
    await drydock.plans.write(id, "a", "old.txt", Buffer.from("new of a\n"));
    const root = await drydock.plans.path(id, "a");
    const saved = () => readdirSync(join(root, "..", "checkpoints"));
    const one = await drydock.checkpoints.checkpoint(id);
    await drydock.checkpoints.checkpoint(id);
    assert.deepEqual(saved(), [one.id]);
    chmodSync(root, 0o700);
    const two = await drydock.checkpoints.checkpoint(id);
    assert.deepEqual(saved().toSorted(), [one.id, two.id].toSorted());
    execFileSync("setfattr", ["-n", "user.colour", "-v", "red", root]);
    const three = await drydock.checkpoints.checkpoint(id);
    assert.deepEqual(saved().toSorted(), [one.id, two.id, three.id].toSorted());
  });

  it("[C6] are saved anew when what the last one saved is gone, though nothing changed", async () => {
    await using shop = new Workshop();
    const drydock = await shop.open();
    const { id, resources } = await planWithWork(drydock, FOLDERS);
    const { id: lost } = await drydock.checkpoints.checkpoint(id);
    for (const { name } of resources)
      rmSync(join(await drydock.plans.path(id, name), "..", "checkpoints", lost), { recursive: true });
    const { id: kept } = await drydock.checkpoints.checkpoint(id);
    await write(drydock, id, "later\n");
    await drydock.checkpoints.restore(id, kept);
    for (const name of ["a", "b"])
      assert.equal(await textOf(drydock, id, name, "old.txt"), `new of ${name}\n`);
  });

  it("[C7] without a label are kept up to the number that is set, those with one until they end", async () => {
    await using shop = new Workshop();
    shop.write("drydock.yaml", "sandbox: { checkpoint: { keep: 2 } }\n");
    const drydock = await shop.open([], { config: shop.at("drydock.yaml") });
    const { id } = await planWithWork(drydock, FOLDERS);
    const made: string[] = [];
    for (let at = 0; at < 5; at += 1) {
      await write(drydock, id, `state ${at}\n`);
      made.push((await drydock.checkpoints.checkpoint(id, at === 1 ? { label: "kept" } : {})).id);
    }
    assert.deepEqual(
      (await drydock.checkpoints.list(id)).map((each) => each.id),
      [made[1], made[3], made[4]],
    );
    await assert.rejects(drydock.checkpoints.restore(id, made[0] ?? ""), {
      code: "UNKNOWN_CHECKPOINT",
      message: /is no longer kept/,
    });
    await assert.rejects(drydock.checkpoints.restore(id, "never"), {
      code: "UNKNOWN_CHECKPOINT",
      message: /has no/,
    });
    await assert.rejects(drydock.checkpoints.restore(id, ""), { code: "UNKNOWN_CHECKPOINT" });
    await assert.rejects(drydock.checkpoints.restore(id, (made[0] ?? "").slice(0, 4)), {
      code: "AMBIGUOUS_CHECKPOINT",
    });
    await assert.rejects(drydock.checkpoints.checkpoint(id, { label: "kept" }), { code: "LABEL_TAKEN" });
    await drydock.checkpoints.restore(id, "kept");
    assert.equal(await textOf(drydock, id, "a", "old.txt"), "state 1\n");
  });

  it("[C7][L2] end with a rollback, a landing and a cancel", async () => {
    await using shop = new Workshop();
    const drydock = await shop.open();
    const { id } = await planWithWork(drydock, FOLDERS);
    await drydock.checkpoints.checkpoint(id, { label: "before" });
    await drydock.plans.rollback(id);
    assert.deepEqual(await drydock.checkpoints.list(id), []);
    assert.equal(await textOf(drydock, id, "a", "old.txt"), "old of a\n");
    await write(drydock, id, "again\n");
    await drydock.checkpoints.checkpoint(id, { label: "before" });
    await drydock.plans.apply(id);
    assert.deepEqual(await drydock.checkpoints.list(id), []);
    await assert.rejects(drydock.checkpoints.restore(id, "before"), { code: "UNKNOWN_CHECKPOINT" });
    await assert.rejects(drydock.checkpoints.checkpoint(id), { code: "PLAN_STATE" });
    const other = await planWithWork(drydock, FOLDERS);
    await drydock.checkpoints.checkpoint(other.id);
    await drydock.plans.cancel(other.id);
    assert.deepEqual(await drydock.checkpoints.list(other.id), []);
  });

  it("[S7] are refused, before anything is made, where a strategy has none", async () => {
    await using shop = new Workshop();
    const drydock = await shop.open();
    const { id } = await drydock.plans.create({
      resources: [FOLDERS[0], { location: "b", strategy: "none" }],
      allowIrreversible: true,
    });
    await assert.rejects(drydock.checkpoints.checkpoint(id), {
      code: "UNSUPPORTED",
      message: /^b has no checkpoints/,
    });
    assert.deepEqual(await drydock.checkpoints.list(id), []);
  });

  it("[C6] are found by the next process, which can restore them", async () => {
    await using shop = new Workshop();
    const drydock = await shop.open();
    const { id } = await planWithWork(drydock, FOLDERS);
    await drydock.checkpoints.checkpoint(id, { label: "kept" });
    await write(drydock, id, "later\n");
    const next = await shop.open();
    await next.checkpoints.restore(id, "kept");
    assert.equal(await textOf(next, id, "b", "old.txt"), "new of b\n");
  });

  it("[C6][A5] leave every sandbox as it was when one of them can't be restored", async () => {
    await using shop = new Workshop();
    const drydock = await shop.open();
    const { id, resources } = await planWithWork(drydock, FOLDERS);
    const { id: saved } = await drydock.checkpoints.checkpoint(id, { label: "kept" });
    await write(drydock, id, "later\n");
    const of = await Promise.all(resources.map(({ name }) => drydock.plans.path(id, name)));
    const last = join(of[1] ?? "", "..", "checkpoints", saved);
    renameSync(last, `${last}.away`);
    await assert.rejects(drydock.checkpoints.restore(id, "kept"), /There is no checkpoint/);
    assert.equal((await drydock.plans.show(id)).state, "open");
    for (const name of ["a", "b"]) assert.equal(await textOf(drydock, id, name, "old.txt"), "later\n");
    renameSync(`${last}.away`, last);
    await drydock.checkpoints.restore(id, "kept");
    for (const name of ["a", "b"])
      assert.equal(await textOf(drydock, id, name, "old.txt"), `new of ${name}\n`);
    mkdirSync(join(of[0] ?? "", "more"));
    writeFileSync(join(of[0] ?? "", "more/file"), "more\n");
    await drydock.plans.apply(id);
    assert.equal(shop.text("a/more/file"), "more\n");
  });

  it("[C6] of copies are refused, with every path, where what has to come back changed in the original meanwhile", async () => {
    await using shop = new Workshop();
    const drydock = await shop.open();
    const { id } = await drydock.plans.create({ resources: FOLDERS });
    await drydock.plans.write(id, "a", "added.txt", Buffer.from("added\n"));
    await drydock.checkpoints.checkpoint(id, { label: "kept" });
    await write(drydock, id, "later\n");
    shop.write("b/old.txt", "of somebody else\n");
    await assert.rejects(drydock.checkpoints.restore(id, "kept"), (thrown) => {
      assert.ok(thrown instanceof SandboxConflictError);
      assert.deepEqual(
        thrown.conflicts.map(({ path }) => path),
        ["old.txt"],
      );
      return true;
    });
    for (const name of ["a", "b"]) assert.equal(await textOf(drydock, id, name, "old.txt"), "later\n");
    const next = await shop.open();
    assert.equal((await next.plans.show(id)).state, "open");
    assert.deepEqual(
      (await next.checkpoints.list(id)).map(({ label }) => label),
      ["kept"],
    );
  });
});
