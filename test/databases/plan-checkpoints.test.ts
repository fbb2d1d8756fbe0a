import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import type { TestServer } from "../support/database-servers.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { TestRepository } from "../support/test-repository.ts";
import { startServer } from "./held-scene.ts";

const DATABASES = ["pg", "my", "lite"] as const;
const FOLDERS = ["view", "repo"] as const;

/** A folder through an overlay, a checkout, and a database of each kind; each holds one value, `v`. */
class MixedResources implements AsyncDisposable {
  readonly base: string;
  readonly drydock: Services;

  private constructor(base: string, drydock: Services) {
    this.base = base;
    this.drydock = drydock;
  }

  static async make(servers: readonly TestServer[]): Promise<MixedResources> {
    const base = mkdtempSync(join(tmpdir(), "drydock-all-kinds-"));
    for (const name of FOLDERS) {
      mkdirSync(join(base, name));
      writeFileSync(join(base, name, "v"), "first");
    }
    const repository = new TestRepository(join(base, "repo"));
    repository.git("init", "-q", "-b", "main");
    repository.commitAll("begin");
    using database = new DatabaseSync(join(base, "lite.db"));
    database.exec("CREATE TABLE t(id INT PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'first')");
    const drydock = await openServices({ stateDir: join(base, "state"), cwd: "/", environment: {} });
    const [pg, my] = servers;
    await drydock.plans.create({
      name: "p",
      resources: [
        { name: "view", location: join(base, "view"), strategy: "overlay" },
        { name: "repo", location: join(base, "repo"), strategy: "git_worktree" },
        { name: "pg", location: pg?.url() ?? "" },
        { name: "my", location: my?.url() ?? "" },
        { name: "lite", location: join(base, "lite.db") },
      ],
    });
    return new MixedResources(base, drydock);
  }

  /** Sets the value everywhere. */
  async set(value: string): Promise<void> {
    const { plans } = this.drydock;
    for (const name of FOLDERS) await plans.write("p", name, "v", Buffer.from(value));
    for (const name of DATABASES) await plans.sql("p", name, `UPDATE t SET v = '${value}' WHERE id = 1`);
  }

  /** Adds something everywhere that was not there. */
  async add(): Promise<void> {
    const { plans } = this.drydock;
    for (const name of FOLDERS) await plans.write("p", name, "added/file", Buffer.from("added"));
    for (const name of DATABASES) await plans.sql("p", name, "INSERT INTO t VALUES (2, 'added')");
  }

  /** What all sandboxes hold, one after the other. */
  async values(): Promise<string[]> {
    const { plans } = this.drydock;
    const values: string[] = [];
    for (const name of FOLDERS) {
      const added = (await plans.diff("p")).changes.some(
        ({ resource, path }) => resource === name && path === "added/file",
      );
      values.push(Buffer.from(await plans.read("p", name, "v")).toString() + (added ? ",added" : ""));
    }
    for (const name of DATABASES) {
      const [result] = await plans.sql("p", name, "SELECT v FROM t ORDER BY id");
      values.push((result?.rows ?? []).flat().join());
    }
    return values;
  }

  async assertAll(value: string, message: string): Promise<void> {
    assert.deepEqual(new Set(await this.values()), new Set([value]), message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { plans } = this.drydock;
    if ((await plans.show("p")).state === "open") await plans.cancel("p");
    await this.drydock.close();
    removeFolder(this.base);
  }
}

describe("checkpoints of a plan over folders, a checkout and databases of all kinds", () => {
  let servers: TestServer[] = [];

  before(async () => {
    servers = await Promise.all([startServer("postgres"), startServer("mariadb")]);
    for (const server of servers) await server.sql("CREATE TABLE t(id INT PRIMARY KEY, v VARCHAR(100))");
  });

  after(() => {
    for (const server of servers) server.remove();
  });

  it("[C6][C7][T3] are restored in all of them at once, again and again, and what was restored lands", async () => {
    for (const server of servers) await server.sql("INSERT INTO t VALUES (1, 'first')");
    await using scene = await MixedResources.make(servers);
    const { plans, checkpoints } = scene.drydock;
    await scene.set("good");
    const good = await plans.diff("p");
    await checkpoints.checkpoint("p", { label: "good" });
    for (const round of ["once", "twice"]) {
      await scene.set(`worse, ${round}`);
      await scene.add();
      await checkpoints.checkpoint("p", { label: round });
      await scene.set("worst");
      const shown = await plans.diff("p", { checkpoint: "good" });
      // What a checkpoint of a git_worktree holds is not told.
      assert.deepEqual(shown.saved?.unlisted, ["repo"]);
      const told = good.changes.filter(({ resource }) => resource !== "repo");
      assert.deepEqual(shown.changes, told, `what the checkpoint shows, ${round}`);
      await checkpoints.restore("p", round);
      await scene.assertAll(`worse, ${round},added`, `restored to ${round}`);
      await checkpoints.restore("p", "good");
      await scene.assertAll("good", `restored to good, ${round}`);
    }
    await plans.apply("p", { allowIrreversible: true });
    for (const name of FOLDERS) assert.equal(readFileSync(join(scene.base, name, "v"), "utf8"), "good");
    for (const server of servers) assert.match(await server.sql("SELECT v FROM t"), /^good\s*$/);
  });

  it("[C6][A5][T3] leave all of them as they were when one can't be restored", async () => {
    for (const server of servers) await server.sql("DELETE FROM t");
    for (const server of servers) await server.sql("INSERT INTO t VALUES (1, 'first')");
    await using scene = await MixedResources.make(servers);
    const { checkpoints } = scene.drydock;
    await scene.set("good");
    await checkpoints.checkpoint("p", { label: "good" });
    await scene.set("worse");
    const homes = join(scene.base, "state/sandboxes");
    // The database comes last: all the others have been restored by then.
    const home = readdirSync(homes).find((id) =>
      readdirSync(join(homes, id)).some((name) => name.endsWith(".db")),
    );
    const saved = join(homes, home ?? assert.fail("there is no sandbox of the database"), "checkpoints");
    rmSync(saved, { recursive: true });
    await assert.rejects(checkpoints.restore("p", "good"));
    await scene.assertAll("worse", "after a restore that failed");
    await scene.set("on");
    await scene.assertAll("on", "and all of them can be used on");
  });
});
