import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Running } from "../end-to-end/workplace.ts";
import { IS_LONG, itInLongForm } from "../support/long-form.ts";
import { whyNoHosts } from "./host-network.ts";
import { NetworkFleet, type NetworkHost } from "./network-fleet.ts";

describe("a plan over hosts that fail", { skip: whyNoHosts() ?? false }, () => {
  let fleet: NetworkFleet;
  let web1: NetworkHost;
  let web2: NetworkHost;

  before(async () => {
    fleet = await NetworkFleet.open("web1", "web2");
    [web1, web2] = fleet.hosts as [NetworkHost, NetworkHost];
  });

  after(async () => await fleet?.close());

  /** All or nothing, also after two recoveries, and the plan can go on. */
  async function assertWhole(plan: string): Promise<"applied" | "open"> {
    const state = await fleet.settled(plan);
    for (const host of [web1, web2, web1, web2]) {
      host.done("recover");
      assert.equal(await fleet.settled(plan), state);
    }
    web1.done("plan", state === "applied" ? "undo" : "cancel", plan);
    assert.deepEqual([web1.isNew, web2.isNew], [false, false]);
    return state;
  }

  function applying(plan: string, failpoint?: string): Running {
    const env = failpoint === undefined ? {} : { DRYDOCK_FAILPOINT: failpoint };
    return web1.start(["plan", "apply", plan], env);
  }

  it("[M3, M4, M7] is given up by another host while its coordinator stands still, which then changes nothing", async () => {
    const plan = fleet.plan();
    const command = applying(plan, "fleet.decide=stop");
    await command.stopped();
    web1.service?.signal("SIGSTOP");
    await fleet.decided(plan, "give-up");
    command.signal("SIGCONT");
    web1.service?.signal("SIGCONT");
    const { status } = await command.endedWithin(120);
    assert.notEqual(status, 0);
    await fleet.decided(plan, "give-up");
    assert.equal(await assertWhole(plan), "open");
  });

  it("[M2, M6, M7] lands when its coordinator is cut off after the decision, and there when the link is back", async () => {
    const plan = fleet.plan();
    const command = applying(plan, "fleet.decided=stop");
    await command.stopped();
    web1.place.cut();
    command.signal("SIGKILL");
    while (!web2.isNew) await sleep(50);
    assert.equal(web1.isNew, false);
    web1.place.restore();
    assert.equal(await assertWhole(plan), "applied");
  });

  it("[M2, M5] is whole when the link of a host is cut in the middle, for longer than anybody waits", async () => {
    const plan = fleet.plan();
    await web2.end();
    await web2.up({ DRYDOCK_FAILPOINT: "host.run:1=stop" });
    const command = applying(plan);
    await web2.service?.stopped();
    web2.place.cut();
    web2.service?.signal("SIGCONT");
    await command.endedWithin(300);
    web2.place.restore();
    await assertWhole(plan);
  });

  for (const moment of IS_LONG ? [0, 200, 400, 600, 800, 1000, 1200, 1400] : [300])
    it(`[M2] is whole when the server dies and comes back, ${moment} ms after its landing began`, async () => {
      const plan = fleet.plan();
      const command = applying(plan);
      await sleep(moment);
      await fleet.network.server.crash();
      await fleet.network.server.start();
      await command.endedWithin(120);
      await assertWhole(plan);
    });

  it("joins an empty database as it is, when the one before is lost", async () => {
    for (const host of fleet.hosts) await host.end();
    await fleet.network.server.sql("DROP SCHEMA drydock CASCADE");
    for (const host of fleet.hosts) await host.up();
    const plan = fleet.plan();
    web1.done("plan", "apply", plan);
    assert.equal(await assertWhole(plan), "applied");
  });

  for (let seed = 1; seed <= 20; seed += 1)
    itInLongForm(`[M2] is whole whatever fails at random, run ${seed}`, async () => {
      const random = (most: number) => Math.floor(Math.random() * most);
      const plan = fleet.plan();
      const command = applying(plan);
      for (let troubles = 0; troubles < 3; troubles += 1) {
        await sleep(random(1_500));
        const host = random(2) === 0 ? web1 : web2;
        await [
          () => restart(host),
          () => flicker(host, random(20_000)),
          () => standStill(host, random(20_000)),
          () => fleet.network.server.crash().then(() => fleet.network.server.start()),
          () => Promise.resolve(command.signal("SIGKILL")),
        ][random(5)]?.();
      }
      if (!command.hasEnded) await command.endedWithin(120);
      await assertWhole(plan);
    });
});

async function restart(host: NetworkHost): Promise<void> {
  await host.kill();
  await host.up();
}

async function flicker({ place }: NetworkHost, ms: number): Promise<void> {
  place.cut();
  await sleep(ms);
  place.restore();
}

async function standStill({ service }: NetworkHost, ms: number): Promise<void> {
  service?.signal("SIGSTOP");
  await sleep(ms);
  service?.signal("SIGCONT");
}
