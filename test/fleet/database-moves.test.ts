import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { asUser, postgresProgram, TestPostgres, whyNoServer } from "../support/database-servers.ts";
import { itInLongForm } from "../support/long-form.ts";
import { planOverBoth, TestHost } from "./fleet-scene.ts";

/** A server that follows another one. */
class Standby extends TestPostgres {
  async follow(primary: TestPostgres): Promise<void> {
    appendFileSync(join(primary.data, "pg_hba.conf"), "local replication all trust\n");
    await primary.sql("SELECT pg_reload_conf()");
    const from = `host=${join(primary.folder, "own")} user=admin application_name=standby`;
    program("pg_basebackup", "-d", from, "-D", this.data, "-R", "--checkpoint=fast");
    await this.start();
  }
}

/** Runs a program of PostgreSQL. */
function program(name: string, ...args: readonly string[]): Buffer {
  const [file = "", ...words] = asUser(postgresProgram(name), args);
  const { status, stdout, stderr } = spawnSync(file, words, { cwd: "/", maxBuffer: 1 << 28 });
  assert.equal(status, 0, stderr.toString());
  return stdout;
}

/** Two hosts that are up, and a plan with a change on each. */
async function changedPlan(web1: TestHost, web2: TestHost): Promise<string> {
  for (const host of [web1, web2]) {
    host.folder("app", { "a.txt": "old\n" });
    await host.up();
  }
  return planOverBoth(web1, web2);
}

describe("the database of a fleet that goes elsewhere", { skip: whyNoServer("postgres") ?? false }, () => {
  itInLongForm(
    "[M2] takes open plans along in a dump, and the one before is refused from then on",
    async () => {
      const [before, after] = [new TestPostgres(), new TestPostgres()];
      await before.startFilled();
      await after.startFilled();
      using web1 = new TestHost("web1", before.url());
      using web2 = new TestHost("web2", before.url());
      try {
        const plan = await changedPlan(web1, web2);
        for (const host of [web1, web2]) await host.end();
        const dump = program("pg_dump", "-h", join(before.folder, "own"), "-U", "admin", "app").toString();
        const words = asUser(postgresProgram("psql"), [
          "-q",
          "-h",
          join(after.folder, "own"),
          "-U",
          "admin",
          "app",
        ]);
        const { status, stderr } = spawnSync(words[0] ?? "", words.slice(1), { input: dump, cwd: "/" });
        assert.equal(status, 0, stderr.toString());
        for (const host of [web1, web2]) {
          host.url = after.url();
          await host.up();
        }
        web1.done("plan", "apply", plan);
        assert.deepEqual([web1.text("app/a.txt"), web2.text("app/a.txt")], ["new\n", "new\n"]);
        await web1.end();
        web1.url = before.url();
        const refused = web1.drydock(["host", "start"]);
        assert.notEqual(refused.status, 0);
        assert.match(refused.stderr, /The host web1 can't start here/);
      } finally {
        for (const host of [web1, web2]) await host.kill();
        for (const server of [before, after]) server.remove();
      }
    },
  );

  itInLongForm("[M2] keeps a decision when a synchronous standby takes over", async () => {
    const [primary, standby] = [new TestPostgres(["wal_level=replica"]), new Standby()];
    await primary.startFilled();
    using web1 = new TestHost("web1", primary.url());
    using web2 = new TestHost("web2", primary.url());
    try {
      const plan = await changedPlan(web1, web2);
      await standby.follow(primary);
      assert.match(web1.drydock(["doctor"]).stdout, /no {2}fleet database .*may not see whether/);
      await primary.sql("GRANT pg_read_all_stats TO owner");
      assert.match(web1.drydock(["doctor"]).stdout, /no {2}fleet database .*is not synchronous/);
      await primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
      await primary.sql("SELECT pg_reload_conf()");
      await primary.sql("CREATE TABLE waits_for_standby ()");
      assert.match(web1.drydock(["doctor"]).stdout, /ok {2}fleet database/);
      const command = web1.start(["plan", "apply", plan], { DRYDOCK_FAILPOINT: "fleet.decided=stop" });
      await command.stopped();
      await primary.crash();
      command.signal("SIGKILL");
      for (const host of [web1, web2]) await host.kill();
      await standby.sql("SELECT pg_promote()");
      await standby.sql("ALTER SYSTEM SET synchronous_standby_names = ''");
      await standby.sql("SELECT pg_reload_conf()");
      for (const host of [web1, web2]) {
        host.url = standby.url();
        await host.up();
      }
      const isLanded = () => [web1, web2].every((host) => host.text("app/a.txt") === "new\n");
      await web1.service?.until(isLanded);
    } finally {
      for (const host of [web1, web2]) await host.kill();
      for (const server of [primary, standby]) server.remove();
    }
  });
});
