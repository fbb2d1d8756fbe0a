import type { Owner } from "../../src/core/owner.ts";
import { CONTRACT, type Driver } from "../../src/fleet/protocol/call.ts";
import { type FilledFleet, ME } from "./filled-fleet.ts";

const DEAD: Owner = { ...ME, id: "dead" };
const SINCE = "2026-06-01T00:00:00.000Z";
const START = { directory: "host-0", start: "start", notes: 0 };

/** What one host asks of its fleet. `at` is another number each time, so that it is all over the store. */
export const FLEET_QUESTIONS: {
  readonly [what: string]: (fleet: FilledFleet, at: number) => Promise<unknown>;
} = {
  "find a plan by its id": async (fleet, at) => await fleet.store.plan(fleet.plan(at).id),
  "by a prefix of its id": async (fleet, at) => await fleet.store.findPlans(fleet.plan(at).id.slice(0, -1)),
  "by its name": async (fleet, at) => await fleet.store.findPlans(fleet.plan(at).name),
  "its transactions, sandboxes and history": async (fleet, at) => {
    const { id } = fleet.plan(at);
    await fleet.store.transactionsOf(id);
    await fleet.store.sandboxesOf(id);
    return await fleet.store.history(id);
  },
  "list the newest 50 open plans": async ({ store }) => await store.listPlans("open", { limit: 50 }),
  "list the newest 50 of all": async ({ store }) => await store.listPlans("all", { limit: 50 }),
  "list the plans that wait for a host": async ({ rows }) => await rows.open(),
  "find the last landing": async ({ store }) => {
    for await (const id of store.landedPlanIds()) return id;
    throw new Error("Nothing has landed.");
  },
  "find what every start looks for": async ({ store }) => {
    await store.hasUnfinishedWork();
    await store.unfinishedTransactions();
    await store.unfinishedPlans();
    await store.undoRecords(SINCE);
    await store.intents();
    return await store.closedPlanIds("2025-06-01T00:00:00.000Z", 20);
  },
  "find plans that nobody needs": async ({ store }) => await store.closedPlanIds(SINCE, 20),
  "find what this host has": async ({ store }) => {
    await store.liveSandboxes();
    return await store.sandboxesOutside("/var/lib/drydock");
  },
  "write a plan and its history": async (fleet, at) => {
    const record = fleet.plan(at);
    const told = { planId: record.id, at: record.createdAt, actor: "me", event: `${at}`, details: {} };
    return await fleet.store.write(
      [
        { put: "plan", record },
        { put: "history", record: told },
      ],
      "durable",
    );
  },
  "claim a plan and a folder, and release them": async (fleet, at) => {
    const keys = keysAt(fleet, at);
    const { granted } = await fleet.store.claim(keys, ME, () => true);
    if (!granted) throw new Error("The claim was refused.");
    await fleet.store.release(keys, ME);
  },
  "take over the claims of a process that died": async (fleet, at) => {
    const keys = keysAt(fleet, at);
    await fleet.store.claim(keys, DEAD, () => true);
    const { granted } = await fleet.store.claim(keys, ME, ({ id }) => id !== DEAD.id);
    if (!granted) throw new Error("The claims of a dead process were not taken over.");
    await fleet.store.release(keys, ME);
  },
  "take over a transaction whose driver is gone": async ({ rows }, at) => {
    const [lost] = await rows.open();
    const me: Driver = { host: "host-1", epoch: 1, process: `process ${at}` };
    if (lost === undefined || (await rows.takeOver(lost.id, me)) === undefined)
      throw new Error("The transaction was not taken over.");
  },
  "send a call, take it and answer it": async ({ queue }, at) => {
    const sender: Driver = { host: "host-0", epoch: 1, process: "me" };
    const request = { kind: "service", name: "nothing" } as const;
    const call = { key: `call ${at}`, host: "host-0", request, sender, contract: CONTRACT };
    await queue.send(call, "[]");
    const taken = await queue.take("host-0", START, []);
    if (taken.call?.key !== call.key) throw new Error("The call was not taken.");
    await queue.whole(call.key, "arguments");
    if (!(await queue.answer(call, START, { hasResult: true }, "[]")))
      throw new Error("It was not answered.");
    await queue.stateOf(call.key, call.host);
    await queue.forget(call.key);
  },
  "renew a lease": async ({ hosts }) => {
    if (!(await hosts.renewLease("host-0", START, 1))) throw new Error("The lease was not renewed.");
  },
  "look after the queue": async ({ queue, rows }) => {
    await queue.prune();
    await rows.prune();
  },
};

function keysAt(fleet: FilledFleet, at: number): readonly string[] {
  return [`plan:${fleet.plan(at).id}`, `path:/srv/app-${at}`];
}
