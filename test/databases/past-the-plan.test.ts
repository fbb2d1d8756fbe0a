import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ACTORS, Stage } from "../run/stage.ts";
import { OWNER, postgresProgram, type TestServer, whyNoServer } from "../support/database-servers.ts";
import { startServer } from "./held-scene.ts";

/** Passes connections on from a port of the loopback to a socket, and says which port. */
const FORWARDER = `
  const net = require("node:net");
  const server = net.createServer((from) => {
    const to = net.connect(process.argv[1]);
    for (const [one, other] of [[from, to], [to, from]]) one.on("error", () => other.destroy());
    from.pipe(to).pipe(from);
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

describe("the server of a database that a plan holds", { skip: whyNoServer("postgres") ?? false }, () => {
  let server: TestServer;
  const ports: { readonly child: ChildProcess; readonly port: string }[] = [];
  before(async () => {
    server = await startServer("postgres");
    await server.sql("CREATE TABLE t (v text)");
    const socket = join(server.folder, "own", ".s.PGSQL.5432");
    for (let count = 0; count < 2; count += 1) {
      const child = spawn(process.execPath, ["-e", FORWARDER, socket], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [said] = await once(child.stdout, "data");
      ports.push({ child, port: String(said).trim() });
    }
  });
  after(() => {
    for (const { child } of ports) child.kill("SIGKILL");
    server?.remove();
  });

  for (const actor of ACTORS)
    it(`[B1][I12] is not reached past the plan by a tool that has its address, alone or beside another command, and that is named; as ${actor}`, async () => {
      using stage = new Stage(actor);
      const [guarded, other] = ports.map(({ port }) => port);
      const password = encodeURIComponent(OWNER.password);
      const urlAt = (port = "", host = "127.0.0.1") =>
        `postgres://${OWNER.user}:${password}@${host}:${port}/app`;
      const psql = `${postgresProgram("psql")} -X -q -A -t`;
      const insert = (url: string) => `${psql} -d '${url}' -c "INSERT INTO t VALUES ('past')"`;
      const socket = `postgres:///app?host=${join(server.folder, "own")}&user=${OWNER.user}&password=${password}`;
      stage.write("project/drydock.yaml", `resources: { db: { location: "${urlAt(guarded)}" } }\n`);
      stage.give();
      stage.done("trust");
      stage.done("plan", "create", "-r", "db", "--name", "p");
      const inside = (script: string, ...options: readonly string[]) =>
        stage.drydock(["plan", "exec", "p", ...options, "--", "sh", "-c", script]);

      const tried = inside(`${insert(urlAt(guarded))}; ${insert(urlAt(guarded, "localhost"))}; true`);
      assert.equal(tried.status, 0, tried.stderr);
      assert.match(tried.stderr, /127[.]0[.]0[.]1.*failed: Permission denied/);
      assert.match(tried.stderr, new RegExp(`past the plan.*127[.]0[.]0[.]1 port ${guarded} [(]db[)]`));
      assert.equal(await server.sql("SELECT count(*) FROM t"), "0");

      const through = inside(
        `${psql} -c "INSERT INTO t VALUES ('through')" && ${psql} -d '${urlAt(other)}' -c 'SELECT 7'`,
      );
      assert.deepEqual([through.status, through.stdout], [0, "7\n"], through.stderr);
      assert.doesNotMatch(through.stderr, /past the plan/);

      const beside = stage.start(["plan", "exec", "p", "--", "sh", "-c", "echo up; read end"]);
      await beside.until(() => beside.stdout === "up\n");
      const joined = inside(`${psql} -c 'SELECT 8'; ${insert(urlAt(guarded))}; true`);
      assert.deepEqual([joined.status, joined.stdout], [0, "8\n"], joined.stderr);
      assert.match(joined.stderr, new RegExp(`past the plan.*127[.]0[.]0[.]1 port ${guarded} [(]db[)]`));
      beside.input("\n");
      assert.equal((await beside.ended()).status, 0);
      assert.equal(await server.sql("SELECT count(*) FROM t"), "0");

      stage.write("home/.config/drydock/config.yaml", "run: { network: { databases: true } }\n");
      stage.give();
      const allowed = inside(insert(urlAt(guarded)));
      assert.equal(allowed.status, 0, allowed.stderr);
      assert.equal(await server.sql("SELECT v FROM t"), "past");
      stage.write("home/.config/drydock/config.yaml", "run: {}\n");
      stage.done("plan", "cancel", "p", "--force");
      await server.sql("TRUNCATE t");
      stage.write("project/drydock.yaml", `resources: { db: { location: "${server.url()}" } }\n`);
      stage.give();
      stage.done("trust");
      stage.done("plan", "create", "-r", "db", "--name", "p");
      const bySocket = inside(`cd ${join(server.folder, "own")}; ${insert(socket)}; true`);
      assert.match(bySocket.stderr, /past the plan.*[.]s[.]PGSQL[.]5432 [(]db[)]/);
      assert.equal(await server.sql("SELECT count(*) FROM t"), "0");
    });
});
