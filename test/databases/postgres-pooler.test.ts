import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { asUser, OWNER, type TestServer, whyNoServer } from "../support/database-servers.ts";
import { HeldScene, startServer, until } from "./held-scene.ts";

const whyNoPooler =
  spawnSync("pgbouncer", ["--version"]).error === undefined ? undefined : "pgbouncer is missing";

describe("a pooler before PostgreSQL", { skip: whyNoServer("postgres") ?? whyNoPooler ?? false }, () => {
  let server: TestServer;
  const poolers: ChildProcess[] = [];
  before(async () => {
    server = await startServer("postgres");
  });
  after(() => {
    for (const pooler of poolers) pooler.kill();
    server?.remove();
  });

  /** Starts one; the URL that leads through it. */
  async function pooler(mode: "transaction" | "session", sessions: number): Promise<string> {
    const folder = join(server.folder, `${mode}-${sessions}`);
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    const lines = [
      "[databases]",
      `app = host=${join(server.folder, "own")} dbname=app user=${OWNER.user} password='${OWNER.password}' pool_size=${sessions}`,
      "[pgbouncer]",
      `listen_addr =\nunix_socket_dir = ${folder}\nlisten_port = 6432\nauth_type = plain\nauth_file = ${folder}/users`,
      `pool_mode = ${mode}\nlogfile = ${folder}/log\npidfile = ${folder}/pid`,
    ];
    writeFileSync(join(folder, "users"), `"${OWNER.user}" "${OWNER.password}"\n`);
    writeFileSync(join(folder, "settings"), `${lines.join("\n")}\n`);
    const [program = "", ...args] = asUser("pgbouncer", [join(folder, "settings")]);
    poolers.push(spawn(program, args, { stdio: "ignore" }));
    await until(() => existsSync(join(folder, ".s.PGSQL.6432")), "the pooler is up");
    return `postgres://${OWNER.user}:${encodeURIComponent(OWNER.password)}@/app?host=${encodeURIComponent(folder)}&port=6432`;
  }

  for (const [mode, sessions, note] of [
    [
      "transaction",
      5,
      /can only land in one step \(a pooler in between gives each transaction another session\)/,
    ],
    [
      "transaction",
      1,
      /can only land in one step \(a pooler in between gives each transaction another session\)/,
    ],
    ["session", 5, /^it can't be undone/m],
  ] as const)
    it(`that gives a session for each ${mode}, and has ${sessions}, is found when the plan is made`, async () => {
      await using scene = await HeldScene.make(server);
      const location = await pooler(mode, sessions);
      const plan = await scene.with(({ plans }) =>
        plans.create({ name: "p", resources: [{ location, name: "db" }] }),
      );
      assert.match(plan.resources[0]?.notes?.join("\n") ?? "", note);
      await scene.run("UPDATE T SET v = 'through'");
      await scene.with(({ plans }) => plans.apply("p", { allowIrreversible: mode === "transaction" }));
      assert.equal(await scene.original(), "1|through 2|through");
    });
});
