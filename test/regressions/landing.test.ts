import assert from "node:assert/strict";
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type ApplyResult, AtomicCommitError, PlanStateError } from "../../src/index.ts";
import { irreversible, letterbox, planWithWork, Workshop } from "../commit/workshop.ts";
import { lastError, lastResult, runProcess } from "../rivals/drydock-process.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";
import { actDuring, dieDuring } from "./during-call.ts";

describe("A commit that fails half way", () => {
  // Came from: commit of a strategy left half of the work in the original, and lost what it had taken out.
  it("[A1] [A7] leaves the original as it was and the work in the sandbox", async () => {
    await using workshop = new Workshop();
    for (const name of ["1", "2", "gone"]) workshop.write(`a/${name}`, `old ${name}`);
    const before = await workshop.open();
    const plan = await before.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    const sandbox = await before.plans.path(plan.id);
    for (const name of ["1", "2"]) await before.plans.write(plan.id, "a", name, Buffer.from(`new ${name}`));
    rmSync(join(sandbox, "gone"));
    const [original, work] = [snapshotTree(workshop.at("a")), await before.plans.diff(plan.id)];

    const failing = await workshop.open([], { environment: { DRYDOCK_FAILPOINT: "land.times:1=error" } });
    const { ref } = await failing.sandboxes.getOrCreate(plan.id, "a");
    const { strategy } = await failing.registry.resolve(ref.strategyName);
    await assert.rejects(strategy.commit(ref), /land\.times/);
    assertSameTree(snapshotTree(workshop.at("a")), original, "the original");
    assert.equal((await failing.plans.diff(plan.id)).digest, work.digest);
    assert.equal(readFileSync(join(sandbox, "1"), "utf8"), "new 1");

    const drydock = await workshop.open();
    await drydock.plans.apply(plan.id);
    assert.deepEqual([workshop.text("a/2"), workshop.text("a/gone")], ["new 2", undefined]);
  });

  // Came from: a landing that could never finish could not be given up either, and blocked its originals for
  // good.
  it("[A7] can be given up: originals are as they were, the work is in the sandboxes", async () => {
    await using workshop = new Workshop();
    const before = await workshop.open();
    const plan = await planWithWork(before, [
      { location: "a", strategy: "filesystem_copy" },
      { location: "b", strategy: "filesystem_copy" },
    ]);
    const originals = ["a", "b"].map((folder) => snapshotTree(workshop.at(folder)));
    const { digest } = await before.plans.diff(plan.id);
    const calls = [
      ["apply", plan.id],
      ["show", plan.id],
      ["settle", plan.id, "abort"],
    ] as const;
    const end = await runProcess(
      { stateDir: workshop.stateDir, calls },
      { failpoint: "land.exchange=error" },
    );
    const [, apply, show] = end.answers;
    assert.match(JSON.stringify(apply), /not all of it could be finished yet/);
    assert.match(JSON.stringify(show), /"state":"applying"/);
    assert.deepEqual(lastResult<{ pending: unknown }>(end).pending, []);

    for (const [at, folder] of ["a", "b"].entries())
      assertSameTree(snapshotTree(workshop.at(folder)), originals[at] ?? new Map(), folder);
    const drydock = await workshop.open();
    assert.equal((await drydock.plans.show(plan.id)).state, "open");
    assert.equal((await drydock.plans.diff(plan.id)).digest, digest);
    assert.equal((await drydock.plans.apply(plan.id)).state, "applied");
    assert.equal(workshop.text("b/old.txt"), "new of b\n");
  });

  for (const method of ["cleanupAll", "rollbackAll"] as const) {
    // Came from: both threw away the work of a plan of which nobody knew whether it had landed.
    it(`[A16] is in doubt: ${method} is refused and harmless`, async () => {
      await using workshop = new Workshop();
      const before = await workshop.open([irreversible()]);
      const resources = [
        { location: "a", strategy: "filesystem_copy" },
        letterbox("mail", "irreversible_mail"),
      ];
      const plan = await planWithWork(before, resources, { allowIrreversible: true });
      const task = {
        stateDir: workshop.stateDir,
        mailboxes: [irreversible()],
        calls: [["apply", plan.id]] as const,
      };
      assert.equal((await runProcess(task, { failpoint: "mailbox.sent=kill" })).signal, "SIGKILL");
      const drydock = await workshop.open([irreversible()]);
      assert.equal(drydock.recovery.pending[0]?.inDoubt, true);
      await assert.rejects(drydock.sandboxes[method](plan.id), PlanStateError);
      await drydock.settle(plan.id, "abort");
      assert.equal((await drydock.plans.show(plan.id)).state, "open");
      assert.equal(Buffer.from(await drydock.plans.read(plan.id, "a", "old.txt")).toString(), "new of a\n");
    });
  }
});

describe("What dies on the way", () => {
  // Came from: after a rollback that had died, a failed apply could not be taken back, and the plan could not
  // even be cancelled.
  it("[A3] as a rollback blocks nothing", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await planWithWork(drydock, [
      { location: "a", strategy: "filesystem_copy" },
      { location: "b", strategy: "filesystem_copy" },
    ]);
    const task = { stateDir: workshop.stateDir, calls: [["rollback", plan.id]] as const };
    assert.equal((await runProcess(task, { failpoint: "copy.create-tree:2=kill" })).signal, "SIGKILL");
    await drydock.recover();
    await drydock.plans.write(plan.id, "a", "old.txt", Buffer.from("again"));
    workshop.write("a/old.txt", "rival");
    await assert.rejects(drydock.plans.apply(plan.id), AtomicCommitError);
    assert.deepEqual((await drydock.recover()).pending, []);
    assert.equal((await drydock.plans.show(plan.id)).state, "open");
    await drydock.plans.cancel(plan.id);
    assert.equal(workshop.text("a/old.txt"), "rival");
  });

  // Came from: the half of a checkpoint that was not yet restored landed as if the plan had deleted it.
  it("[C6] as the restoring of a checkpoint is finished on next use", async () => {
    await using workshop = new Workshop();
    for (const name of "cdefgh") workshop.write(`a/${name}`, `precious ${name}`);
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    const { ref } = await drydock.sandboxes.getOrCreate(plan.id, "a");
    const original = snapshotTree(workshop.at("a"));
    const { strategy } = await drydock.registry.resolve(ref.strategyName);
    await strategy.checkpoint(ref, "one");
    for (const name of "cde") await drydock.plans.write(plan.id, "a", name, Buffer.from("since then"));
    const restore = `const { ref } = await drydock.sandboxes.getOrCreate(${JSON.stringify(plan.id)}, "a");
      const { strategy } = await drydock.registry.resolve(ref.strategyName);
      await strategy.restoreCheckpoint(ref, "one");`;
    assert.equal(dieDuring(workshop.stateDir, restore, "copy.create-file:2=kill"), "SIGKILL");
    assert.deepEqual((await drydock.plans.diff(plan.id)).changes, []);
    await drydock.plans.apply(plan.id);
    assertSameTree(snapshotTree(workshop.at("a")), original, "the original");
  });
});

describe("A rival", () => {
  // Came from: the original was opened by its path again for the landing, through whatever was there by then.
  it("[X1] who swaps a folder above the original for a link gets nothing landed elsewhere", async () => {
    await using workshop = new Workshop();
    for (const folder of ["above/original", "victim/original"]) {
      mkdirSync(workshop.at(folder), { recursive: true });
      workshop.write(`${folder}/file`, folder);
    }
    const before = await workshop.open();
    const plan = await before.plans.create({
      resources: [{ location: "above/original", strategy: "filesystem_copy" }],
    });
    for (const name of ["file", "added"])
      await before.plans.write(plan.id, "original", name, Buffer.from("agent"));
    const end = await actDuring(applyTask(workshop, plan.id), "landings.flush-staged=stop", () => {
      renameSync(workshop.at("above"), workshop.at("away"));
      symlinkSync("victim", workshop.at("above"));
    });
    assert.match(lastError(end).message, /not the folder that this landing was prepared for/);
    assert.deepEqual(readdirSync(workshop.at("victim/original")), ["file"]);
    assert.equal(workshop.text("victim/original/file"), "victim/original");

    unlinkSync(workshop.at("above"));
    renameSync(workshop.at("away"), workshop.at("above"));
    const drydock = await workshop.open();
    assert.deepEqual(drydock.recovery.pending, []);
    assert.equal((await drydock.plans.show(plan.id)).state, "applied");
    for (const name of ["file", "added"]) assert.equal(workshop.text(`above/original/${name}`), "agent");
  });

  // Came from: what was written to a file between the look at it and its delete went with it, unnoticed.
  it("[A19] who changes a file that is to be deleted keeps it", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    rmSync(join(await drydock.plans.path(plan.id), "old.txt"));
    const rivalWrites = () => appendFileSync(workshop.at("a/old.txt"), "rival\n");
    const end = await actDuring(applyTask(workshop, plan.id), "land.remove=stop", rivalWrites);
    assert.deepEqual(pathsOf(lastResult<ApplyResult>(end)), ["old.txt"]);
    assert.equal(workshop.text("a/old.txt"), "old of a\nrival\n");
  });

  // Came from: the same, where the process died before it could give the folder back.
  it("[A19] [A3] who changes something in a folder that is to be deleted keeps it through a crash", async () => {
    await using workshop = new Workshop();
    mkdirSync(workshop.at("a/folder"));
    workshop.write("a/folder/file", "old\n");
    const before = await workshop.open();
    const plan = await before.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    rmSync(join(await before.plans.path(plan.id), "folder"), { recursive: true });
    const rivalWrites = () => appendFileSync(workshop.at("a/folder/file"), "rival\n");
    const points = "land.remove=stop,land.give-back=kill";
    assert.equal((await actDuring(applyTask(workshop, plan.id), points, rivalWrites)).signal, "SIGKILL");
    const drydock = await workshop.open();
    assert.deepEqual(drydock.recovery.pending, []);
    assert.deepEqual(drydock.recovery.finished.flatMap(pathsOf), ["folder"]);
    assert.equal(workshop.text("a/folder/file"), "old\nrival\n");
  });

  for (const [name, disputed] of [
    ["old.txt", "old.txt"],
    ["link", "second-name"],
  ] as const) {
    // Came from: a new name of a file landed on what somebody had made of that file meanwhile.
    it(`[A15] who changed ${name} makes a new name of it a conflict`, async () => {
      await using workshop = new Workshop();
      symlinkSync("old.txt", workshop.at("a/link"));
      const drydock = await workshop.open();
      const plan = await drydock.plans.create({
        resources: [{ location: "a", strategy: "filesystem_copy" }],
      });
      const sandbox = await drydock.plans.path(plan.id);
      linkSync(join(sandbox, name), join(sandbox, "second-name"));
      rmSync(workshop.at(`a/${name}`));
      symlinkSync("elsewhere", workshop.at(`a/${name}`));
      await assert.rejects(drydock.plans.apply(plan.id), (thrown: unknown) => {
        assert.ok(thrown instanceof AtomicCommitError);
        assert.deepEqual(
          thrown.conflicts.map(({ path }) => path),
          [disputed],
        );
        return true;
      });
      assert.deepEqual(readdirSync(workshop.at("a")), ["link", "old.txt"]);
      assert.equal((await drydock.plans.show(plan.id)).state, "open");
    });
  }
});

describe("A file with names in two resources", () => {
  // Came from: landing one resource moved the change time that the other one's names show; deletes there
  // counted as somebody's changes.
  it("[A11] [A18] changes in one, goes in the other, and comes back by undo", async () => {
    await using workshop = new Workshop();
    writeFileSync(workshop.at("a/shared"), "shared");
    for (const name of ["b/shared", "b/also"]) linkSync(workshop.at("a/shared"), workshop.at(name));
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({
      resources: [
        { location: "a", strategy: "filesystem_copy" },
        { location: "b", strategy: "filesystem_copy" },
      ],
    });
    await drydock.plans.write(plan.id, "a", "shared", Buffer.from("changed"));
    const sandbox = await drydock.plans.path(plan.id, "b");
    for (const name of ["shared", "also"]) rmSync(join(sandbox, name));
    const originals = ["a", "b"].map((folder) => snapshotTree(workshop.at(folder)));
    assert.deepEqual((await drydock.plans.apply(plan.id)).attention, []);
    assert.equal(workshop.text("a/shared"), "changed");
    assert.deepEqual(readdirSync(workshop.at("b")), ["old.txt"]);
    await drydock.plans.undo(plan.id);
    for (const [at, folder] of ["a", "b"].entries())
      assertSameTree(snapshotTree(workshop.at(folder)), originals[at] ?? new Map(), folder);
  });

  // Came from: the same, where the name goes with its folder; what was then left alone could not be undone:
  // "the record is damaged".
  it("[A18] comes back by undo with the folder that it is in", async () => {
    await using workshop = new Workshop();
    mkdirSync(workshop.at("b/folder"));
    writeFileSync(workshop.at("a/shared"), "shared");
    linkSync(workshop.at("a/shared"), workshop.at("b/folder/shared"));
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({
      resources: [
        { location: "a", strategy: "filesystem_copy" },
        { location: "b", strategy: "filesystem_copy" },
      ],
    });
    await drydock.plans.write(plan.id, "a", "shared", Buffer.from("changed"));
    rmSync(join(await drydock.plans.path(plan.id, "b"), "folder"), { recursive: true });
    const originals = ["a", "b"].map((folder) => snapshotTree(workshop.at(folder)));
    const named = pathsOf(await drydock.plans.apply(plan.id));
    assert.deepEqual(readdirSync(workshop.at("b")), [...named, "old.txt"], "what is not deleted is named");
    await drydock.plans.undo(plan.id);
    for (const [at, folder] of ["a", "b"].entries())
      assertSameTree(snapshotTree(workshop.at(folder)), originals[at] ?? new Map(), folder);
  });
});

function applyTask(workshop: Workshop, plan: string) {
  return { stateDir: workshop.stateDir, calls: [["apply", plan]] as const };
}

function pathsOf({ attention }: Pick<ApplyResult, "attention">): string[] {
  return attention.map(({ path }) => path);
}
