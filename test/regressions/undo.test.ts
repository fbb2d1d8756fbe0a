import assert from "node:assert/strict";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type ApplyResult, AtomicCommitError, PlanStateError } from "../../src/index.ts";
import type { Services } from "../../src/services.ts";
import { Workshop } from "../commit/workshop.ts";
import { lastResult, runProcess } from "../rivals/drydock-process.ts";
import { actDuring, dieDuring } from "./during-call.ts";

describe("The undo record of an applied plan", () => {
  // Came from: getOrCreate on an applied plan made a new sandbox over the undo record, with the only copy of
  // what was deleted in it.
  it("[A18] survives that its sandbox is asked for again", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    rmSync(join(await drydock.plans.path(plan.id), "old.txt"));
    await drydock.plans.apply(plan.id);
    await assert.rejects(drydock.sandboxes.getOrCreate(plan.id, "a"), PlanStateError);
    await drydock.plans.undo(plan.id);
    assert.equal(workshop.text("a/old.txt"), "old of a\n");
  });

  // Came from: the rename of an undo moved the change time of what it brought back, which then counted as
  // somebody else's change.
  it("[A18] serves after a later plan was applied and undone", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const first = await applied(drydock, "first");
    const second = await applied(drydock, "second");
    await drydock.plans.undo(second);
    assert.equal(workshop.text("a/old.txt"), "first");
    await drydock.plans.undo(first);
    assert.equal(workshop.text("a/old.txt"), "old of a\n");
  });

  // Came from: the same; an open plan found a conflict in what an undo had brought back.
  it("[A18] [A15] once used, is no conflict for a plan that is older than both", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const older = await drydock.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    await drydock.plans.write(older.id, "a", "old.txt", Buffer.from("older"));
    await drydock.plans.undo(await applied(drydock, "other"));
    await drydock.plans.apply(older.id);
    assert.equal(workshop.text("a/old.txt"), "older");
  });

  // Came from: a file that had only got another name, and lost it again, passed for changed by somebody else.
  it("[A18] [A15] once used, leaves no trace on a file that had got another name", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const resources = [{ location: "a", strategy: "filesystem_copy" }];
    const older = await drydock.plans.create({ resources });
    await drydock.plans.write(older.id, "a", "old.txt", Buffer.from("older"));
    const linking = await drydock.plans.create({ resources });
    const sandbox = await drydock.plans.path(linking.id);
    linkSync(join(sandbox, "old.txt"), join(sandbox, "again"));
    await drydock.plans.apply(linking.id);
    assert.equal(statSync(workshop.at("a/old.txt")).nlink, 2);
    await drydock.plans.undo(linking.id);
    await drydock.plans.apply(older.id);
    assert.equal(workshop.text("a/old.txt"), "older");
  });

  // Came from: a strategy that had committed twice took the first landing for somebody else's change when it
  // rolled the second back.
  it("[A18] of two commits of one sandbox takes both back", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    const { ref } = await drydock.sandboxes.getOrCreate(plan.id, "a");
    const { strategy } = await drydock.registry.resolve(ref.strategyName);
    for (const text of ["first", "second"]) {
      await strategy.write(ref, "old.txt", Buffer.from(text));
      await strategy.commit(ref);
    }
    await strategy.rollback(ref);
    assert.equal(workshop.text("a/old.txt"), "old of a\n");
  });
});

describe("rollbackAll of an applied plan", () => {
  // Came from: it reported success and left the original as the plan had made it.
  it("[A18] is an undo", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await applied(drydock, "new");
    assert.deepEqual(await drydock.sandboxes.rollbackAll(plan), { done: ["a"], failed: [] });
    assert.equal(workshop.text("a/old.txt"), "old of a\n");
    assert.equal((await drydock.plans.show(plan)).state, "undone");
  });

  // Came from: with kept sandboxes a rollback that died while it cleaned up could not be finished: "the undo
  // record is damaged".
  it("[A3] finishes after it died at its end", async () => {
    await using workshop = new Workshop();
    workshop.write("manual.yaml", "sandbox:\n  cleanup: manual\n");
    const before = await workshop.open([], { config: workshop.at("manual.yaml") });
    const plan = await applied(before, "new");
    const call = `await drydock.sandboxes.rollbackAll(${JSON.stringify(plan)});`;
    assert.equal(dieDuring(workshop.stateDir, call, "landings.discard=kill"), "SIGKILL");
    const drydock = await workshop.open([], { config: workshop.at("manual.yaml") });
    assert.deepEqual((await drydock.sandboxes.rollbackAll(plan)).failed, []);
    assert.equal((await drydock.plans.show(plan)).state, "undone");
    assert.equal(workshop.text("a/old.txt"), "old of a\n");
  });

  // Came from: with kept sandboxes it removed, with what it took back, what a rival had just written to it.
  it("[A19] refuses where a rival replaced what landed", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await applied(drydock, "new");
    rmSync(workshop.at("a/old.txt"));
    workshop.write("a/old.txt", "the rival's only copy");
    const { failed } = await drydock.sandboxes.rollbackAll(plan);
    assert.match(failed[0]?.message ?? "", /old\.txt/);
    assert.equal(workshop.text("a/old.txt"), "the rival's only copy");
    assert.equal((await drydock.plans.show(plan)).state, "applied");
  });
});

describe("An undo", () => {
  // Came from: undo removed what had landed together with what a rival wrote to it at that moment.
  it("[A19] keeps, and names, what a rival wrote while it ran", async () => {
    await using workshop = new Workshop();
    workshop.write("manual.yaml", "sandbox:\n  cleanup: manual\n");
    const config = workshop.at("manual.yaml");
    const drydock = await workshop.open([], { config });
    const plan = await drydock.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    await drydock.plans.write(plan.id, "a", "new.txt", Buffer.from("the plan's"));
    await drydock.plans.apply(plan.id);
    const task = { stateDir: workshop.stateDir, config, calls: [["undo", plan.id]] as const };
    const end = await actDuring(task, "land.remove=stop", () =>
      workshop.write("a/new.txt", "the rival's, longer"),
    );
    assert.equal(keptTextOf(lastResult<ApplyResult>(end), "new.txt"), "the rival's, longer");
  });

  // Came from: undo could never finish (EEXIST) after a rival had taken the place of an added file, and
  // blocked the original for good.
  it("[A19] gives back what a rival had put in the place of an addition", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    await drydock.plans.write(plan.id, "a", "new.txt", Buffer.from("the plan's"));
    const end = await actDuring(applyTask(workshop, plan.id), "land.add=stop", () =>
      workshop.write("a/new.txt", "rival"),
    );
    assert.equal(keptTextOf(lastResult<ApplyResult>(end), "new.txt"), "rival");
    const { state, attention } = await drydock.plans.undo(plan.id);
    assert.deepEqual([state, attention], ["undone", []]);
    assert.equal(workshop.text("a/new.txt"), "rival");
    await applied(drydock, "the original is free again");
  });

  // Came from: a slot that had held a rival's version was kept for good after the undo had given it back, and
  // named though it was gone.
  it("[A17] [A19] leaves nothing behind once a rival's version is back in its place", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    await drydock.plans.write(plan.id, "a", "old.txt", Buffer.from("the plan's"));
    const rivalWrites = () => writeFileSync(workshop.at("a/old.txt"), "and the rival's\n", { flag: "a" });
    const end = await actDuring(applyTask(workshop, plan.id), "land.exchange=stop", rivalWrites);
    assert.equal(keptTextOf(lastResult<ApplyResult>(end), "old.txt"), "old of a\nand the rival's\n");
    assert.deepEqual((await drydock.plans.undo(plan.id)).attention, []);
    assert.equal(workshop.text("a/old.txt"), "old of a\nand the rival's\n");
    assert.deepEqual(readdirSync(join(workshop.stateDir, "sandboxes")), []);
  });

  for (const failpoint of ["land.record=kill", "landings.flush-landed=kill"]) {
    // Came from: recovery took the moment of its own end for the end of the landing, so what was edited in
    // between was removed by undo.
    it(`[A3] [A18] never takes what was edited after a crash at ${failpoint} and before the recovery`, async () => {
      await using workshop = new Workshop();
      const before = await workshop.open();
      const plan = await before.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
      mkdirSync(join(await before.plans.path(plan.id), "new/deep"), { recursive: true });
      await before.plans.write(plan.id, "a", "new/deep/file", Buffer.from("the plan's"));
      assert.equal((await runProcess(applyTask(workshop, plan.id), { failpoint })).signal, "SIGKILL");
      workshop.write("a/new/deep/file", "the work of a day");
      workshop.write("a/new/deep/more", "the work of a day");
      const drydock = await workshop.open();
      assert.equal(drydock.recovery.finished[0]?.planId, plan.id);
      await assert.rejects(drydock.plans.undo(plan.id), AtomicCommitError);
      for (const name of ["file", "more"])
        assert.equal(workshop.text(`a/new/deep/${name}`), "the work of a day");
    });
  }
});

async function applied(drydock: Services, text: string): Promise<string> {
  const { id } = await drydock.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
  await drydock.plans.write(id, "a", "old.txt", Buffer.from(text));
  await drydock.plans.apply(id);
  return id;
}

function applyTask(workshop: Workshop, plan: string) {
  return { stateDir: workshop.stateDir, calls: [["apply", plan]] as const };
}

function keptTextOf({ attention }: ApplyResult, path: string): string | undefined {
  const keptAt = attention.find((item) => item.path === path)?.keptAt ?? "";
  return existsSync(keptAt) ? readFileSync(keptAt, "utf8") : undefined;
}
