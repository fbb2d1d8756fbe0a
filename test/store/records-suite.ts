import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { CheckpointRecord, CheckpointState } from "../../src/core/checkpoint.ts";
import type { Owner } from "../../src/core/owner.ts";
import { PLAN_STATES, type PlanRecord } from "../../src/core/plan.ts";
import type { SandboxRecord } from "../../src/core/sandbox.ts";
import { SANDBOX_STATES, type SandboxState } from "../../src/core/sandbox-states.ts";
import type { TransactionPhase, TransactionRecord } from "../../src/core/transaction.ts";
import type { HistoryEntry, IntentRecord, Store, StoreChange } from "../../src/store/store.ts";
import type { StoreFixture } from "./store-fixture.ts";

/**
 * What a column of text would change or take for another: bytes that are no UTF-8, half a pair, NUL; and what
 * stands for them.
 */
const AWKWARD_STRINGS = [
  "a\udcff\udc80b",
  "a\udcff\udc81b",
  JSON.stringify("a\udcff\udc80b"),
  "\ud83d",
  "\ufffd",
  "\0",
  "x\0y",
  JSON.stringify("x\0y"),
  '"',
  "line\nbreak",
  "😀",
  "\u{10ffff}",
  "'",
  "",
];

const OWNER: Owner = {
  id: "owner",
  host: "host",
  bootId: "boot",
  pid: 1,
  startTime: "2",
  command: "drydock plan apply",
};

const CHECKPOINT_STATES: readonly CheckpointState[] = [
  "saving",
  "restoring",
  "returning",
  "dropping",
  "saved",
];

const PHASES: readonly TransactionPhase[] = [
  "preparing",
  "landing",
  "landed",
  "aborting",
  "in-doubt",
  "done",
  "aborted",
];

function plan(id: string, facts: Partial<PlanRecord> = {}): PlanRecord {
  return {
    id,
    name: `name of ${id}`,
    state: "open",
    readOnly: false,
    allowIrreversible: false,
    createdAt: "2026-01-01T00:00:00.000Z",
    resources: [],
    ...facts,
  };
}

function checkpoint(id: string, state: CheckpointState = "saved"): CheckpointRecord {
  const part = { sandboxId: "S", dataId: id, mark: "mark", bytes: 7 };
  return { id, planId: "P", createdAt: "2026-01-01T00:00:00.000Z", state, parts: [part] };
}

function sandbox(sandboxId: string, planId: string, state: SandboxState, createdAt: string): SandboxRecord {
  return {
    ref: { sandboxId, planId, resourceId: "resource", strategyName: "filesystem_copy", metadata: {} },
    state,
    createdAt,
  };
}

function transaction(id: string, phase: TransactionPhase, startedAt: string): TransactionRecord {
  return { id, planId: "P", direction: "commit", owner: OWNER, startedAt, phase, participants: [] };
}

function intent(sandboxId: string, location: string, owner = OWNER): IntentRecord {
  return { sandboxId, planId: "P", kind: "folder", location, recordedAt: "2026-01-01T00:00:00.000Z", owner };
}

function entry(planId: string, event: string): HistoryEntry {
  return { planId, at: "2026-01-01T00:00:00.000Z", actor: "me", event, details: {} };
}

const idsOf = (records: readonly { readonly id: string }[]): readonly string[] => records.map(({ id }) => id);

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: from - to + 1 }, (_, at) => from - at);
}

/** What every store does with records. */
export function describeRecords(fixture: StoreFixture): void {
  describe(`records of the store in ${fixture.name}`, () => {
    let store: Store;

    beforeEach(async () => {
      store = await fixture.openEmpty();
    });

    afterEach(() => store.close());

    async function putPlans(...records: readonly PlanRecord[]): Promise<void> {
      await store.write(
        records.map((record): StoreChange => ({ put: "plan", record })),
        "ordered",
      );
    }

    it("[L4, M1] finds in the next process everything that was written, as it was written", async () => {
      const landed: TransactionRecord = {
        ...transaction("T", "landed", "2026-01-02T00:00:00.000Z"),
        message: "why",
        undoRecord: "used",
        participants: [
          {
            ref: sandbox("S", "P", "ACTIVE", "").ref,
            resource: "docs",
            kind: "two-phase",
            status: "committed",
            prepared: { changes: 2, data: { manifest: "m", nested: { list: [1, null, "x"] } } },
            attention: [{ path: "p", message: "kept", keptAt: "/k" }],
          },
        ],
      };
      const resource = {
        id: "R",
        name: "docs",
        type: "fs-directory",
        location: "/docs",
        properties: { a: [true, 1.5] },
      };
      const planned = plan("P", {
        message: "the message",
        readOnly: true,
        resources: [{ resource, strategy: "none", why: "asked" }],
      });
      const errored = { ...sandbox("S", "P", "ERRORED", "2026-01-01T00:00:00.000Z"), error: "it broke" };
      const changes: readonly StoreChange[] = [
        { put: "plan", record: planned },
        { put: "sandbox", record: errored },
        { put: "transaction", record: landed },
        { put: "intent", record: intent("S", "/place") },
        { put: "history", record: { ...entry("P", "created"), details: { count: 3 } } },
      ];
      await store.write(changes, "durable");
      store.close();
      store = await fixture.open();
      assert.deepEqual(await store.plan("P"), planned);
      assert.deepEqual(await store.sandbox("S"), errored);
      assert.deepEqual(await store.sandboxesOf("P"), [errored]);
      assert.deepEqual(await store.transaction("T"), landed);
      assert.deepEqual(await store.transactionsOf("P"), [landed]);
      assert.deepEqual(await store.intents(), [intent("S", "/place")]);
      assert.deepEqual(await store.history("P"), [{ ...entry("P", "created"), details: { count: 3 } }]);
    });

    it("gives undefined or nothing for what is not there", async () => {
      assert.equal(await store.plan("P"), undefined);
      assert.equal(await store.sandbox("S"), undefined);
      assert.equal(await store.transaction("T"), undefined);
      assert.deepEqual(await store.findPlans("P"), []);
      assert.deepEqual(await store.sandboxesOf("P"), []);
      assert.deepEqual(await store.transactionsOf("P"), []);
      assert.deepEqual(await store.history("P"), []);
      assert.equal(await store.hasUnfinishedWork(), false);
    });

    it("keeps strings exactly that a column of text would change, and never takes one for another", async () => {
      for (const [index, text] of AWKWARD_STRINGS.entries()) {
        const record = plan(`P${index}`, { name: text, message: text });
        const changes: readonly StoreChange[] = [
          { put: "plan", record },
          { put: "sandbox", record: sandbox(text, text, "ACTIVE", "") },
          { put: "intent", record: intent(text, text) },
          { put: "history", record: entry(text, text) },
        ];
        await store.write(changes, "ordered");
      }
      for (const [index, text] of AWKWARD_STRINGS.entries()) {
        assert.equal((await store.plan(`P${index}`))?.message, text);
        assert.deepEqual(idsOf(await store.findPlans(text)), text === "" ? [] : [`P${index}`]);
        assert.equal((await store.sandbox(text))?.ref.planId, text);
        assert.deepEqual(await store.history(text), [entry(text, text)]);
      }
      assert.deepEqual(
        (await store.intents()).map(({ location }) => location),
        AWKWARD_STRINGS,
      );
    });

    it("finds a plan by its id, the beginning of its id in any case, or its exact name, the newest first", async () => {
      await putPlans(
        plan("01JAAAAAAAAAAAAAAAAAAAAAAA", { name: "one", createdAt: "2026-01-01T00:00:00.000Z" }),
        plan("01JAB000000000000000000000", { name: "two", createdAt: "2026-01-03T00:00:00.000Z" }),
        plan("01JB0000000000000000000000", { name: "01ja", createdAt: "2026-01-02T00:00:00.000Z" }),
      );
      const [one, two, three] = [
        "01JAAAAAAAAAAAAAAAAAAAAAAA",
        "01JAB000000000000000000000",
        "01JB0000000000000000000000",
      ];
      assert.deepEqual(idsOf(await store.findPlans("01JA")), [two, one]);
      assert.deepEqual(idsOf(await store.findPlans("01ja")), [two, three, one]);
      assert.deepEqual(idsOf(await store.findPlans("01jaaaaaaaaaaaaaaaaaaaaaaa")), [one]);
      assert.deepEqual(idsOf(await store.findPlans("01JAAAAAAAAAAAAAAAAAAAAAAAA")), []);
      assert.deepEqual(idsOf(await store.findPlans("two")), [two]);
      assert.deepEqual(idsOf(await store.findPlans("TWO")), []);
      assert.deepEqual(idsOf(await store.findPlans("%")), []);
      assert.deepEqual(idsOf(await store.findPlans("")), []);
    });

    it("lists the plans that are not over, and all plans, the newest first", async () => {
      const records = PLAN_STATES.map((state, day) =>
        plan(`P${day}`, { state, createdAt: `2026-01-${10 + day}T00:00:00.000Z` }),
      );
      await putPlans(...records);
      const newestFirst = records.toReversed();
      assert.deepEqual(await store.listPlans("all"), newestFirst);
      const over = ["applied", "undone", "cancelled", "abandoned"];
      assert.deepEqual(
        await store.listPlans("open"),
        newestFirst.filter(({ state }) => !over.includes(state)),
      );
    });

    it("puts plans of the same instant in the order in which they were made", async () => {
      await putPlans(plan("B"), plan("A"), plan("C"));
      await putPlans(plan("B", { state: "applying" }));
      assert.deepEqual(idsOf(await store.listPlans("all")), ["C", "A", "B"]);
    });

    it("gives a list in pages, also within an instant and behind a plan that is gone", async () => {
      const later = "2026-01-02T00:00:00.000Z";
      await putPlans(plan("A"), plan("B", { state: "applied" }), plan("C"), plan("D", { createdAt: later }));
      const first = await store.listPlans("all", { limit: 2 });
      assert.deepEqual(idsOf(first), ["D", "C"]);
      assert.deepEqual(idsOf(await store.listPlans("all", { limit: 2, behind: first.at(-1) })), ["B", "A"]);
      assert.deepEqual(idsOf(await store.listPlans("open", { limit: 2, behind: first.at(-1) })), ["A"]);
      await store.write([{ drop: "plan", planId: "D" }], "ordered");
      assert.deepEqual(idsOf(await store.listPlans("all", { limit: 2, behind: first[0] })), ["C", "B"]);
    });

    it("tells plans with landings one after the other, the latest first and each once", async () => {
      const landed = Array.from({ length: 50 }, (_, at) => ({
        ...transaction(`T${at}`, "done", "2026-01-01T00:00:00.000Z"),
        planId: `P${at % 30}`,
        finishedAt: `2026-01-01T00:00:${String(at).padStart(2, "0")}.000Z`,
      }));
      const undone = { ...transaction("U", "done", "2026-01-02T00:00:00.000Z"), undoRecord: "used" as const };
      await store.write(
        [...landed, undone].map((record): StoreChange => ({ put: "transaction", record })),
        "ordered",
      );
      const order = [...range(19, 0), ...range(29, 20)].map((at) => `P${at}`);
      assert.deepEqual(await Array.fromAsync(store.landedPlanIds()), order);
    });

    it("lists sandboxes of a plan and live sandboxes of every plan", async () => {
      const records = SANDBOX_STATES.map((state, day) =>
        sandbox(`S${day}`, day % 2 === 0 ? "even" : "odd", state, `2026-01-0${9 - day}T00:00:00.000Z`),
      );
      await store.write(
        records.map((record): StoreChange => ({ put: "sandbox", record })),
        "ordered",
      );
      const oldestFirst = records.toReversed();
      assert.deepEqual(
        await store.sandboxesOf("odd"),
        oldestFirst.filter(({ ref }) => ref.planId === "odd"),
      );
      assert.deepEqual(
        await store.liveSandboxes(),
        oldestFirst.filter(({ state }) => state !== "CLEANED_UP"),
      );
    });

    it("lists unfinished transactions, the oldest first", async () => {
      const records = PHASES.map((phase, day) =>
        transaction(`T${day}`, phase, `2026-01-0${9 - day}T00:00:00.000Z`),
      );
      await store.write(
        records.map((record): StoreChange => ({ put: "transaction", record })),
        "ordered",
      );
      const oldestFirst = records.toReversed();
      assert.deepEqual(await store.transactionsOf("P"), oldestFirst);
      assert.deepEqual(
        await store.unfinishedTransactions(),
        oldestFirst.filter(({ phase }) => phase !== "done" && phase !== "aborted"),
      );
    });

    it("has unfinished work for every unfinished transaction, PENDING sandbox, plan that is being made, extended, restored or closed and checkpoint that is not just kept, and for nothing else", async () => {
      const unfinished: readonly string[] = [
        "preparing",
        "landing",
        "landed",
        "aborting",
        "in-doubt",
        "PENDING",
        "creating",
        "adding",
        "restoring",
        "updating",
        "closing",
        "saving",
        "returning",
        "dropping",
      ];
      const steps: readonly { readonly value: string; readonly change: StoreChange }[] = [
        ...PHASES.map(
          (phase) =>
            ({ value: phase, change: { put: "transaction", record: transaction("T", phase, "") } }) as const,
        ),
        ...SANDBOX_STATES.map(
          (state) =>
            ({ value: state, change: { put: "sandbox", record: sandbox("S", "P", state, "") } }) as const,
        ),
        ...PLAN_STATES.map(
          (state) => ({ value: state, change: { put: "plan", record: plan("P", { state }) } }) as const,
        ),
        ...CHECKPOINT_STATES.map(
          (state) =>
            ({ value: state, change: { put: "checkpoint", record: checkpoint("C", state) } }) as const,
        ),
      ];
      for (const { value, change } of steps) {
        await store.write([change], "ordered");
        assert.equal(await store.hasUnfinishedWork(), unfinished.includes(value), value);
      }
    });

    it("[C7] lists the checkpoints of a plan in the order of their making, whatever their ids, until each is dropped", async () => {
      const records = [
        checkpoint("C2"),
        { ...checkpoint("C1"), label: "a\udcff" },
        checkpoint("C3", "saving"),
      ];
      await store.write(
        [...records, { ...checkpoint("X"), planId: "other" }].map(
          (record): StoreChange => ({ put: "checkpoint", record }),
        ),
        "durable",
      );
      assert.deepEqual(await store.checkpointsOf("P"), records);
      await store.write(
        [
          { put: "checkpoint", record: checkpoint("C3") },
          { drop: "checkpoint", id: "C2" },
        ],
        "ordered",
      );
      assert.deepEqual(await store.checkpointsOf("P"), [records[1], checkpoint("C3")]);
    });

    it("[C2] keeps each place of an intent once, with the owner who recorded it last, until they are dropped", async () => {
      const successor = { ...OWNER, id: "successor" };
      const changes: readonly StoreChange[] = [
        { put: "intent", record: intent("S", "/a") },
        { put: "intent", record: intent("S", "/b") },
        { put: "intent", record: intent("other", "/a") },
        { put: "intent", record: intent("S", "/a", successor) },
      ];
      await store.write(changes, "durable");
      assert.deepEqual(await store.intents(), [
        intent("S", "/a", successor),
        intent("S", "/b"),
        intent("other", "/a"),
      ]);
      await store.write([{ drop: "intents", sandboxId: "S" }], "ordered");
      assert.deepEqual(await store.intents(), [intent("other", "/a")]);
    });

    it("keeps the history of each plan in the order of writing, whatever the clock said", async () => {
      const late = { ...entry("P", "first"), at: "2030-01-01T00:00:00.000Z" };
      const changes = [late, entry("other", "x"), entry("P", "second"), entry("P", "second")];
      await store.write(
        changes.map((record): StoreChange => ({ put: "history", record })),
        "ordered",
      );
      assert.deepEqual(await store.history("P"), [late, entry("P", "second"), entry("P", "second")]);
      assert.deepEqual(await store.lastEntry("P", ["first", "x"]), { seq: 1, entry: late });
      assert.deepEqual(await store.lastEntry("P", ["first", "second"]), {
        seq: 4,
        entry: entry("P", "second"),
      });
      assert.equal(await store.lastEntry("P", ["x"]), undefined);
    });
  });
}
