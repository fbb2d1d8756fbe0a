import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { BUILT_IN_RESOURCE_TYPES } from "../../src/core/resource/resource.ts";
import { moveSandbox } from "../../src/core/sandbox-states.ts";
import {
  BUILT_IN_STRATEGY_NAMES,
  type CreatePlanOptions,
  SANDBOX_MOVES,
  SANDBOX_STATES,
  SandboxStateError,
  type SandboxStrategy,
} from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import { type Contract, requiredMethods } from "../../src/strategies/custom/method-table.ts";
import { runProcess } from "../rivals/drydock-process.ts";
import { Mailbox } from "./mailbox.ts";
import { irreversible, letterbox, planWithWork, reversible, twoPhase, Workshop } from "./workshop.ts";

const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.]\d{3}Z$/;

describe("Strategies", () => {
  it("[S1] of ours and of others have the same nine methods, and are called by nothing else", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([reversible(), twoPhase()]);
    for (const { strategy, name } of (await drydock.registry.listAll()).strategies) {
      const members = strategy as unknown as { readonly [member: string]: unknown };
      for (const method of requiredMethods("one-phase"))
        assert.equal(typeof members[method], "function", `${name}.${method}`);
    }
    const plan = await planWithWork(drydock, [{ location: "a" }, letterbox("mail", "reversible_mail")]);
    assert.deepEqual(
      plan.resources.map(({ strategy }) => strategy),
      ["overlay", "reversible_mail"],
    );
    assert.equal((await drydock.plans.apply(plan.id)).state, "applied");
  });

  it("[S2] are unknown everywhere once their name is removed, ours too", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([reversible()]);
    const plan = await planWithWork(drydock, [{ location: "a" }, letterbox("mail", "reversible_mail")]);
    for (const { name } of (await drydock.registry.listAll()).strategies) {
      drydock.registry.remove(name);
      assert.equal(drydock.registry.has(name), false);
      await assert.rejects(drydock.registry.resolve(name), { code: "UNKNOWN_STRATEGY" });
    }
    await assert.rejects(
      drydock.plans.create({ resources: [{ location: "b", strategy: "filesystem_copy" }] }),
      {
        code: "UNKNOWN_STRATEGY",
      },
    );
    await assert.rejects(drydock.plans.create({ resources: [{ location: "b" }] }), { code: "NO_STRATEGY" });
    await assert.rejects(drydock.plans.create({ resources: [letterbox("mail", "reversible_mail")] }), {
      code: "UNKNOWN_STRATEGY",
    });
    await assert.rejects(drydock.plans.apply(plan.id), /no strategy called/);
    await assert.rejects(drydock.plans.diff(plan.id), { code: "UNKNOWN_STRATEGY" });
    assert.equal(workshop.text("a/old.txt"), "old of a\n");
    const { strategies, resourceTypes } = await drydock.doctor();
    assert.deepEqual(strategies, []);
    assert.ok(resourceTypes.every(({ strategy }) => strategy === null));
  });

  it("[S2] that are missing leave what a crash left pending, and it is settled when they are back", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([reversible()]);
    const plan = await planWithWork(drydock, [{ location: "a" }, letterbox("mail", "reversible_mail")]);
    await drydock.close();
    await runProcess(
      { stateDir: workshop.stateDir, mailboxes: [reversible()], calls: [["apply", plan.id]] },
      { failpoint: "mailbox.sent=kill" },
    );
    const without = await workshop.open();
    assert.match(without.recovery.pending[0]?.why ?? "", /reversible_mail/);
    assert.equal(workshop.text("a/old.txt"), "old of a\n");
    await without.close();
    const back = await workshop.open([reversible()]);
    assert.equal(back.recovery.undone[0]?.planId, plan.id);
    assert.equal(workshop.text("mail"), "Dear all,\n");
    assert.equal((await back.plans.apply(plan.id)).state, "applied");
  });

  it("[S7] say what they can do as data, and the commit follows that data alone", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([reversible(), irreversible(), twoPhase()]);
    const { strategies } = await drydock.registry.listAll();
    const declared = Object.fromEntries(
      strategies.map(({ name, capabilities: { commit, undo } }) => [name, `${commit}, undo ${undo}`]),
    );
    assert.equal(declared["reversible_mail"], "one-phase, undo true");
    assert.equal(declared["irreversible_mail"], "one-phase, undo false");
    assert.equal(declared["two_phase_mail"], "two-phase, undo true");
    assert.equal(declared["filesystem_copy"], "two-phase, undo true");
    assert.equal(declared["none"], "in-place, undo false");
    // An object that is no instance of anything takes part like any other.
    const stranger = await openServices({
      stateDir: workshop.at("state-of-a-stranger"),
      cwd: workshop.base,
      environment: {},
      strategies: [
        (context) => {
          const mailbox = new Mailbox(context, reversible());
          const methods = requiredMethods("one-phase").map((name) => [
            name,
            (mailbox as unknown as Contract)[name].bind(mailbox),
          ]);
          return {
            name: "stranger",
            capabilities: mailbox.capabilities,
            ...Object.fromEntries(methods),
          } as SandboxStrategy;
        },
      ],
    });
    try {
      assert.ok(stranger.registry.has("stranger"));
    } finally {
      await stranger.close();
    }
  });

  it("[S7] are listed for a resource exactly if they say that they can isolate its type", async () => {
    await using workshop = new Workshop();
    const { registry } = await workshop.open([reversible()]);
    const { strategies } = await registry.listAll();
    for (const type of BUILT_IN_RESOURCE_TYPES) {
      const isFor = ({ capabilities: { resourceTypes } }: (typeof strategies)[number]) =>
        resourceTypes === "all" || resourceTypes.includes(type);
      const resource = { id: "r", name: "r", type, location: workshop.base, properties: {} };
      const turns = await registry.listFor(resource, [type]);
      const listed = (await Array.fromAsync(turns.strategies)).filter(isFor);
      const names = (some: typeof strategies) => some.map(({ name }) => name).sort();
      assert.deepEqual(names(listed), names(strategies.filter(isFor)), type);
    }
  });

  it("[S4] are refused with everything that is missing named at once", async () => {
    await using workshop = new Workshop();
    const half = {
      name: "half",
      capabilities: { commit: "two-phase" },
      create: () => undefined,
    } as unknown as SandboxStrategy;
    await assert.rejects(workshop.open([], { strategies: [() => half] }), (error: Error) => {
      for (const method of ["read()", "cleanup()", "prepare()", "rollbackPrepared()"])
        assert.ok(error.message.includes(method), error.message);
      return true;
    });
    const taken = { ...half, name: BUILT_IN_STRATEGY_NAMES[0] };
    await assert.rejects(workshop.open([], { strategies: [() => taken] }));
  });
});

describe("The life of a sandbox", () => {
  it("[L1] has one table of moves; any other throws an error that names both states", () => {
    for (const from of SANDBOX_STATES) {
      for (const to of SANDBOX_STATES) {
        if (from === to || SANDBOX_MOVES[from].includes(to)) assert.equal(moveSandbox("s", from, to), to);
        else
          assert.throws(
            () => moveSandbox("s", from, to),
            (error: unknown) => {
              assert.ok(error instanceof SandboxStateError);
              assert.deepEqual([error.from, error.to], [from, to]);
              assert.match(error.message, new RegExp(`${from}.*${to}`));
              return true;
            },
          );
      }
    }
  });

  it("[L1] ends with the plan: nothing can be read, written or applied any more", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([reversible()]);
    const plan = await planWithWork(drydock, [{ location: "a" }, letterbox("mail", "reversible_mail")]);
    await drydock.plans.cancel(plan.id);
    for (const attempt of [
      drydock.plans.read(plan.id, "a", "old.txt"),
      drydock.plans.write(plan.id, "mail", ".", Buffer.from("x")),
      drydock.plans.diff(plan.id),
    ])
      await assert.rejects(attempt, SandboxStateError);
    await assert.rejects(drydock.plans.apply(plan.id), /cancelled and cannot become applying/);
    await assert.rejects(drydock.plans.undo(plan.id), { reason: "PLAN_STATE" });
    await assert.rejects(drydock.plans.cancel(plan.id), { code: "PLAN_STATE" });
  });

  it("[L2] goes on after a rollback, also for work that is done in its folder by other programs", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([reversible()]);
    const plan = await planWithWork(drydock, [{ location: "a" }, letterbox("mail", "reversible_mail")]);
    const path = await drydock.plans.path(plan.id, "a");
    await drydock.plans.rollback(plan.id);
    assert.equal(await drydock.plans.path(plan.id, "a"), path);
    await drydock.plans.rollback(plan.id);
    writeFileSync(`${path}/old.txt`, "by another program\n");
    assert.equal((await drydock.plans.apply(plan.id)).state, "applied");
    assert.equal(workshop.text("a/old.txt"), "by another program\n");
    assert.equal(workshop.text("mail"), "Dear all,\n");
  });

  it("[L6] [L7] keeps the message of a commit for later, with times in UTC", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([reversible()]);
    const plan = await planWithWork(drydock, [{ location: "a" }, letterbox("mail", "reversible_mail")]);
    const message = "why we did it — with ünïcode\nand a second line";
    assert.equal((await drydock.plans.apply(plan.id, { message })).message, message);
    await drydock.close();
    const later = await workshop.open([reversible()]);
    const shown = await later.plans.show(plan.id);
    assert.equal(shown.message, message);
    assert.match(shown.createdAt, UTC);
    assert.equal((await later.plans.list({ all: true }))[0]?.message, message);
  });

  it("[L6] keeps no message of a commit that failed", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open([
      reversible({ trouble: (at) => (at.endsWith(".commit") ? Promise.reject("no") : undefined) }),
    ]);
    const plan = await planWithWork(drydock, [letterbox("mail", "reversible_mail")]);
    await assert.rejects(drydock.plans.apply(plan.id, { message: "in vain" }));
    assert.equal((await drydock.plans.show(plan.id)).message, undefined);
  });
});

describe("A plan that is refused", () => {
  const REFUSED: { readonly [why: string]: (workshop: Workshop) => CreatePlanOptions } = {
    "for a missing resource": () => ({ resources: [{ location: "a" }, { location: "nowhere" }] }),
    "for no resource at all": () => ({ resources: [] }),
    "for the root": () => ({ resources: [{ location: "a" }, { location: "/" }] }),
    "for the state directory": (workshop) => ({ resources: [{ location: workshop.stateDir }] }),
    "for a bad name": () => ({ resources: [{ location: "a" }], name: "a\nb" }),
    "for an empty name": () => ({ resources: [{ location: "a" }], name: " " }),
    "for a file where a folder is meant": () => ({ resources: [{ location: "mail", type: "fs-directory" }] }),
    "for resources that overlap": () => ({
      resources: [{ location: "a" }, { name: "n", location: "a/inner", strategy: "filesystem_copy" }],
    }),
    "for one resource twice": () => ({ resources: [{ location: "a" }, { name: "again", location: "a" }] }),
    "for an unknown strategy": () => ({ resources: [{ location: "a", strategy: "magic" }] }),
    "for a strategy that does not fit": () => ({
      resources: [{ location: "a" }, letterbox("mail", "filesystem_copy")],
    }),
    "for work in place without the user's word": () => ({ resources: [{ location: "a", strategy: "none" }] }),
  };

  for (const [why, options] of Object.entries(REFUSED)) {
    it(`[L8] ${why} leaves no trace`, async () => {
      await using workshop = new Workshop();
      mkdirSync(workshop.at("a/inner"));
      const drydock = await workshop.open([reversible()]);
      const before = listing(workshop.stateDir);
      await assert.rejects(drydock.plans.create(options(workshop)));
      assert.deepEqual(listing(workshop.stateDir), before);
      assert.deepEqual(await drydock.plans.list({ all: true }), []);
      assert.deepEqual(await drydock.recover(), { finished: [], undone: [], cleaned: [], pending: [] });
    });
  }

  it("[W2] around the state directory is made without that", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ name: "all", location: workshop.base }] });
    await drydock.plans.write(plan.id, "all", "a/new", Buffer.from("new\n"));
    assert.deepEqual((await drydock.plans.show(plan.id)).resources[0]?.linksOut ?? [], []);
    const { changes } = await drydock.plans.diff(plan.id);
    assert.deepEqual(
      changes.map(({ path }) => path),
      ["a/new"],
    );
    await drydock.plans.apply(plan.id);
    assert.equal(workshop.text("a/new"), "new\n");
  });

  it("[L8] because it is read-only is refused before anything is prepared or written", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ location: "a" }], readOnly: true });
    const before = listing(workshop.stateDir);
    await assert.rejects(drydock.plans.write(plan.id, "a", "x", Buffer.from("x")), { code: "READ_ONLY" });
    await assert.rejects(drydock.plans.apply(plan.id), /read-only/);
    assert.deepEqual(listing(workshop.stateDir), before);
    assert.equal((await drydock.plans.show(plan.id)).state, "open");
  });
});

/**
 * Everything in a state directory but a folder that may be there and empty, and the locks of its processes.
 */
function listing(folder: string): string[] {
  return (
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      // What is remembered of the machine is no trace of a plan.
      .filter((name) => name !== "sandboxes" && !name.startsWith("owners") && name !== "overlay-ways")
      .sort()
  );
}
