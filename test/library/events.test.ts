import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Drydock, openDrydock, type PlanEvent, UsageError } from "drydock-sandbox";
import { openSqliteStore } from "../../src/store/sqlite-store.ts";
import { Workplace } from "../end-to-end/workplace.ts";

/** A folder, and Drydock on the state directory that commands use too. */
async function opened(place: Workplace): Promise<Drydock> {
  place.folder("app", { "a.txt": "old\n" });
  return await openDrydock({ stateDir: place.state, cwd: place.path, environment: place.environment });
}

/** The events until one is wanted; that one is the last. */
async function until(events: AsyncIterable<PlanEvent>, isLast: (event: PlanEvent) => boolean) {
  const seen: PlanEvent[] = [];
  for await (const event of events) {
    seen.push(event);
    if (isLast(event)) return seen;
  }
  return seen;
}

describe("events", () => {
  it("[P3] tell everything that any process does to a plan, in order, with its details", async () => {
    using place = new Workplace();
    await using drydock = await opened(place);
    const told = until(drydock.events(), ({ event }) => event === "undone");
    const plan = await drydock.plans.create({ name: "p", resources: [{ location: "app" }] });
    await plan.write("a.txt", "new\n");
    await plan.checkpoint({ label: "good" });
    place.done("plan", "rm", "p", "app", "a.txt");
    place.done("plan", "restore", "p", "good");
    const { digest } = await plan.requestReview({ message: "look" });
    place.done("approve", "p", "--digest", digest);
    place.done("plan", "apply", "p", "--approved", "-m", "why");
    place.done("plan", "undo", "p");
    const seen = await told;
    assert.deepEqual(
      seen.map(({ event }) => event),
      [
        "created",
        "changed",
        "checkpoint",
        "changed",
        "restored",
        "sealed",
        "review asked",
        "approved",
      ].concat("applied", "undone"),
    );
    const { entries } = await plan.log();
    assert.deepEqual(
      seen.map(({ cursor: _, planId, ...entry }) => ({ entry, planId })),
      entries.map((entry) => ({ entry, planId: plan.id })),
    );
    const removed = seen[3];
    assert.ok(removed?.event === "changed");
    assert.deepEqual(removed.details, { operation: "remove", path: "a.txt", resource: "app" });
    assert.notEqual(removed.pid, process.pid);
  });

  it("[P3] go on behind a cursor, and of one plan only, with nothing twice and nothing lost", async () => {
    using place = new Workplace();
    await using drydock = await opened(place);
    const make = (name: string) =>
      drydock.plans.create({ name, resources: [{ location: "app", strategy: "filesystem_copy" }] });
    const [first, second] = [await make("first"), await make("second")];
    for (const plan of [first, second, first]) await plan.write("a.txt", `${plan.name}\n`);
    const isLast = ({ event }: PlanEvent) => event === "cancelled";
    await second.cancel();
    const all = await until(drydock.events(), isLast);
    assert.deepEqual(
      all.map(({ event, planId }) => `${event} ${planId === first.id ? 1 : 2}`),
      ["created 1", "created 2", "changed 1", "changed 2", "changed 1", "cancelled 2"],
    );
    for (const [at, { cursor }] of all.slice(0, -1).entries())
      assert.deepEqual(await until(drydock.events({ after: cursor }), isLast), all.slice(at + 1));
    const ofSecond = await until(second.events({ after: all[0]?.cursor ?? "" }), isLast);
    assert.deepEqual(
      ofSecond,
      all.filter(({ planId }) => planId === second.id),
    );
  });

  it("[P3] go on when the plan of the last event has left the store, and behind a cursor of it", async () => {
    using place = new Workplace();
    await using drydock = await opened(place);
    const make = (name: string) =>
      drydock.plans.create({ name, resources: [{ location: "app", strategy: "filesystem_copy" }] });
    await make("kept");
    const gone = await make("gone");
    await gone.cancel();
    const seen = await until(drydock.events(), ({ event }) => event === "cancelled");
    const following = until(drydock.events({ after: seen.at(-1)?.cursor ?? "" }), () => true);
    const store = await openSqliteStore({ stateDir: place.state });
    await store.write([{ drop: "plan", planId: gone.id }], "ordered");
    store.close();
    const { id } = await make("next");
    assert.deepEqual(
      (await following).map(({ planId }) => planId),
      [id],
    );
    for (const { cursor } of seen.slice(1))
      assert.deepEqual(
        (await until(drydock.events({ after: cursor }), () => true)).map(({ planId }) => planId),
        [id],
      );
  });

  it("[P3] end with their signal and with Drydock, and refuse a cursor that they never gave", async () => {
    using place = new Workplace();
    const drydock = await opened(place);
    await drydock.plans.create({ name: "p", resources: [{ location: "app" }] });
    const stop = new AbortController();
    const stopped = until(drydock.events({ after: "now", signal: stop.signal }), () => false);
    stop.abort();
    assert.deepEqual(await stopped, []);
    for (const [after, code] of [
      ["nonsense", "BAD_ARGUMENT"],
      ["1-0", "STALE_CURSOR"],
      ["99-m1", "STALE_CURSOR"],
    ] as const)
      await assert.rejects(
        until(drydock.events({ after }), () => true),
        (thrown) => thrown instanceof UsageError && thrown.code === code,
      );
    await assert.rejects(
      until(drydock.events({ plan: "none" }), () => true),
      { code: "UNKNOWN_PLAN" },
    );
    const closed = until(drydock.events({ after: "now" }), () => false);
    await drydock.close();
    assert.deepEqual(await closed, []);
  });

  it("[P3] are followed by 'plan log --follow', a JSON line each, until Ctrl-C", async () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "old\n" });
    place.done("plan", "create", "-r", "app", "--name", "p");
    const follower = place.start(["plan", "log", "p", "--follow", "--json"]);
    const people = place.start(["plan", "log", "p", "-f", "--after", "now"]);
    await follower.until(() => follower.stdout.includes("\n"));
    const [line = ""] = follower.stdout.split("\n");
    const created = JSON.parse(line) as PlanEvent;
    assert.deepEqual([created.event, created.details], ["created", { name: "p" }]);
    place.done("plan", "exec", "p", "--", "true");
    await follower.until(() => follower.stdout.includes('"executed"'));
    follower.signal("SIGINT");
    assert.equal((await follower.ended()).status, 0);
    const events = follower.stdout.trim().split("\n");
    assert.deepEqual(
      events.map((text) => (JSON.parse(text) as PlanEvent).event),
      ["created", "checkpoint", "exec started", "executed"],
    );
    await people.until(() => people.stdout.includes("executed"));
    people.signal("SIGTERM");
    assert.equal((await people.ended()).status, 0);
    assert.deepEqual([people.stderr, /created/.test(people.stdout)], ["", false]);
    assert.match(people.stdout, /^\S+Z {2}\S+ \(\d+\) {2}executed {2}true, exit code 0$/m);
  });
});
