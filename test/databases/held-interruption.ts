import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { it } from "node:test";
import { InterruptedError } from "../../src/core/errors/errors.ts";
import { program } from "../end-to-end/workplace.ts";
import type { TestServer } from "../support/database-servers.ts";
import { HeldScene, type ServerKind, until } from "./held-scene.ts";

/** Something that takes longer than any test, and how often the server is doing it. */
const LONG: { readonly [kind in ServerKind]: { readonly statement: string; readonly running: string } } = {
  postgres: {
    statement: "UPDATE T SET v = 'slow' WHERE id = 2 AND pg_sleep(6100) IS NOT NULL",
    running:
      "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(6100)%' AND pid <> pg_backend_pid() AND state = 'active'",
  },
  mariadb: {
    statement: "UPDATE T SET v = 'slow' WHERE id = 2 AND SLEEP(6100) = 0",
    running:
      "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(6100)%' AND id <> connection_id()",
  },
};

/** What an interruption does to statements that are running. */
export function describeInterruption(kind: ServerKind, server: () => TestServer): void {
  const { statement, running } = LONG[kind];

  for (const [what, script] of [
    ["a statement that changes something", statement],
    ["a script", `INSERT INTO T VALUES (3, 'three'); ${statement}; DELETE FROM T`],
    ["a query", kind === "postgres" ? "SELECT pg_sleep(6100)" : "SELECT SLEEP(6100)"],
  ] as const)
    it(`ends ${what} when it is interrupted, and goes on as it was before`, { timeout: 60_000 }, async () => {
      await using scene = await HeldScene.make(server());
      await scene.plan();
      await scene.run("UPDATE T SET v = 'changed' WHERE id = 1");
      const holder = scene.holder();
      const interruption = new AbortController();
      const asked = scene.with(
        ({ plans }) => plans.sql("p", "db", script.replaceAll(/\bT\b/g, scene.table)),
        {
          signal: interruption.signal,
        },
      );
      const refused = assert.rejects(asked, InterruptedError);
      await until(async () => (await server().sql(running)) === "1", "the server runs it");
      interruption.abort();
      await refused;
      assert.equal(await server().sql(running), "0", "the server still runs it");
      assert.equal(scene.holder(), holder);
      assert.equal(await scene.inside(), "1|changed 2|two");
      await scene.run("INSERT INTO T VALUES (4, 'later')");
      await scene.with(({ plans }) => plans.apply("p"));
      assert.equal(await scene.original(), "1|changed 2|two 4|later");
    });

  it("[W4] ends a statement that gives more than is taken, and goes on as it was before", {
    timeout: 60_000,
  }, async () => {
    await using scene = await HeldScene.make(server());
    await scene.plan();
    await scene.run("UPDATE T SET v = 'changed' WHERE id = 1");
    const holder = scene.holder();
    const rows = kind === "postgres" ? "generate_series(1, 300)" : "information_schema.columns LIMIT 300";
    await assert.rejects(
      scene.run(`INSERT INTO T VALUES (3, 'three'); SELECT repeat('x', 1000000) FROM ${rows}`),
      {
        code: "TOO_LARGE",
      },
    );
    assert.equal(scene.holder(), holder);
    assert.equal(await scene.inside(), "1|changed 2|two");
  });

  for (const [how, signal, failpoint] of [
    ["killed", "SIGKILL", ""],
    ["killed when Ctrl-C has it ask for the end of it", "SIGINT", "held.cancel=kill"],
  ] as const)
    it(`[A1] ends a statement whose command is ${how}, and goes on as it was before`, {
      timeout: 60_000,
    }, async () => {
      await using scene = await HeldScene.make(server());
      await scene.plan();
      await scene.run("UPDATE T SET v = 'changed' WHERE id = 1");
      const holder = scene.holder();
      const script = `INSERT INTO T VALUES (3, 'three'); ${statement}`.replaceAll(/\bT\b/g, scene.table);
      const args = ["plan", "sql", "p", "db", "-c", script, "--state-dir", scene.stateDir];
      const command = spawn(program, args, {
        stdio: "ignore",
        env: { ...process.env, DRYDOCK_FAILPOINT: failpoint },
      });
      const ended = once(command, "exit");
      await until(async () => (await server().sql(running)) === "1", "the server runs it");
      command.kill(signal);
      assert.deepEqual(await ended, [null, "SIGKILL"]);
      await until(async () => (await server().sql(running)) === "0", "the server has ended it");
      assert.equal(scene.holder(), holder);
      assert.equal(await scene.inside(), "1|changed 2|two");
      await scene.with(({ plans }) => plans.apply("p"));
      assert.equal(await scene.original(), "1|changed 2|two");
    });
}
