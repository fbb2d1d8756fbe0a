import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assertRefused } from "../end-to-end/workplace.ts";
import { whyNoServer } from "../support/database-servers.ts";
import { FleetScene, type TestHost } from "./fleet-scene.ts";

const skip = whyNoServer("postgres") ?? false;
let fleet: FleetScene;

/** Two hosts that are up, with a folder each. */
async function twoHosts(): Promise<{ readonly web1: TestHost; readonly web2: TestHost }> {
  const [web1, web2] = [fleet.host("web1"), fleet.host("web2")];
  web1.folder("app", { "a.txt": "old\n" });
  web2.folder("worker", { "b.txt": "old\n" });
  await web1.up();
  await web2.up();
  return { web1, web2 };
}

/** A plan over both, made on the first, with a change in each. */
function changedPlan(web1: TestHost, web2: TestHost): string {
  const app = `${web1.path}/app`;
  const worker = `web2:${web2.path}/worker`;
  const { id } = web1.answer("plan", "create", "-r", app, "-r", `worker=${worker}`);
  for (const [resource, path] of [
    ["app", "a.txt"],
    ["worker", "b.txt"],
  ] as const) {
    const { status, stderr } = web1.drydock(["plan", "write", id, resource, path], { input: "new\n" });
    assert.equal(status, 0, stderr);
  }
  return id;
}

describe("a plan over two hosts", { skip }, () => {
  before(async () => {
    fleet = await FleetScene.start();
  });
  afterEach(async () => await fleet.clear());
  after(async () => await fleet.end());

  it("[M2] is made, changed, shown, applied and undone", async () => {
    const { web1, web2 } = await twoHosts();
    const id = changedPlan(web1, web2);
    assert.equal(web2.text("worker/b.txt"), "old\n");
    const diff = web1.answer("plan", "diff", id);
    assert.deepEqual(
      diff.changes.map(({ resource, path }: { resource: string; path: string }) => [resource, path]),
      [
        ["app", "a.txt"],
        ["worker", "b.txt"],
      ],
    );
    assert.equal(web1.done("plan", "read", id, "worker", "b.txt"), "new\n");
    web1.done("plan", "apply", id);
    assert.equal(web1.text("app/a.txt"), "new\n");
    assert.equal(web2.text("worker/b.txt"), "new\n");
    web1.done("plan", "undo", id);
    assert.equal(web1.text("app/a.txt"), "old\n");
    assert.equal(web2.text("worker/b.txt"), "old\n");
  });

  it("keeps checkpoints, files and commands on the host of each resource", async () => {
    const { web1, web2 } = await twoHosts();
    const id = changedPlan(web1, web2);
    web1.done("plan", "checkpoint", id, "--label", "first");
    const big = "x".repeat(3_000_000);
    const written = web1.drydock(["plan", "write", id, "worker", "big.bin"], { input: big });
    assert.equal(written.status, 0, written.stderr);
    assert.equal(web1.done("plan", "read", id, "worker", "big.bin"), big);
    web1.done("plan", "mv", id, "worker", "big.bin", "moved.bin");
    assert.match(web1.done("plan", "ls", id, "worker"), /moved\.bin/);
    const ran = web1.drydock(["plan", "exec", id, "--on", "web2", "--", "sh", "-c", "pwd; echo ran > c.txt"]);
    assert.deepEqual([ran.status, ran.stdout.trim()], [0, `${web2.path}/worker`], ran.stderr);
    assert.equal(web1.done("plan", "read", id, "worker", "c.txt"), "ran\n");
    web1.done("plan", "restore", id, "first");
    assert.doesNotMatch(web1.done("plan", "ls", id, "worker"), /moved|c\.txt/);
    web1.done("plan", "rollback", id);
    assert.equal(web1.done("plan", "diff", id, "--name-only"), "");
    web1.done("plan", "cancel", id);
    assert.equal(web2.text("worker/b.txt"), "old\n");
    assert.deepEqual(web2.answer("cleanup", "scan").items, []);
  });

  it("is refused as a whole for a conflict on one host, with exit code 3 and the path", async () => {
    const { web1, web2 } = await twoHosts();
    const id = changedPlan(web1, web2);
    web2.write("worker/b.txt", "of another writer\n");
    const { status, stderr } = web1.drydock(["plan", "apply", id]);
    assert.equal(status, 3, stderr);
    assert.match(stderr, /b\.txt/);
    assert.equal(web1.text("app/a.txt"), "old\n");
    assert.equal(web1.answer("plan", "show", id).state, "open");
    const dry = web1.drydock(["plan", "apply", id, "--dry-run"]);
    assert.equal(dry.status, 3, dry.stderr);
  });

  it("[M9] says what waits for a host that is gone, and a person may give it up", async () => {
    const { web1, web2 } = await twoHosts();
    const id = changedPlan(web1, web2);
    await web2.end();
    await web2.up({ DRYDOCK_FAILPOINT: "host.run:2=kill" });
    const { status, stderr } = web1.drydock(["plan", "apply", id]);
    assert.equal(status, 4, stderr);
    assert.match(stderr, /web2/);
    assert.equal(web1.text("app/a.txt"), "new\n");
    assert.match(
      web1.done("plan", "show", id),
      /waits for\s+web2 to land worker since .*; it is not up since/,
    );
    assert.match(web1.done("host", "show", "web2"), /waited for\s+app-\w+ \(\w+\) is applying since/);
    assertRefused(web1.drydock(["host", "remove", "web2"]), 1, /Plans wait for the host web2/);
    const killed = web1.drydock(["recover", id, "--abort"], {
      env: { DRYDOCK_FAILPOINT: "fleet.give-up=kill" },
    });
    assert.equal(killed.status, null, killed.stderr);
    assert.equal(web1.text("app/a.txt"), "new\n");
    assert.equal(web1.drydock(["recover", id, "--abort"]).status, 4);
    assert.equal(web1.text("app/a.txt"), "old\n");
    await web2.up();
    for (let tries = 0; web1.answer("plan", "show", id).state !== "open"; tries += 1) {
      assert.ok(tries < 60, "it never ends");
      await sleep(500);
    }
    assert.equal(web2.text("worker/b.txt"), "old\n");
    assert.equal(web1.done("plan", "read", id, "worker", "b.txt"), "new\n");
  });
});

describe("calls to a host", { skip }, () => {
  before(async () => {
    fleet = await FleetScene.start();
  });
  afterEach(async () => await fleet.clear());
  after(async () => await fleet.end());

  it("[M5] change nothing when they come once more, late, after their transaction is over", async () => {
    const { web1, web2 } = await twoHosts();
    const id = changedPlan(web1, web2);
    web1.done("plan", "apply", id);
    web1.done("plan", "undo", id);
    const again = `SET search_path TO drydock; UPDATE calls SET state = 'queued', taken_by = NULL, answer = NULL,
      deadline = clock_timestamp() + interval '1 hour'`;
    await fleet.server.sql(again);
    await web2.end();
    await web2.up();
    await answered();
    assert.deepEqual([web1.text("app/a.txt"), web2.text("worker/b.txt")], ["old\n", "old\n"]);
    assert.equal(web1.answer("plan", "show", id).state, "undone");
    // Of a second time, the deadline has passed.
    await fleet.server.sql(again.replace("+ interval", "- interval"));
    await web2.end();
    await web2.up();
    await answered();
    assert.deepEqual([web1.text("app/a.txt"), web2.text("worker/b.txt")], ["old\n", "old\n"]);
  });

  it("[M10] are refused if they come from another version, before anything is prepared", async () => {
    const { web1, web2 } = await twoHosts();
    const id = changedPlan(web1, web2);
    await fleet.server.sql(`CREATE FUNCTION drydock.newer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      NEW.envelope := replace(NEW.envelope, '"contract":1', '"contract":2'); RETURN NEW; END $$;
      CREATE TRIGGER newer BEFORE INSERT ON drydock.calls FOR EACH ROW
      WHEN (NEW.host = 'web2' AND NEW.envelope LIKE '%"prepare"%') EXECUTE FUNCTION drydock.newer()`);
    const { status, stderr } = web1.drydock(["plan", "apply", id]);
    assert.equal(status, 1, stderr);
    assert.match(stderr, /its host refused: its Drydock has another version/);
    assert.deepEqual([web1.text("app/a.txt"), web2.text("worker/b.txt")], ["old\n", "old\n"]);
  });

  it("[M8] are refused if they say that they only look, and name a method that changes something", async () => {
    const { web1, web2 } = await twoHosts();
    const id = changedPlan(web1, web2);
    await fleet.server.sql(`CREATE FUNCTION drydock.disguise() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      NEW.envelope := replace(NEW.envelope, '"kind":"change"', '"kind":"look"'); RETURN NEW; END $$;
      CREATE TRIGGER disguise BEFORE INSERT ON drydock.calls FOR EACH ROW
      WHEN (NEW.envelope LIKE '%"name":"rollback"%') EXECUTE FUNCTION drydock.disguise()`);
    const { stderr } = web1.drydock(["plan", "rollback", id]);
    assert.match(stderr, /web2 knows no such method to call: 'rollback'/);
    assert.equal(web1.done("plan", "read", id, "worker", "b.txt"), "new\n");
  });
});

/** Waits until every call is answered. */
async function answered(): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const open = await fleet.server.sql(
      "SELECT count(*) FROM drydock.calls WHERE state NOT IN ('answered', 'cancelled')",
    );
    if (open === "0") return;
    assert.ok(tries < 120, `${open} calls are not answered`);
    await sleep(500);
  }
}

/** Sets what commits of the fleet's database wait for. */
async function setCommits(value: "on" | "off"): Promise<void> {
  await fleet.server.sql(
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = ${value}', current_database()); END $$`,
  );
}

describe("a host of a fleet", { skip }, () => {
  before(async () => {
    fleet = await FleetScene.start();
  });
  afterEach(async () => await fleet.clear());
  after(async () => await fleet.end());

  it("[M8] uses only what it lends, and runs commands only where it says so", async () => {
    const [web1, web2] = [fleet.host("web1"), fleet.host("web2", [])];
    const folder = web2.folder("worker", { "b.txt": "old\n" });
    await web1.up();
    await web2.up();
    const create = ["plan", "create", "-r", `web2:${folder}`];
    assertRefused(web1.drydock(create), 1, /web2 refused: it does not lend .*worker/, /fleet\.lend/);
    await web2.end();
    web2.lend([{ location: folder }]);
    await web2.up();
    const { id } = web1.answer(...create);
    assertRefused(
      web1.drydock(["plan", "exec", id, "--on", "web2", "--", "true"]),
      1,
      /it lets no commands of other hosts run/,
    );
    web1.done("host", "drain", "web2");
    assertRefused(web1.drydock(create), 1, /web2 is drained/);
    web1.done("host", "drain", "web2", "--undo");
    web1.done("plan", "cancel", id);
  });

  it("has a name of its own, and only one process serves it", async () => {
    const [web1, other] = [fleet.host("web1"), fleet.host("web1")];
    await web1.up();
    assertRefused(other.drydock(["host", "start"]), 1, /The name web1 belongs to another host/);
    assertRefused(web1.drydock(["host", "start"]), 1, /web1 is up already/);
    const ended = await web1.end();
    assert.equal(ended?.status, 0, ended?.stderr);
    assert.equal(web1.answer("host", "show").isUp, false);
  });

  it("learns from doctor what its fleet lacks: a service, a host, durable commits, the database", async () => {
    const [web1, web2] = [fleet.host("web1"), fleet.host("web2")];
    await web1.up();
    await web2.up();
    const checks = () =>
      JSON.parse(web1.drydock(["doctor", "--json"]).stdout)
        .checks.filter(({ name }: { name: string }) => name.startsWith("fleet"))
        .map(({ ok, detail }: { ok: boolean; detail: string }) => [ok, detail]);
    const [service, others, [isDurable, version]] = checks();
    assert.deepEqual(service, [true, "the service of this host, web1, is up"]);
    assert.deepEqual(others, [true, "the other host is up"]);
    assert.equal(isDurable, true, version);
    await web1.end();
    await web2.end();
    await setCommits("off");
    try {
      const [noService, noHost, notDurable] = checks();
      assert.equal(noService[0], false);
      assert.match(noHost[1], /^web2 is not up since \d/);
      assert.match(notDurable[1], /synchronous_commit is off, so a crash of its machine can lose decisions/);
    } finally {
      await setCommits("on");
    }
    await fleet.server.crash();
    assert.match(checks()[0]?.[1], /can't be reached/);
    await fleet.server.start();
  });

  it("is told at once that a host is not up, or that there is none of that name", async () => {
    const web1 = fleet.host("web1");
    const app = web1.folder("app", { "a.txt": "old\n" });
    await web1.up();
    assertRefused(web1.drydock(["plan", "create", "-r", `web9:${app}`]), 2, /no host called 'web9'/, /web1/);
    await web1.end();
    web1.done("plan", "create", "-r", app);
    assertRefused(web1.drydock(["host", "show", "web9"]), 2, /no host called 'web9'/, /web1/);
  });

  it("works alone by --local, with a state of its own, also if the database is out of reach", async () => {
    const web1 = fleet.host("web1");
    const app = web1.folder("app", { "a.txt": "old\n" });
    web1.done("plan", "create", "-r", app, "--name", "shared");
    web1.done("plan", "create", "-r", app, "--name", "own", "--local");
    const names = (...args: readonly string[]) =>
      web1.answer("plan", "list", ...args).plans.map(({ name }: { name: string }) => name);
    assert.deepEqual([names(), names("--local")], [["shared"], ["own"]]);
    assert.deepEqual(web1.answer("cleanup", "scan").items, []);
    assert.deepEqual(web1.answer("cleanup", "scan", "--local").items, []);
    const env = { FLEET_URL: "postgres://nobody@127.0.0.1:1/none" };
    assertRefused(web1.drydock(["plan", "list"], { env }), 1, /127\.0\.0\.1:1/);
    assert.equal(web1.drydock(["plan", "list", "--local"], { env }).status, 0);
  });

  it("[M11] without a fleet nothing of it is loaded", async () => {
    const web1 = fleet.host("web1");
    const app = web1.folder("app", { "a.txt": "old\n" });
    web1.write("drydock.yaml", "sandbox: {}\n");
    const traced = web1.shell(
      `strace -f -qq -e trace=openat,connect -o trace "$DRYDOCK" plan create -r ${app} && cat trace`,
    );
    assert.equal(traced.status, 0, traced.stderr);
    assert.doesNotMatch(traced.stdout, /AF_INET/);
    const loaded = traced.stdout.matchAll(/"([^"]+\/dist\/program\/[^"]+\.js)"/g);
    const files = [...new Set([...loaded].map(([, file = ""]) => file))];
    assert.ok(files.length > 3, traced.stdout);
    const withFleet = files.filter((file) =>
      /fleet_transactions|SASLInitialResponse/.test(web1.readAt(file)),
    );
    assert.deepEqual(withFleet, []);
  });
});
