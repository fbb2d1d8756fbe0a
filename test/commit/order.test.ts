import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { AtomicCommitError } from "../../src/index.ts";
import { lastResult, runProcess } from "../rivals/drydock-process.ts";
import { irreversible, letterbox, planWithWork, reversible, twoPhase, Workshop } from "./workshop.ts";

describe("The order of a commit", () => {
  it("[A6] is two-phase, then what can be taken back, then what cannot, whatever the order in the plan", async () => {
    await using workshop = new Workshop();
    const { log } = workshop;
    const drydock = await workshop.open([reversible({ log }), irreversible({ log }), twoPhase({ log })]);
    const plan = await planWithWork(
      drydock,
      [
        letterbox("mail", "irreversible_mail"),
        letterbox("mail2", "reversible_mail"),
        letterbox("mail3", "two_phase_mail"),
      ],
      { allowIrreversible: true },
    );
    const result = await drydock.plans.apply(plan.id);
    assert.deepEqual(
      result.participants.map(({ resource }) => resource),
      ["mail3", "mail2", "mail"],
    );
    assert.deepEqual(
      workshop.calls().filter((call) => !call.endsWith("cleanup")),
      [
        "two_phase_mail.prepare",
        "reversible_mail.checkpoint",
        "reversible_mail.commit",
        "irreversible_mail.commit",
        "two_phase_mail.commitPrepared",
      ],
    );
  });

  it("[A6] takes back in the reverse order what had begun, and nothing else", async () => {
    await using workshop = new Workshop();
    const { log } = workshop;
    const drydock = await workshop.open([
      twoPhase({ log }),
      reversible({ log, name: "first_mail" }),
      reversible({ log, name: "second_mail" }),
      irreversible({ log, trouble: (at) => (at.endsWith(".commit") ? Promise.reject("no") : undefined) }),
    ]);
    workshop.write("mail4", "");
    const plan = await planWithWork(
      drydock,
      [
        letterbox("mail", "irreversible_mail"),
        letterbox("mail2", "first_mail"),
        letterbox("mail3", "second_mail"),
        letterbox("mail4", "two_phase_mail"),
      ],
      { allowIrreversible: true },
    );
    await assert.rejects(drydock.plans.apply(plan.id), AtomicCommitError);
    const calls = workshop.calls();
    assert.deepEqual(calls.slice(calls.indexOf("irreversible_mail.commit") + 1), [
      "second_mail.rollback",
      "second_mail.restoreCheckpoint",
      "first_mail.rollback",
      "first_mail.restoreCheckpoint",
      "two_phase_mail.rollbackPrepared",
    ]);
  });

  it("[A6] is the reverse when an applied plan is undone", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([reversible({ log: workshop.log }), twoPhase({ log: workshop.log })]);
    const plan = await planWithWork(drydock, [
      letterbox("mail", "reversible_mail"),
      { location: "a" },
      letterbox("mail3", "two_phase_mail"),
    ]);
    const applied = await drydock.plans.apply(plan.id);
    const undone = await drydock.plans.undo(plan.id);
    assert.deepEqual(
      undone.participants.map(({ resource }) => resource),
      applied.participants.map(({ resource }) => resource).reverse(),
    );
    assert.equal(workshop.text("mail"), "Dear all,\n");
    assert.equal(workshop.text("mail3"), "Dear all,\n");
    assert.equal(workshop.text("a/old.txt"), "old of a\n");
  });

  it("[A6] is the deeper folder first", async () => {
    await using workshop = new Workshop();
    mkdirSync(workshop.at("deep/er"), { recursive: true });
    writeFileSync(workshop.at("deep/er/old.txt"), "old\n");
    const drydock = await workshop.open();
    const plan = await planWithWork(drydock, [{ location: "a" }, { location: "deep/er" }, { location: "b" }]);
    const { participants } = await drydock.plans.apply(plan.id);
    assert.equal(participants[0]?.resource, "er");
  });
});

describe("A participant with nothing to commit", () => {
  it("[A13] is reported as unchanged, is not asked to commit, and its undo is a no-op", async () => {
    await using workshop = new Workshop();
    const { log } = workshop;
    const drydock = await workshop.open([reversible({ log }), irreversible({ log }), twoPhase({ log })]);
    const plan = await drydock.plans.create({
      resources: [
        { location: "a" },
        { location: "b" },
        letterbox("mail", "reversible_mail"),
        letterbox("mail2", "irreversible_mail"),
        letterbox("mail3", "two_phase_mail"),
      ],
      allowIrreversible: true,
    });
    await drydock.plans.write(plan.id, "a", "old.txt", Buffer.from("new\n"));
    const { participants } = await drydock.plans.apply(plan.id);
    assert.deepEqual(Object.fromEntries(participants.map(({ resource, outcome }) => [resource, outcome])), {
      a: "committed",
      b: "unchanged",
      mail: "unchanged",
      mail2: "unchanged",
      mail3: "unchanged",
    });
    assert.deepEqual(
      workshop.calls().filter((call) => /[.](?:commit|commitPrepared|checkpoint|rollback)$/.test(call)),
      [],
    );
    const undone = await drydock.plans.undo(plan.id);
    assert.deepEqual(
      undone.participants.map(({ resource }) => resource),
      ["a"],
    );
    assert.equal(workshop.text("a/old.txt"), "old of a\n");
    assert.equal(workshop.text("mail"), "Dear all,\n");
  });

  it("[A13] costs neither a staging folder nor a change of the original", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ location: "a" }] });
    await drydock.close();
    const trace = workshop.at("trace");
    const end = await runProcess({ stateDir: workshop.stateDir, calls: [["apply", plan.id]] }, { trace });
    assert.equal(lastResult<{ state: string }>(end).state, "applied");
    const passed = readFileSync(trace, "utf8");
    assert.doesNotMatch(passed, /failpoint (?:stage|land|landings)[.]/);
    assert.deepEqual(readdirSync(workshop.at("state/sandboxes")), []);
  });

  it("[A13] may be all of them, and the plan counts as applied and can be undone", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([reversible()]);
    const plan = await drydock.plans.create({
      resources: [{ location: "a" }, letterbox("mail", "reversible_mail")],
    });
    const { state, participants } = await drydock.plans.apply(plan.id);
    assert.equal(state, "applied");
    assert.ok(participants.every(({ outcome, changes }) => outcome === "unchanged" && changes === 0));
    assert.deepEqual((await drydock.plans.undo(plan.id)).participants, []);
  });
});

describe("A dry run", () => {
  it("[A1] prepares what can be prepared, commits nothing of what cannot, and leaves all work where it was", async () => {
    await using workshop = new Workshop();
    const { log } = workshop;
    const drydock = await workshop.open([reversible({ log }), irreversible({ log })]);
    const plan = await planWithWork(
      drydock,
      [{ location: "a" }, letterbox("mail", "reversible_mail"), letterbox("mail2", "irreversible_mail")],
      { allowIrreversible: true },
    );
    const before = await drydock.plans.diff(plan.id);
    const result = await drydock.plans.apply(plan.id, { dryRun: true });
    assert.equal(result.state, "open");
    assert.deepEqual(workshop.calls(), []);
    assert.equal(workshop.text("mail"), "Dear all,\n");
    assert.equal(workshop.text("mail2"), "Dear all,\n");
    assert.equal(workshop.text("a/old.txt"), "old of a\n");
    assert.deepEqual(await drydock.plans.diff(plan.id), before);
  });
});
