import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openSqliteStore } from "../../src/store/sqlite-store.ts";
import { DAY, Later } from "./later.ts";
import { Workplace } from "./workplace.ts";

describe("what plans leave", () => {
  it("[W7] closed plans leave the store after their time, few at a start, and never one that can be undone", async () => {
    using place = new Later();
    await place.with(0, async ({ plans }) => {
      for (let at = 0; at < 25; at += 1) {
        const { id } = await plans.create({
          name: `p${at}`,
          resources: [{ location: "app", strategy: "filesystem_copy" }],
        });
        await plans.cancel(id);
      }
    });
    await place.applied("done");
    const left = (days: number) =>
      place.with(days, async ({ plans }) => (await plans.list({ all: true })).map(({ name }) => name));
    assert.equal((await left(89)).length, 26);
    assert.equal((await left(91)).length, 6);
    // Its undo record went with the first of these starts, which is the last that happened to it.
    assert.deepEqual(await left(91), ["done"]);
    assert.deepEqual(await left(178), ["done"]);
    assert.deepEqual(await left(180), []);
    await place.with(181, async ({ log }) => {
      await assert.rejects(log("done"), { code: "UNKNOWN_PLAN" });
    });
  });

  it("[W7] undo records are sized and freed early, and so are those whose removal was cut off", async () => {
    using place = new Later();
    await place.applied("one");
    await place.applied("two");
    await place.with(1, async ({ cleanup, plans }) => {
      const { undoRecords } = await cleanup.status();
      assert.equal(undoRecords.count, 2);
      assert.ok(undoRecords.bytes > 0);
      const store = await openSqliteStore({ stateDir: place.state });
      const { id: one } = await plans.find("one");
      const [landed] = await store.transactionsOf(one);
      assert.ok(landed);
      await store.write([{ put: "transaction", record: { ...landed, undoRecord: "discarding" } }], "durable");
      store.close();
      const [item, ...others] = await cleanup.scan();
      assert.deepEqual([item?.kind, others], ["undo record", []]);
      assert.equal((await cleanup.purge()).removed.length, 1);
      assert.equal(existsSync(item?.location ?? ""), false);
      assert.deepEqual(await cleanup.scan(), []);
      assert.equal((await cleanup.purge({ undoOlderThanMs: 2 * DAY })).removed.length, 0);
      const { removed } = await cleanup.purge({ undoOlderThanMs: DAY / 2 });
      assert.deepEqual(
        removed.map(({ kind, bytes = 0 }) => [kind, bytes > 0]),
        [["undo record", true]],
      );
      assert.equal((await cleanup.status()).undoRecords.bytes, 0);
      await assert.rejects(plans.undo("two"), /no longer|can't be undone|undo/);
    });
  });

  it("[W7] open plans that nobody used for long are found with their last use, size and owner", async () => {
    using place = new Later();
    place.done("plan", "create", "-r", "app=app,strategy=filesystem_copy", "--name", "old");
    assert.deepEqual(place.answer("cleanup", "scan").idlePlans, []);
    const [plan, ...others] = await place.with(15, ({ cleanup }) => cleanup.idlePlans());
    assert.deepEqual([plan?.name, others], ["old", []]);
    assert.ok((plan?.bytes ?? 0) > 0 && plan?.by !== "");
    const { idlePlans } = place.answer("cleanup", "scan", "--older-than", "0s");
    assert.equal(idlePlans[0].name, "old");
    assert.match(place.done("cleanup", "scan", "--older-than", "0s"), /nobody has used for long.*\n.* old /);
  });

  it("[W7] a sandbox that was removed by hand is not listed, and its record goes with the next purge", async () => {
    using place = new Later();
    place.write("drydock.yaml", "sandbox: { cleanup: manual }\n");
    const config = ["--config", join(place.path, "drydock.yaml")];
    place.done("plan", "create", ...config, "-r", "app=app,strategy=filesystem_copy", "--name", "p");
    place.done("plan", "cancel", ...config, "p");
    const [{ location }] = place.answer("cleanup", "scan", ...config).items;
    rmSync(location, { recursive: true });
    assert.deepEqual(place.answer("cleanup", "scan", ...config).items, []);
    place.done("cleanup", "purge", ...config);
    assert.equal(place.answer("cleanup", "status", ...config).sandboxes.count, 0);
  });
});

describe("the timer of systemd", () => {
  const units = (place: Workplace) => join(place.path, "config/systemd/user");
  const drydock = (place: Workplace, args: readonly string[], failpoint = "") =>
    place.drydock(["cleanup", ...args], {
      env: { XDG_CONFIG_HOME: join(place.path, "config"), DRYDOCK_FAILPOINT: failpoint },
    });

  it("[W7] is installed, runs what it says, and goes again", () => {
    using place = new Workplace();
    mkdirSync(join(place.path, "config"));
    assert.equal(drydock(place, ["install-timer"]).status, 0);
    const folder = units(place);
    const service = readFileSync(join(folder, "drydock-cleanup.service"), "utf8");
    const command = /^ExecStart=(.*)$/m.exec(service)?.[1] ?? "";
    assert.match(command, /"cleanup" "purge"$/);
    assert.match(execFileSync("sh", ["-c", command], { encoding: "utf8" }), /Nothing is left over/);
    assert.ok(existsSync(join(folder, "timers.target.wants/drydock-cleanup.timer")));
    const files = ["drydock-cleanup.service", "drydock-cleanup.timer"].map((name) => join(folder, name));
    const verified = spawnSync("systemd-analyze", ["--user", "verify", ...files], { encoding: "utf8" });
    // There is no systemd in a container.
    if (verified.error === undefined) assert.doesNotMatch(verified.stderr, /drydock-cleanup\S*:\d+:/);
    assert.equal(drydock(place, ["remove-timer"]).status, 0);
    assert.deepEqual(readdirSync(folder), ["timers.target.wants"]);
  });

  it("[W7] can be installed and removed again after a crash at any step", () => {
    using place = new Workplace();
    for (const point of ["timer.folder", "timer.write", "timer.enable"])
      assert.equal(drydock(place, ["install-timer"], `${point}=kill`).status, null, point);
    assert.equal(drydock(place, ["install-timer"]).status, 0);
    for (const point of ["timer.disable", "timer.remove"])
      assert.equal(drydock(place, ["remove-timer"], `${point}=kill`).status, null, point);
    assert.equal(drydock(place, ["remove-timer"]).status, 0);
    assert.deepEqual(readdirSync(units(place)), ["timers.target.wants"]);
  });
});
