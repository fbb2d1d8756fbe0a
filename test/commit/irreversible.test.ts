import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AtomicCommitError, type CreatePlanOptions, UsageError } from "../../src/index.ts";
import { runProcess } from "../rivals/drydock-process.ts";
import { irreversible, letterbox, planWithWork, reversible, Workshop } from "./workshop.ts";

const MIXED = [{ location: "a" }, letterbox("mail", "irreversible_mail")];
const ALONE = [letterbox("mail", "irreversible_mail")];
const SENT = "Dear all,\na letter\n";

describe("What cannot be taken back", () => {
  for (const [kind, resources] of [
    ["a mixed plan", MIXED],
    ["a plan of nothing else", ALONE],
  ] as const) {
    it(`[A16] is refused in ${kind} unless the user says so, at apply or when the plan was made`, async () => {
      await using workshop = new Workshop();
      const drydock = await workshop.open([irreversible()]);
      const plan = await planWithWork(drydock, resources);
      await assert.rejects(drydock.plans.apply(plan.id), (error: unknown) => {
        assert.ok(error instanceof AtomicCommitError && error.cause instanceof UsageError);
        assert.equal(error.cause.code, "IRREVERSIBLE");
        assert.match(error.hint, /allowIrreversible/);
        return true;
      });
      assert.equal(workshop.text("mail"), "Dear all,\n");
      assert.equal((await drydock.plans.show(plan.id)).state, "open");
      assert.equal((await drydock.plans.apply(plan.id, { allowIrreversible: true })).state, "applied");
      assert.equal(workshop.text("mail"), SENT);

      const said = await planWithWork(drydock, [letterbox("mail2", "irreversible_mail")], {
        allowIrreversible: true,
      });
      assert.equal((await drydock.plans.apply(said.id)).state, "applied");
    });

    for (const [failpoint, hadBeenSent] of [
      ["mailbox.send=kill", false],
      ["mailbox.sent=kill", true],
    ] as const) {
      for (const how of ["commit", "abort"] as const) {
        it(`[A16] is in doubt in ${kind} after ${failpoint}, until a person settles it by ${how}`, async () => {
          await using workshop = new Workshop();
          const { plan, drydock } = await killed(workshop, resources, failpoint);
          assert.equal(workshop.text("mail"), hadBeenSent ? SENT : "Dear all,\n");
          assert.equal(drydock.recovery.pending[0]?.inDoubt, true);
          assert.match(drydock.recovery.pending[0]?.why ?? "", /mail/);
          if (resources === MIXED) assert.equal(workshop.text("a/old.txt"), "old of a\n");

          const report = await drydock.recover();
          assert.equal(report.pending[0]?.inDoubt, true, "looking again settles nothing");
          const { entries } = await drydock.log(plan.id);
          const asked = entries.filter(({ event }) => event === "needs attention");
          assert.equal(asked.length, 1, "its history asks for a person, once");
          await assert.rejects(drydock.plans.apply(plan.id, { allowIrreversible: true }), AtomicCommitError);
          await assert.rejects(drydock.plans.cancel(plan.id));

          await drydock.settle(plan.id, how);
          assert.equal((await drydock.plans.show(plan.id)).state, how === "commit" ? "applied" : "open");
          assert.equal(
            workshop.text("mail"),
            hadBeenSent ? SENT : "Dear all,\n",
            "nobody touches the mailbox",
          );
          if (resources === MIXED)
            assert.equal(workshop.text("a/old.txt"), how === "commit" ? "new of a\n" : "old of a\n");
          assert.deepEqual((await drydock.recover()).pending, []);
          await assert.rejects(drydock.settle(plan.id, how), UsageError);
          if (how === "abort") {
            assert.equal((await drydock.plans.apply(plan.id, { allowIrreversible: true })).state, "applied");
            if (resources === MIXED) assert.equal(workshop.text("a/old.txt"), "new of a\n");
          }
        });
      }
    }
  }

  it("[A16] in doubt blocks its own originals and no others", async () => {
    await using workshop = new Workshop();
    const { plan, drydock } = await killed(workshop, MIXED, "mailbox.sent=kill");
    const same = await planWithWork(drydock, [{ location: "a" }]);
    await assert.rejects(drydock.plans.apply(same.id), (error: unknown) => {
      assert.ok(error instanceof AtomicCommitError);
      assert.match(error.message, new RegExp(plan.id));
      assert.match(error.hint, /recover/);
      return true;
    });
    const other = await planWithWork(drydock, [{ location: "b" }]);
    assert.equal((await drydock.plans.apply(other.id)).state, "applied");
    await drydock.settle(plan.id, "abort");
    assert.equal((await drydock.plans.apply(same.id)).state, "applied");
  });

  it("[A16] once it is known to have happened, recovery finishes the others", async () => {
    await using workshop = new Workshop();
    // The write that records the outcome is the second durable one after the start; dying right after it
    // leaves no doubt.
    const drydock = await workshop.open([irreversible()]);
    const plan = await planWithWork(drydock, MIXED, { allowIrreversible: true });
    await drydock.close();
    const trace = workshop.at("trace");
    const task = {
      stateDir: workshop.stateDir,
      mailboxes: [irreversible()],
      calls: [["apply", plan.id]] as const,
    };
    const rehearsal = await runProcess({ ...task, calls: [["apply", plan.id, { dryRun: true }]] }, { trace });
    assert.equal(rehearsal.code, 0);
    for (let nth = 1; workshop.text("mail") === "Dear all,\n"; nth += 1) {
      assert.ok(nth < 60, "the mailbox is never reached");
      const end = await runProcess(task, { failpoint: `store.written:${nth}=kill` });
      assert.equal(end.signal, "SIGKILL");
      const after = await workshop.open([irreversible()]);
      const inDoubt = after.recovery.pending[0]?.inDoubt === true;
      if (workshop.text("mail") === SENT) {
        assert.equal(inDoubt, false);
        assert.equal((await after.plans.show(plan.id)).state, "applied");
        assert.equal(workshop.text("a/old.txt"), "new of a\n");
      } else if (inDoubt) await after.settle(plan.id, "abort");
      await after.close();
    }
  });

  it("[A16] is allowed once per plan", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([irreversible()]);
    const plan = await planWithWork(
      drydock,
      [letterbox("mail", "irreversible_mail"), letterbox("mail2", "irreversible_mail")],
      { allowIrreversible: true },
    );
    await assert.rejects(drydock.plans.apply(plan.id), /Only one resource/);
    assert.equal(workshop.text("mail"), "Dear all,\n");
  });

  it("[A18] [A4] is a reason to refuse the undo of the whole plan", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([irreversible()]);
    const plan = await planWithWork(drydock, MIXED, { allowIrreversible: true });
    await drydock.plans.apply(plan.id);
    await assert.rejects(drydock.plans.undo(plan.id), { reason: "IRREVERSIBLE" });
    assert.equal(workshop.text("a/old.txt"), "new of a\n");
    assert.equal((await drydock.plans.show(plan.id)).state, "applied");
  });
});

describe("Work in place", () => {
  const IN_PLACE = [{ location: "a", strategy: "none" }, { location: "b" }];

  it("[A16] [L8] needs the user's word when the plan is made, and leaves no trace without it", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    await assert.rejects(drydock.plans.create({ resources: IN_PLACE }), { code: "IRREVERSIBLE" });
    assert.deepEqual(await drydock.plans.list({ all: true }), []);
  });

  it("[A4] is in notUndone when the plan fails, and everything else is undone", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([
      reversible({ trouble: (at) => (at.endsWith(".commit") ? Promise.reject("no") : undefined) }),
    ]);
    const plan = await planWithWork(drydock, [...IN_PLACE, letterbox("mail", "reversible_mail")], {
      allowIrreversible: true,
    });
    assert.equal(workshop.text("a/old.txt"), "new of a\n", "it is in place");
    await assert.rejects(drydock.plans.apply(plan.id), (error: unknown) => {
      assert.ok(error instanceof AtomicCommitError);
      assert.deepEqual(
        error.notUndone.map(({ resource }) => resource),
        ["a"],
      );
      assert.deepEqual([...error.undone].sort(), ["b", "mail"]);
      return true;
    });
    assert.equal(workshop.text("a/old.txt"), "new of a\n");
    assert.equal(workshop.text("b/old.txt"), "old of b\n");
  });

  it("[A4] lands with a warning that atomicity does not hold for it, and can't be undone", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await planWithWork(drydock, IN_PLACE, { allowIrreversible: true });
    const result = await drydock.plans.apply(plan.id);
    assert.match(result.warnings.join(), /a is worked on in place: atomicity does not hold/);
    assert.equal(workshop.text("b/old.txt"), "new of b\n");
    await assert.rejects(drydock.plans.undo(plan.id), { reason: "IRREVERSIBLE" });
    assert.equal(workshop.text("b/old.txt"), "new of b\n");
  });
});

async function killed(workshop: Workshop, resources: CreatePlanOptions["resources"], failpoint: string) {
  const before = await workshop.open([irreversible()]);
  const plan = await planWithWork(before, resources, { allowIrreversible: true });
  await before.close();
  const end = await runProcess(
    { stateDir: workshop.stateDir, mailboxes: [irreversible()], calls: [["apply", plan.id]] },
    { failpoint },
  );
  assert.equal(end.signal, "SIGKILL");
  return { plan, drydock: await workshop.open([irreversible()]) };
}
