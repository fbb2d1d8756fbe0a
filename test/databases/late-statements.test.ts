import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { RequestGate } from "../../src/testing/index.ts";
import { DrydockProcess } from "../rivals/drydock-process.ts";
import { type TestServer, whyNoServer } from "../support/database-servers.ts";
import { HeldScene, type ServerKind, startServer } from "./held-scene.ts";

/** The name of a server's socket, and how its statements begin that end a transaction. */
const DIALECTS = {
  postgres: { socket: ".s.PGSQL.5432", prepare: "PREPARE TRANSACTION", commit: "COMMIT PREPARED" },
  mariadb: { socket: "socket", prepare: "XA PREPARE", commit: "XA COMMIT" },
} as const;

for (const kind of Object.keys(DIALECTS) as readonly ServerKind[])
  describe(`[B9] a statement of a killed holder that reaches ${kind} late`, {
    skip: whyNoServer(kind) ?? false,
  }, () => {
    const dialect = DIALECTS[kind];
    let server: TestServer;
    before(async () => {
      server = await startServer(kind);
    });
    after(() => server?.remove());

    /**
     * Kills an apply, and the holder, with this statement under way, goes on without them, and lets the
     * statement arrive.
     */
    async function arrivesLate(statement: string, then: (scene: HeldScene, when: string) => Promise<void>) {
      await using scene = await HeldScene.make(server);
      const [own, through] = [join(server.folder, "own"), join(scene.folder, "gate")];
      mkdirSync(through);
      await using gate = await RequestGate.open(
        { path: join(own, dialect.socket) },
        join(through, dialect.socket),
      );
      const location = server.url().replace(encodeURIComponent(own), encodeURIComponent(through));
      await scene.with(({ plans }) => plans.create({ name: "p", resources: [{ location, name: "db" }] }));
      await scene.run("UPDATE T SET v = 'landed'");
      const held = gate.holdWhen((sent) => Buffer.from(sent).includes(statement), "all");
      await using apply = new DrydockProcess({ stateDir: scene.stateDir, calls: [["apply", "p"]] });
      await held;
      apply.signal("SIGKILL");
      scene.killHolder();
      await apply.ends();
      gate.admitOthers();
      await then(scene, "before it arrives");
      await gate.release();
      await then(scene, "when it has arrived");
      await scene.with(({ plans, recovery }) => {
        assert.deepEqual(recovery.pending, []);
        return plans.show("p");
      });
    }

    it("prepares nothing: the commit was taken back, and stays so", async () => {
      await arrivesLate(dialect.prepare, async (scene, when) => {
        const pending = await scene.with(async ({ recovery }) => recovery.pending);
        assert.deepEqual(pending, [], when);
        assert.deepEqual([await scene.original(), await server.prepared()], ["1|one 2|two", []], when);
      });
    });

    it("commits nothing twice: what was decided has landed, and stays so", async () => {
      await arrivesLate(dialect.commit, async (scene, when) => {
        const pending = await scene.with(async ({ recovery }) => recovery.pending);
        assert.deepEqual(pending, [], when);
        assert.deepEqual([await scene.original(), await server.prepared()], ["1|landed 2|landed", []], when);
      });
    });
  });
