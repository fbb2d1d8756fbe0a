import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AtomicCommitError, InterruptedError } from "../../src/index.ts";
import { DrydockProcess, lastError, lastResult } from "../rivals/drydock-process.ts";
import { IS_LONG } from "../support/long-form.ts";
import { irreversible, letterbox, planWithWork, reversible, twoPhase, Workshop } from "./workshop.ts";

describe("A commit that is interrupted", () => {
  for (const step of [
    "two_phase_mail.prepare",
    "two_phase_mail.prepare-done",
    "reversible_mail.checkpoint",
    "reversible_mail.commit",
    "reversible_mail.commit-done",
  ]) {
    it(`[A1] takes everything back when the signal comes during ${step}, and can be made again`, async () => {
      await using workshop = new Workshop();
      const controller = new AbortController();
      const trouble = (at: string) => (at === step ? controller.abort() : undefined);
      const { signal } = controller;
      const drydock = await workshop.open([reversible({ trouble }), twoPhase({ trouble })], { signal });
      const plan = await planWithWork(drydock, [
        { location: "a" },
        letterbox("mail", "reversible_mail"),
        letterbox("mail2", "two_phase_mail"),
      ]);
      await assert.rejects(drydock.plans.apply(plan.id), (error: unknown) => {
        assert.ok(error instanceof AtomicCommitError);
        assert.ok(error.cause instanceof InterruptedError, String(error.cause));
        assert.deepEqual(error.notUndone, []);
        return true;
      });
      assert.equal(workshop.text("mail"), "Dear all,\n");
      assert.equal(workshop.text("mail2"), "Dear all,\n");
      assert.equal(workshop.text("a/old.txt"), "old of a\n");

      const again = await workshop.open([reversible(), twoPhase()]);
      assert.equal((await again.plans.apply(plan.id)).state, "applied");
      assert.equal(workshop.text("mail"), "Dear all,\na letter\n");
      assert.equal(workshop.text("mail2"), "Dear all,\na letter\n");
      assert.equal(workshop.text("a/old.txt"), "new of a\n");
    });
  }

  for (const pass of ["comparing", "checking", "recording", "preparing"]) {
    it(`[A1] takes everything back when the signal comes in the pass of ${pass}, and sees it in that pass`, async () => {
      await using workshop = new Workshop();
      const controller = new AbortController();
      const passes = new Set<string>();
      const drydock = await workshop.open([], {
        signal: controller.signal,
        onProgress: ({ task, done }) => {
          if (task === pass && !passes.has(task)) {
            // As long as a slow step takes. Only if the event loop turns after it does the signal come.
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
            setImmediate(() => controller.abort());
          }
          if (done > 0) passes.add(task);
        },
      });
      const plan = await planWithWork(drydock, [{ location: "a", strategy: "filesystem_copy" }]);
      passes.clear();
      await assert.rejects(drydock.plans.apply(plan.id), /[Ii]nterrupted/);
      assert.equal([...passes].at(-1), pass);
      assert.equal(workshop.text("a/old.txt"), "old of a\n");
      assert.equal(workshop.text("a/added.txt"), undefined);

      const again = await workshop.open();
      assert.equal((await again.plans.apply(plan.id)).state, "applied");
      assert.equal(workshop.text("a/old.txt"), "new of a\n");
    });
  }

  it("[A1] finishes when the signal comes after the decision", async () => {
    await using workshop = new Workshop();
    const controller = new AbortController();
    const drydock = await workshop.open(
      [twoPhase({ trouble: (at) => (at.endsWith(".commitPrepared") ? controller.abort() : undefined) })],
      { signal: controller.signal },
    );
    const plan = await planWithWork(drydock, [
      letterbox("mail", "two_phase_mail"),
      { location: "a" },
      { location: "b" },
    ]);
    assert.equal((await drydock.plans.apply(plan.id)).state, "applied");
    assert.equal(workshop.text("b/old.txt"), "new of b\n");
  });

  it("[A1] [A16] goes on once what cannot be taken back has begun", async () => {
    await using workshop = new Workshop();
    const controller = new AbortController();
    const drydock = await workshop.open(
      [irreversible({ trouble: (at) => (at.endsWith(".commit") ? controller.abort() : undefined) })],
      { signal: controller.signal },
    );
    const plan = await planWithWork(drydock, [letterbox("mail", "irreversible_mail"), { location: "a" }]);
    assert.equal((await drydock.plans.apply(plan.id, { allowIrreversible: true })).state, "applied");
    assert.equal(workshop.text("mail"), "Dear all,\na letter\n");
    assert.equal(workshop.text("a/old.txt"), "new of a\n");
  });

  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    for (const [failpoint, state] of [
      ["stage.take-out:1", "open"],
      ["landings.flush-staged:1", "open"],
      ["landings.flush-staged:2", "open"],
      ["mailbox.send:1", "open"],
      ["land.exchange:1", "applied"],
      ["landings.flush-landed:1", "applied"],
    ] as const) {
      // In a normal run the second signal on either side of the decision.
      if (!IS_LONG && signal === "SIGTERM" && !/^(?:stage|land)\./.test(failpoint)) continue;
      it(`[A1] ${signal} at ${failpoint} leaves the plan ${state}, all or nothing`, async () => {
        await using workshop = new Workshop();
        const drydock = await workshop.open([reversible()]);
        const plan = await planWithWork(drydock, [
          { location: "a" },
          { location: "b" },
          letterbox("mail", "reversible_mail"),
        ]);
        await drydock.close();
        await using child = new DrydockProcess(
          { stateDir: workshop.stateDir, mailboxes: [reversible()], calls: [["apply", plan.id]] },
          { failpoint: `${failpoint}=stop` },
        );
        await child.mustStop();
        child.signal(signal);
        child.goOn();
        const end = await child.ends();
        if (state === "applied") assert.equal(lastResult<{ state: string }>(end).state, "applied");
        else assert.match(lastError(end).message, /Interrupted/);

        const after = await workshop.open([reversible()]);
        assert.deepEqual(after.recovery, { finished: [], undone: [], cleaned: [], pending: [] });
        assert.equal((await after.plans.show(plan.id)).state, state);
        const version = state === "applied" ? "new" : "old";
        for (const folder of ["a", "b"])
          assert.equal(workshop.text(`${folder}/old.txt`), `${version} of ${folder}\n`);
        assert.equal(workshop.text("mail"), state === "applied" ? "Dear all,\na letter\n" : "Dear all,\n");
        if (state === "open") assert.equal((await after.plans.apply(plan.id)).state, "applied");
      });
    }
  }
});
