import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { whyNoServer } from "../support/database-servers.ts";
import { itInLongForm } from "../support/long-form.ts";
import { FleetScene, type TestHost } from "./fleet-scene.ts";

const skip = whyNoServer("postgres") ?? false;
let fleet: FleetScene;
let web1: TestHost;
let web2: TestHost;
let plans = 0;

/** Steps of the start of a host. */
const STARTING = [
  ...["fleet.folder", "host.directory", "host.join", "host.serve", "host.pending-start", "host.register"],
  ...["host.started", "host.lease"],
];
/** Steps of the service of a host while it does what it is asked to. */
const SERVING = [
  ...["call.take", "host.lock", "host.note", "host.noted", "host.run", "host.ran", "call.answer"],
];
/** Steps of the process that drives. */
const DRIVING = [
  ...["fleet.begin", "fleet.began", "drive.calls", "drive.called", "fleet.save", "fleet.saved"],
  ...["fleet.decide", "fleet.decided"],
];

interface ChangedPlan {
  readonly id: string;
  readonly files: readonly [string, string];
}

/** A plan over folders of its own on both hosts, with a change in each. */
function changedPlan(): ChangedPlan {
  plans += 1;
  const [app, worker] = [`app${plans}`, `worker${plans}`];
  web1.folder(app, { file: "old" });
  web2.folder(worker, { file: "old" });
  const there = `web2:${web2.path}/${worker}`;
  const { id, resources } = web1.answer("plan", "create", "-r", `${web1.path}/${app}`, "-r", there);
  writeFileSync(join(resources[0].path, "file"), "new");
  const written = web1.drydock(["plan", "write", id, worker, "file"], { input: "new" });
  assert.equal(written.status, 0, written.stderr);
  return { id, files: [join(web1.path, app, "file"), join(web2.path, worker, "file")] };
}

/** Both have landed, or neither has, and the plan says which, once nothing of it is under way. */
async function assertWhole({ id, files }: ChangedPlan, what: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const { state, waits } = web1.answer("plan", "show", id);
    if (state !== "applying" && state !== "open" && state !== "applied") assert.fail(`${what}: ${state}`);
    if (state !== "applying") {
      const text = state === "applied" ? "new" : "old";
      assert.deepEqual(
        files.map((file) => web1.readAt(file)),
        [text, text],
        `${what}: ${state}`,
      );
      return;
    }
    assert.ok(tries < 240, `${what}: it never ends: ${JSON.stringify(waits)}`);
    await sleep(500);
  }
}

function killAt(point: string): NodeJS.ProcessEnv {
  return { DRYDOCK_FAILPOINT: `${point}=kill` };
}

/** Runs a command that dies at this step. */
function dies(host: TestHost, args: readonly string[], point: string): void {
  const { status, stderr } = host.run(join(import.meta.dirname, "../../bin/drydock"), args, {
    env: killAt(point),
  });
  assert.equal(status, null, `${args.join(" ")} did not die at ${point}: ${stderr}`);
}

describe("a fleet of which a process dies", { skip }, () => {
  before(async () => {
    fleet = await FleetScene.start();
    [web1, web2] = [fleet.host("web1"), fleet.host("web2")];
    await web1.up();
    await web2.up();
  });
  after(async () => await fleet.end());

  it("[M2] [M7] lands everything or nothing wherever those who drive die, and the host that takes over", async () => {
    const driven = DRIVING.map((point) => ({ point, plan: changedPlan() }));
    await web1.end();
    await web1.up(killAt("fleet.take-over"));
    const service = web1.service;
    const applies = driven.map(({ point, plan }) =>
      web1.start(["plan", "apply", plan.id], killAt(`${point}:1`)),
    );
    for (const apply of applies) await apply.endedWithin(120);
    await service?.endedWithin(60);
    await web1.up();
    for (const { point, plan } of driven) await assertWhole(plan, point);
  });

  it("[M2] [M6] lands everything or nothing though a host dies again and again at its work", async () => {
    const ready = Array.from({ length: SERVING.length + 1 }, changedPlan);
    const begun: ChangedPlan[] = [];
    const applyNext = () => {
      const plan = ready[begun.length];
      assert.ok(plan !== undefined, "it met too few of its steps");
      begun.push(plan);
      return web1.start(["plan", "apply", plan.id]);
    };
    let apply = applyNext();
    for (const point of SERVING) {
      await web2.end();
      const service = web2.begin(killAt(point));
      while (!service.hasEnded) {
        if (apply.hasEnded) apply = applyNext();
        await sleep(20);
      }
    }
    await web2.up();
    if (!apply.hasEnded) await apply.endedWithin(120);
    for (const plan of begun) await assertWhole(plan, "dying hosts");
  });

  it("starts again after it died at any step of its start, and at the renewal of its lease", async () => {
    const web3 = fleet.host("web3");
    for (const point of STARTING) dies(web3, ["host", "start"], point);
    await web3.up();
    await web3.end();
    dies(web3, ["host", "start"], "host.renew");
    await web3.up(killAt("host.leave"));
    const service = web3.service;
    const ended = service?.endedWithin(60);
    service?.signal("SIGTERM");
    assert.equal((await ended)?.status, null);
    await web3.up();
    dies(web1, ["host", "drain", "web3"], "host.drain");
    web1.done("host", "drain", "web3");
    await web3.end();
    const away = ["plan", "create", "-r", `web3:${web3.path}`];
    for (const point of ["call.send", "call.cancel"]) dies(web1, away, point);
    assert.equal(web1.drydock(away).status, 1);
    dies(web1, ["host", "remove", "web3"], "host.remove");
    web1.done("host", "remove", "web3");
  });

  it("forgets what it noted once no call can come any more, also if it dies at that", async () => {
    web1.done("plan", "apply", changedPlan().id);
    await web2.end();
    dies(web2, ["host", "start"], "host.forget-note");
    await web2.up();
  });

  it("installs the unit of a host whole, or not at all", () => {
    const unit = join(web1.path, "home/.config/systemd/user/drydock-host.service");
    for (const point of ["host-unit.folder", "host-unit.write", "host-unit.enable"]) {
      dies(web1, ["host", "start", "--install"], point);
      assert.equal(existsSync(unit), point === "host-unit.enable", point);
    }
    web1.done("host", "start", "--install");
    assert.match(web1.readAt(unit), /"--config" ".*drydock\.yaml" "host" "start"/);
  });

  it("[M7] is driven by another host if the host of its driver dies with it", async () => {
    const plan = changedPlan();
    const [app = "", worker = ""] = plan.files;
    web1.drydock(["plan", "apply", plan.id], { env: killAt("fleet.decided") });
    await web1.kill();
    // It lands on the host that lives, and waits for the other one.
    for (let tries = 0; web2.readAt(worker) !== "new"; tries += 1) {
      assert.ok(tries < 240, "it never lands");
      await sleep(500);
    }
    assert.equal(web1.readAt(app), "old");
    const [first] = web2.answer("plan", "show", plan.id).waits;
    assert.deepEqual([first.host, first.to, first.isUp], ["web1", "land", false]);
    await web1.up();
    await assertWhole(plan, "taken over");
  });

  for (const point of SERVING)
    for (const pass of [1, 2, 3, 4, 5, 6])
      itInLongForm(`[M2] [M6] lands everything or nothing if a host dies at ${point}:${pass}`, async () => {
        const plan = changedPlan();
        await web2.end();
        await web2.up(killAt(`${point}:${pass}`));
        const { service } = web2;
        const apply = web1.start(["plan", "apply", plan.id]);
        const ended = apply.endedWithin(120);
        while (service?.hasEnded !== true && !apply.hasEnded) await sleep(20);
        if (service?.hasEnded !== true) await web2.end();
        await web2.up();
        await ended;
        await assertWhole(plan, point);
      });

  for (const point of DRIVING)
    for (const pass of [2, 3, 4, 5])
      itInLongForm(
        `[M2] [M7] lands everything or nothing if its driver dies at ${point}:${pass}`,
        async () => {
          const plan = changedPlan();
          web1.drydock(["plan", "apply", plan.id], { env: killAt(`${point}:${pass}`) });
          await assertWhole(plan, point);
        },
      );
});
