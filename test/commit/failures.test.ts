import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AtomicCommitError, type DrydockError, type PlanView, SandboxCommitError } from "../../src/index.ts";
import type { Services } from "../../src/services.ts";
import { IS_LONG } from "../support/long-form.ts";
import type { MailboxOptions } from "./mailbox.ts";
import { irreversible, letterbox, planWithWork, reversible, twoPhase, Workshop } from "./workshop.ts";

/** Everything that somebody's code can do to say no. */
const WAYS_TO_FAIL: { readonly [kind: string]: () => void | Promise<void> } = {
  "an Error": () => {
    throw new TypeError("the post office is closed");
  },
  "an error of ours": () => {
    throw new SandboxCommitError("the post office is closed", {
      hint: "Come back tomorrow.",
      code: "UNDER_WAY",
    });
  },
  "a string": () => Promise.reject("the post office is closed"),
  undefined: () => Promise.reject(undefined),
  null: () => Promise.reject(null),
  "a plain object": () => Promise.reject({ status: 503 }),
  "an object without a prototype": () => Promise.reject(Object.create(null)),
  "an abort": () => AbortSignal.abort().throwIfAborted(),
};

const STEPS = [
  ["commit", reversible],
  ["commit-done", reversible],
  ["checkpoint", reversible],
  ["prepare", twoPhase],
  ["prepare-done", twoPhase],
] as const;

describe("A commit that fails", () => {
  for (const [index, [kind, fail]] of Object.entries(WAYS_TO_FAIL).entries()) {
    for (const [at, [step, mailbox]] of STEPS.entries()) {
      // In a normal run the first kind fails at every step, and each of the others at one.
      if (!IS_LONG && index > 0 && at !== index % STEPS.length) continue;
      it(`[A1] [A2] [A7] leaves everything as it was when ${step} of a ${mailbox().name} fails with ${kind}`, async () => {
        await using workshop = new Workshop();
        let broken = true;
        const trouble = (at: string) => (broken && at === `${mailbox().name}.${step}` ? fail() : undefined);
        const { drydock, plan } = await mixedPlan(workshop, [mailbox({ trouble })]);
        const before = await drydock.plans.diff(plan.id);

        const error = await failureOf(drydock.plans.apply(plan.id, { message: "first try" }));

        assert.equal(error.failed.resource, "mail");
        assert.deepEqual(error.notUndone, []);
        assert.deepEqual([...error.undone].sort(), undoneOf(step, mailbox().commit));
        assert.ok(error.hint.length > 0);
        assertUntouched(workshop);
        assert.equal((await drydock.plans.show(plan.id)).state, "open");
        assert.deepEqual(await drydock.plans.diff(plan.id), before);

        broken = false;
        const result = await drydock.plans.apply(plan.id, { message: "second try" });
        assert.equal(result.state, "applied");
        assertLanded(workshop);
      });
    }
  }

  it("[X4] keeps an error of ours as the cause, and wraps anything else once", async () => {
    for (const [kind, fail] of Object.entries(WAYS_TO_FAIL)) {
      await using workshop = new Workshop();
      const { drydock, plan } = await mixedPlan(workshop, [
        reversible({ trouble: (at) => (at === "reversible_mail.commit" ? fail() : undefined) }),
      ]);
      const error = await failureOf(drydock.plans.apply(plan.id));
      const chain = causesOf(error);
      assert.ok(chain[1] instanceof SandboxCommitError, kind);
      assert.equal(chain.filter((link) => link instanceof AtomicCommitError).length, 1);
      assert.equal(chain.filter((link) => link instanceof SandboxCommitError).length, 1);
      if (kind === "an error of ours") assert.equal((chain[1] as DrydockError).code, "UNDER_WAY");
      assert.equal(error.message.match(/the post office is closed/g)?.length ?? 1, 1);
    }
  });

  it("[A5] [A4] goes on undoing when one undo fails, reports it, and recovery finishes it", async () => {
    await using workshop = new Workshop();
    let broken = true;
    const drydock = await workshop.open([
      reversible({
        name: "first_mail",
        trouble: (at) =>
          broken && at === "first_mail.rollback" ? Promise.reject("the truck is gone") : undefined,
      }),
      reversible({ name: "second_mail", log: workshop.log }),
      twoPhase({ name: "third_mail", log: workshop.log }),
      reversible({
        name: "fourth_mail",
        trouble: (at) => (broken && at === "fourth_mail.commit" ? Promise.reject("closed") : undefined),
      }),
    ]);
    workshop.write("mail4", "Dear all,\n");
    const plan = await planWithWork(drydock, [
      { location: "a" },
      letterbox("mail", "first_mail"),
      letterbox("mail2", "second_mail"),
      letterbox("mail3", "third_mail"),
      letterbox("mail4", "fourth_mail"),
    ]);

    const error = await failureOf(drydock.plans.apply(plan.id));

    assert.equal(error.failed.resource, "mail4");
    assert.deepEqual(
      error.notUndone.map(({ resource }) => resource),
      ["mail"],
    );
    assert.match(error.notUndone[0]?.message ?? "", /the truck is gone/);
    assert.deepEqual([...error.undone].sort(), ["a", "mail2", "mail3", "mail4"]);
    assert.equal(workshop.text("mail"), "Dear all,\na letter\n", "what is not undone is still there");
    assert.equal(workshop.text("mail2"), "Dear all,\n");
    assert.equal(workshop.text("a/old.txt"), "old of a\n");

    const stillBroken = await drydock.recover();
    assert.equal(stillBroken.pending.length, 1);
    broken = false;
    const report = await drydock.recover();
    assert.deepEqual(
      report.undone.map(({ planId }) => planId),
      [plan.id],
    );
    assert.equal(workshop.text("mail"), "Dear all,\n");
    assert.deepEqual(await drydock.recover(), { finished: [], undone: [], cleaned: [], pending: [] });
    await drydock.plans.apply(plan.id);
    for (const mail of ["mail", "mail2", "mail3", "mail4"])
      assert.equal(workshop.text(mail), "Dear all,\na letter\n");
  });

  it("[A4] never says undone of what cannot be undone", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([
      irreversible({
        trouble: (at) => (at.endsWith("commit-done") ? Promise.reject("the line broke") : undefined),
      }),
    ]);
    const plan = await planWithWork(drydock, [{ location: "a" }, letterbox("mail", "irreversible_mail")]);
    const error = await failureOf(drydock.plans.apply(plan.id, { allowIrreversible: true }));
    assert.deepEqual(error.undone, ["a"]);
    assert.deepEqual(
      error.notUndone.map(({ resource }) => resource),
      ["mail"],
    );
    assert.equal(workshop.text("a/old.txt"), "old of a\n");
    assert.equal((await drydock.plans.show(plan.id)).state, "open");
  });

  it("[A1] finishes after the decision, however often a landing fails, and never half", async () => {
    await using workshop = new Workshop();
    let failures = 100;
    const trouble = (at: string) => {
      if (at === "two_phase_mail.commitPrepared" && failures > 0) {
        failures -= 1;
        throw new Error("the post office is closed");
      }
    };
    const { drydock, plan } = await mixedPlan(workshop, [twoPhase({ trouble })]);
    const error = await failureOf(drydock.plans.apply(plan.id));
    assert.deepEqual(
      error.notUndone.map(({ resource }) => resource),
      ["mail"],
    );
    assert.match(error.message, /not all of it could be finished yet/);
    assert.equal(workshop.text("a/old.txt"), "new of a\n");
    failures = 0;
    const report = await drydock.recover();
    assert.equal(report.finished.length, 1);
    assertLanded(workshop);
    assert.equal((await drydock.plans.show(plan.id)).state, "applied");
  });

  it("[L2] gives a usable sandbox that shows the original when it is rolled back after the failure", async () => {
    await using workshop = new Workshop();
    let broken = true;
    const { drydock, plan } = await mixedPlan(workshop, [
      reversible({ trouble: (at) => (broken && at.endsWith(".commit") ? Promise.reject("no") : undefined) }),
    ]);
    await failureOf(drydock.plans.apply(plan.id));
    const view = await drydock.plans.rollback(plan.id);
    assert.deepEqual(
      view.resources.map(({ status }) => status),
      ["ROLLED_BACK", "ROLLED_BACK", "ROLLED_BACK"],
    );
    assert.deepEqual((await drydock.plans.diff(plan.id)).changes, []);
    assert.equal(Buffer.from(await drydock.plans.read(plan.id, "a", "old.txt")).toString(), "old of a\n");
    assert.equal(Buffer.from(await drydock.plans.read(plan.id, "mail", ".")).toString(), "Dear all,\n");
    broken = false;
    await drydock.plans.write(plan.id, "a", "old.txt", Buffer.from("newer\n"));
    await drydock.plans.apply(plan.id);
    assert.equal(workshop.text("a/old.txt"), "newer\n");
    assert.equal(workshop.text("b/old.txt"), "old of b\n");
    assert.equal(workshop.text("mail"), "Dear all,\n");
  });
});

async function mixedPlan(
  workshop: Workshop,
  mailboxes: readonly MailboxOptions[],
): Promise<{ readonly drydock: Services; readonly plan: PlanView }> {
  const drydock = await workshop.open(mailboxes);
  const plan = await planWithWork(drydock, [
    { location: "a" },
    { location: "b" },
    letterbox("mail", mailboxes[0]?.name ?? ""),
  ]);
  return { drydock, plan };
}

/** A mailbox whose checkpoint failed had not begun, so there was nothing to undo. */
function undoneOf(step: string, commit: string): string[] {
  return step === "checkpoint" && commit === "one-phase" ? ["a", "b"] : ["a", "b", "mail"];
}

async function failureOf(promise: Promise<unknown>): Promise<AtomicCommitError> {
  const error = await promise.then(
    () => assert.fail("it succeeded"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof AtomicCommitError, String(error));
  return error;
}

function causesOf(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}

function assertUntouched(workshop: Workshop): void {
  for (const folder of ["a", "b"]) {
    assert.equal(workshop.text(`${folder}/old.txt`), `old of ${folder}\n`);
    assert.equal(workshop.text(`${folder}/added.txt`), undefined);
  }
  assert.equal(workshop.text("mail"), "Dear all,\n");
}

function assertLanded(workshop: Workshop): void {
  for (const folder of ["a", "b"]) {
    assert.equal(workshop.text(`${folder}/old.txt`), `new of ${folder}\n`);
    assert.equal(workshop.text(`${folder}/added.txt`), "added\n");
  }
  assert.equal(workshop.text("mail"), "Dear all,\na letter\n");
}
