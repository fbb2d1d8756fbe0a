import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Running } from "../end-to-end/workplace.ts";
import { whyNoHosts } from "./host-network.ts";
import { NetworkFleet, type NetworkHost } from "./network-fleet.ts";

describe("a command on another host", { skip: whyNoHosts() ?? false }, () => {
  let fleet: NetworkFleet;
  let web1: NetworkHost;
  let web2: NetworkHost;
  let plan: string;

  before(async () => {
    fleet = await NetworkFleet.open("web1", "web2");
    [web1, web2] = fleet.hosts as [NetworkHost, NetworkHost];
    plan = fleet.plan();
  });

  /** It is over there too: a plan in use can't be restored. */
  afterEach(async () => {
    for (let tries = 0; ; tries += 1) {
      const { status, stderr } = web1.drydock(["plan", "rollback", plan]);
      if (status === 0) return;
      assert.match(stderr, /On web2, .* is running in the plan/);
      assert.ok(tries < 200, "it never ends");
      await sleep(200);
    }
  });

  after(async () => await fleet?.close());

  function started(script: string): Running {
    return web1.start(["plan", "exec", plan, "--on", "web2", "--", "sh", "-c", script]);
  }

  it("is spoken with while it runs", async () => {
    const script = "echo first; echo beside >&2; read word; echo got $word; head -c 3000000 | wc -c; exit 3";
    const command = started(script);
    await command.until(() => command.stdout === "first\n" && command.stderr === "beside\n");
    command.input("this\n");
    await command.until(() => command.stdout === "first\ngot this\n");
    command.input("x".repeat(3_000_000));
    const { status } = await command.endedWithin(60);
    assert.deepEqual([status, command.stdout], [3, "first\ngot this\n3000000\n"]);
  });

  it("is stopped by an interrupt, and says how it ended", async () => {
    const command = started("trap 'echo stopped; exit 7' INT; echo up; while :; do sleep 0.1; done");
    await command.until(() => command.stdout === "up\n");
    command.signal("SIGINT");
    const { status } = await command.endedWithin(60);
    assert.deepEqual([status, command.stdout], [7, "up\nstopped\n"]);
  });

  it("hands on all of its output, once and in order, though a link is cut meanwhile", async () => {
    const command = started("for i in $(seq 2000); do echo line $i; [ $((i % 100)) = 0 ] && sleep 0.2; done");
    await command.until(() => command.stdout.includes("line 200\n"));
    web2.place.cut();
    await sleep(2_500);
    web2.place.restore();
    const { status } = await command.endedWithin(60);
    assert.equal(status, 0, command.stderr);
    const lines = Array.from({ length: 2000 }, (_, at) => `line ${at + 1}\n`);
    assert.equal(command.stdout, lines.join(""));
  });

  it("waits while nobody reads what it writes, and all of it comes", async () => {
    const { status, stdout } = web1.drydock(["plan", "exec", plan, "--on", "web2", "--", "seq", "1000000"]);
    assert.equal(status, 0);
    assert.ok(stdout.startsWith("1\n2\n") && stdout.endsWith("\n999999\n1000000\n"));
    assert.equal(stdout.length, 6_888_896);
  });

  it("ends when the process that asked for it was killed", async () => {
    const command = started("echo up; exec sleep 1000");
    await command.until(() => command.stdout === "up\n");
    command.signal("SIGKILL");
    await command.endedWithin(60);
    assert.match(web1.drydock(["plan", "rollback", plan]).stderr, /On web2, .* is running in the plan/);
  });

  it("ends with the service of its host, which says so", async () => {
    const command = started("echo up; exec sleep 1000");
    await command.until(() => command.stdout === "up\n");
    await web2.end();
    const { status } = await command.endedWithin(60);
    assert.notEqual(status, 0);
    assert.match(command.stderr, /service of the host web2 was ended/);
    await web2.up();
  });
});
