import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { describe, it } from "node:test";
import { sandboxIdFor } from "../../src/core/sandbox.ts";
import type { RunningCommand } from "../../src/index.ts";
import type { Services, ServicesOptions } from "../../src/services.ts";
import { openSqliteStore } from "../../src/store/sqlite-store.ts";
import { runProcess } from "../rivals/drydock-process.ts";
import { irreversible, letterbox, Workshop } from "./workshop.ts";

const DAY = 86_400_000;

async function openWith(shop: Workshop, policy: string, more: ServicesOptions = {}): Promise<Services> {
  shop.write("drydock.yaml", `sandbox: { cleanup: ${policy}, undo: { keep: 7d } }\n`);
  return await shop.open([irreversible()], { config: shop.at("drydock.yaml"), ...more });
}

/** A plan over two folders, with work in one of them. */
async function planWith({ plans }: Services, shop: Workshop): Promise<void> {
  const strategies = { a: "filesystem_copy", b: "overlay" };
  const resources = Object.entries(strategies).map(([name, strategy]) => ({
    location: shop.at(name),
    strategy,
  }));
  await plans.create({ name: "p", resources });
  await plans.write("p", "a", "new.txt", Buffer.from("new\n"));
}

async function statuses({ plans }: Services): Promise<string[]> {
  return (await plans.show("p")).resources.map(({ status }) => status);
}

/** The resources whose sandboxes have places that the state knows as ours. */
async function knownPlaces({ plans }: Services, shop: Workshop): Promise<string[]> {
  const store = await openSqliteStore({ stateDir: shop.stateDir, makesRoom: false });
  try {
    const { id } = await plans.show("p");
    const known = new Set((await store.intents()).map(({ sandboxId }) => sandboxId));
    const resources = (await store.plan(id))?.resources ?? [];
    return resources
      .filter(({ resource }) => known.has(sandboxIdFor(id, resource.id)))
      .map(({ resource }) => resource.name);
  } finally {
    store.close();
  }
}

/** What there is of sandboxes and undo records. */
function homes(shop: Workshop): number {
  return readdirSync(shop.at("state/sandboxes")).length;
}

describe("the policy sandbox.cleanup", () => {
  it("[C4] on_apply removes the sandboxes when the plan is applied, but not what an undo needs", async () => {
    await using shop = new Workshop();
    const drydock = await openWith(shop, "on_apply");
    await planWith(drydock, shop);
    await drydock.plans.apply("p");
    assert.deepEqual(await statuses(drydock), ["CLEANED_UP", "CLEANED_UP"]);
    await drydock.plans.undo("p");
    assert.equal(homes(shop), 0);
  });

  it("[C2][C4] the places of a sandbox stay known while an undo record is in them, and not for longer", async () => {
    for (const end of ["undo", "expiry"]) {
      await using shop = new Workshop();
      const drydock = await openWith(shop, "on_apply");
      await planWith(drydock, shop);
      assert.deepEqual(await knownPlaces(drydock, shop), ["a", "b"]);
      await drydock.plans.apply("p");
      assert.deepEqual(await knownPlaces(drydock, shop), ["a"], "nothing landed from b");
      if (end === "undo") await drydock.plans.undo("p");
      else await openWith(shop, "on_apply", { now: () => new Date(Date.now() + 8 * DAY) });
      assert.deepEqual(await knownPlaces(drydock, shop), [], `after the ${end}`);
    }
  });

  it("[C4] on_terminal keeps the sandboxes of an applied plan until it is undone, then all of them go", async () => {
    await using shop = new Workshop();
    const drydock = await openWith(shop, "on_terminal");
    await planWith(drydock, shop);
    await drydock.plans.apply("p");
    assert.deepEqual(await statuses(drydock), ["COMMITTED", "CREATED"]);
    assert.equal(Buffer.from(await drydock.plans.read("p", "a", "new.txt")).toString(), "new\n");
    await drydock.plans.undo("p");
    assert.equal(shop.text("a/new.txt"), undefined);
    assert.deepEqual(await statuses(drydock), ["CLEANED_UP", "CLEANED_UP"]);
    assert.equal(homes(shop), 0);
    assert.deepEqual(await drydock.cleanup.scan(), []);
  });

  it("[C4] on_terminal keeps them until the plan can no longer be undone, also through parts", async () => {
    await using shop = new Workshop();
    const onDay = async (day: number, action: (drydock: Services) => Promise<void>) => {
      const drydock = await openWith(shop, "on_terminal", { now: () => new Date(Date.now() + day * DAY) });
      await action(drydock);
      await drydock.close();
    };
    await onDay(0, async (drydock) => {
      await planWith(drydock, shop);
      await drydock.plans.apply("p", { only: ["new.txt"] });
    });
    await onDay(5, async (drydock) => {
      await drydock.plans.write("p", "b", "more.txt", Buffer.from("more\n"));
      await drydock.plans.apply("p");
    });
    // By then only the landing of the rest can be taken back.
    await onDay(8, async (drydock) => assert.deepEqual(await statuses(drydock), ["ACTIVE", "COMMITTED"]));
    await onDay(13, async (drydock) =>
      assert.deepEqual(await statuses(drydock), ["CLEANED_UP", "CLEANED_UP"]),
    );
    assert.equal(homes(shop), 0);
    assert.equal(shop.text("b/more.txt"), "more\n");
  });

  it("[C4] on_terminal removes them at once when the plan is cancelled, or what it applied can't be undone", async () => {
    await using shop = new Workshop();
    const drydock = await openWith(shop, "on_terminal");
    await planWith(drydock, shop);
    await drydock.plans.cancel("p");
    assert.equal(homes(shop), 0);
    const resources = [letterbox(shop.at("mail"), "irreversible_mail")];
    await drydock.plans.create({ name: "q", resources, allowIrreversible: true });
    await drydock.plans.write("q", "mail", ".", Buffer.from("letter\n"));
    await drydock.plans.apply("q");
    const { resources: over } = await drydock.plans.show("q");
    assert.deepEqual(
      over.map(({ status }) => status),
      ["CLEANED_UP"],
    );
  });

  it("[C4] manual keeps the sandboxes of a cancelled plan, also where the cancel was killed and recovery ends it", async () => {
    await using shop = new Workshop();
    const drydock = await openWith(shop, "manual");
    await planWith(drydock, shop);
    const task = {
      stateDir: drydock.stateDir,
      config: shop.at("drydock.yaml"),
      calls: [["cancel", "p"]] as const,
    };
    assert.equal((await runProcess(task, { failpoint: "store.written:1=kill" })).signal, "SIGKILL");
    const after = await openWith(shop, "manual");
    assert.equal((await after.plans.show("p")).state, "cancelled");
    assert.deepEqual(await statuses(after), ["ACTIVE", "CREATED"]);
    assert.equal(homes(shop), 2);
    assert.equal((await after.cleanup.purge()).failed.length, 0);
    assert.equal(homes(shop), 0);
  });

  it("[C5] manual leaves sandboxes that hold new work after the plan was applied to nobody but who forces it", async () => {
    await using shop = new Workshop();
    const drydock = await openWith(shop, "manual");
    await planWith(drydock, shop);
    await drydock.plans.apply("p");
    await drydock.plans.write("p", "a", "newer.txt", Buffer.from("the only copy\n"));
    const { kept, removed } = await drydock.cleanup.purge();
    assert.deepEqual(
      [kept.map(({ kind }) => kind), removed.map(({ kind }) => kind)],
      [["folder"], ["folder", "mount"]],
    );
    assert.equal(Buffer.from(await drydock.plans.read("p", "a", "newer.txt")).toString(), "the only copy\n");
    await drydock.cleanup.purge({ force: true });
    assert.deepEqual(await statuses(drydock), ["CLEANED_UP", "CLEANED_UP"]);
  });
});

describe("a purge", () => {
  it("[C5] leaves alone what a command runs in, also by force, and though no record knows it any more", async () => {
    await using shop = new Workshop();
    const drydock = await openWith(shop, "on_apply");
    await planWith(drydock, shop);
    const started = Promise.withResolvers<RunningCommand>();
    const ended = drydock.exec("p", { command: ["sleep", "60"], onStart: started.resolve });
    const running = await started.promise;
    try {
      // The records are lost, or were put back to an earlier day.
      for (const name of readdirSync(shop.stateDir).filter((file) => file.startsWith("drydock.db")))
        rmSync(shop.at(`state/${name}`));
      const other = await openWith(shop, "on_apply");
      const { kept, removed } = await other.cleanup.purge({ force: true });
      assert.deepEqual(removed, []);
      assert.deepEqual(kept.map(({ kind }) => kind).sort(), ["folder", "folder", "run folder"]);
      for (const { why } of kept) assert.match(why, /^'sleep 60' is running in it \(pid \d+\)$/);
      assert.equal(homes(shop), 2);
    } finally {
      running.signal("SIGKILL");
      await ended;
    }
  });
});
