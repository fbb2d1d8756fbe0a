import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Drydock, openDrydock } from "../../src/runtime.ts";
import { openSqliteStore } from "../../src/store/sqlite-store.ts";
import { type DriverEnd, type DriverOptions, runDriver } from "../crash/run-driver.ts";
import type { TestServer } from "../support/database-servers.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { isRunning, leftIn } from "./held-scene.ts";

const PLAN = "crash";
let worlds = 0;

/** What a process may be doing when it dies. */
export type WorldOperation = "create" | "apply" | "recover" | "rollback" | "cancel" | "give-up";

/** A plan over a folder, PostgreSQL and MariaDB, with work in all of them; each world has tables and a state directory of its own. */
export class MixedWorld {
  readonly #folder = mkdtempSync(join(fastFolder(), "drydock-mixed-"));
  readonly stateDir = join(this.#folder, "state");
  readonly files = join(this.#folder, "files");
  readonly servers: { readonly [name: string]: TestServer };
  readonly #table: string;

  private constructor(servers: { readonly [name: string]: TestServer }) {
    this.servers = servers;
    worlds += 1;
    this.#table = `w${process.pid}_${worlds}`;
  }

  /** Brings the world to where the plan can be applied. */
  static async make(servers: { readonly [name: string]: TestServer }): Promise<MixedWorld> {
    const world = await MixedWorld.withoutPlan(servers);
    await world.with(async ({ plans }) => {
      await plans.create({ name: PLAN, resources: world.#resources() });
      const path = await plans.path(PLAN, "files");
      writeFileSync(join(path, "changed"), "new\n");
      writeFileSync(join(path, "added"), "new\n");
      rmSync(join(path, "deleted"));
      for (const name of Object.keys(servers))
        await plans.sql(
          PLAN,
          name,
          `UPDATE ${world.#table} SET v = 'new' WHERE id = 1; DELETE FROM ${world.#table} WHERE id = 2`,
        );
    });
    return world;
  }

  static async withoutPlan(servers: { readonly [name: string]: TestServer }): Promise<MixedWorld> {
    const world = new MixedWorld(servers);
    mkdirSync(world.files);
    for (const name of ["changed", "deleted"]) writeFileSync(join(world.files, name), "old\n");
    for (const server of Object.values(servers)) {
      await server.sql(`CREATE TABLE ${world.#table} (id INT PRIMARY KEY, v VARCHAR(20))`);
      await server.sql(`INSERT INTO ${world.#table} VALUES (1, 'old'), (2, 'old')`);
    }
    return world;
  }

  #resources() {
    const databases = Object.entries(this.servers).map(([name, server]) => ({ location: server.url(), name }));
    return [{ location: this.files, name: "files", strategy: "filesystem_copy" }, ...databases];
  }

  async with<T>(action: (drydock: Drydock) => Promise<T>): Promise<T> {
    const drydock = await openDrydock({ stateDir: this.stateDir, cwd: "/", environment: {} });
    try {
      return await action(drydock);
    } finally {
      await drydock.close();
    }
  }

  /** Lets a process of its own do something to the plan; it may die in it. */
  async drive(operation: WorldOperation, options: DriverOptions = {}): Promise<DriverEnd> {
    return await runDriver({ operation, stateDir: this.stateDir, plan: PLAN, resources: this.#resources() }, options);
  }

  /** After a crash in making, rolling back or ending the plan: nothing landed, and what is left of it can be used and ended. */
  async verifyNothingLanded(when: string): Promise<void> {
    for (let time = 1; time <= 2; time += 1) {
      const { pending } = await this.with(async ({ recovery }) => recovery);
      assert.deepEqual(pending, [], when);
    }
    assert.equal(await this.side(when), "old");
    await this.with(async ({ plans }) => {
      const [open] = await plans.list();
      if (open === undefined) return;
      for (const name of Object.keys(this.servers)) await plans.sql(PLAN, name, `SELECT * FROM ${this.#table}`);
      await plans.cancel(PLAN);
    });
    assert.deepEqual(leftIn(this.stateDir), [], `${when}: nothing is left`);
  }

  /** On which side each resource is. */
  async sides(): Promise<{ readonly [name: string]: string }> {
    const sides: { [name: string]: string } = { files: this.#filesSide() };
    for (const [name, server] of Object.entries(this.servers)) {
      const rows = await server.sql(`SELECT id, v FROM ${this.#table} ORDER BY id`);
      sides[name] = rows === "1|old\n2|old" ? "old" : rows === "1|new" ? "new" : `neither: ${rows}`;
    }
    return sides;
  }

  /** On which side all resources are. Fails if they are not on the same. */
  async side(when: string): Promise<"old" | "new"> {
    const [first, ...others] = Object.values(await this.sides());
    assert.ok(
      (first === "old" || first === "new") && others.every((side) => side === first),
      `${when}: ${[first, ...others].join(", ")}`,
    );
    return first;
  }

  /** Makes the store forget that the plan was being applied: it is cancelled. */
  async forgetCommit(): Promise<string> {
    const store = await openSqliteStore({ stateDir: this.stateDir });
    try {
      const [plan] = await store.listPlans("all");
      assert.ok(plan !== undefined);
      const [transaction] = await store.unfinishedTransactions();
      assert.ok(transaction !== undefined);
      const sandboxes = await store.sandboxesOf(plan.id);
      await store.write(
        [
          ...sandboxes.map((record) => ({ put: "sandbox", record: { ...record, state: "ACTIVE" } }) as const),
          { put: "plan", record: { ...plan, state: "cancelled" } },
          { put: "transaction", record: { ...transaction, phase: "aborted" } },
        ],
        "durable",
      );
      return plan.id;
    } finally {
      store.close();
    }
  }

  #filesSide(): string {
    const seen = readdirSync(this.files)
      .filter((name) => !name.startsWith(".drydock-"))
      .sort();
    const content = seen.map((name) => `${name}=${readFileSync(join(this.files, name), "utf8").trim()}`).join(" ");
    if (content === "changed=old deleted=old") return "old";
    return content === "added=new changed=new" ? "new" : `neither: ${content}`;
  }

  /** Recovers twice, then sees that all is on one side, nothing is left prepared or pending, and the plan can be ended or applied. */
  async verify(when: string): Promise<void> {
    const first = await this.with(async ({ recovery }) => recovery);
    assert.deepEqual(first.pending, [], when);
    const second = await this.with(async ({ recovery }) => recovery);
    assert.deepEqual(
      [...second.finished, ...second.undone, ...second.pending],
      [],
      `${when}: a second recovery finds nothing`,
    );
    const side = await this.side(when);
    await this.assertNothingPrepared(when);
    const state = await this.with(async ({ plans }) => (await plans.show(PLAN)).state);
    assert.equal(state, side === "new" ? "applied" : "open", when);
    if (side === "old") await this.#applyAgain(when);
    assert.equal(await this.side(`${when}, in the end`), "new");
    this.#assertNothingLeft(when);
  }

  /** The work is still there, unless the keeper was killed too: then that is said, and nothing landed. */
  async #applyAgain(when: string): Promise<void> {
    const held = await this.with(async ({ plans }) => (await plans.show(PLAN)).resources.map(({ status }) => status));
    assert.ok(!held.includes("ERRORED"), `${when}: the work is still there: ${held.join(", ")}`);
    await this.with(({ plans }) => plans.apply(PLAN));
  }

  async assertNothingPrepared(when: string): Promise<void> {
    const planId = await this.with(async ({ plans }) => (await plans.show(PLAN)).id);
    for (const server of Object.values(this.servers)) {
      const ours = (await server.prepared()).filter((name) => name.includes(planId));
      assert.deepEqual(ours, [], `${when}: nothing is left prepared`);
    }
  }

  #assertNothingLeft(when: string): void {
    assert.deepEqual(leftIn(this.stateDir), [], `${when}: nothing is left in the state directory`);
  }

  keeper(): number | undefined {
    const keepers = join(this.stateDir, "keepers");
    for (const plan of existsSync(keepers) ? readdirSync(keepers) : []) {
      const file = join(keepers, plan, "keeper.json");
      if (!existsSync(file)) continue;
      const { pid } = (JSON.parse(readFileSync(file, "utf8")) as { owner: { pid: number } }).owner;
      if (isRunning(pid)) return pid;
    }
    return undefined;
  }

  killKeeper(): void {
    const pid = this.keeper();
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  }

  async states(): Promise<{
    readonly plan: string;
    readonly sandboxes: readonly string[];
    readonly errors: readonly string[];
  }> {
    return await this.with(async ({ plans }) => {
      const { state, resources } = await plans.show(PLAN);
      return {
        plan: state,
        sandboxes: resources.map(({ status }) => status),
        errors: resources.flatMap(({ error }) => error ?? []),
      };
    });
  }

  /** What the store says of transactions that are not over. */
  async unfinished(): Promise<string[]> {
    const store = await openSqliteStore({ stateDir: this.stateDir });
    try {
      return (await store.unfinishedTransactions()).map(({ phase }) => phase);
    } finally {
      store.close();
    }
  }

  /** What the journal says could not be taken back. */
  async notUndone(): Promise<string[]> {
    const store = await openSqliteStore({ stateDir: this.stateDir });
    try {
      const [plan] = await store.listPlans("all");
      const transactions = await store.transactionsOf(plan?.id ?? "");
      const participants = transactions.at(-1)?.participants ?? [];
      return participants.filter(({ status }) => status === "not-undone").map(({ resource }) => resource);
    } finally {
      store.close();
    }
  }

  remove(): void {
    this.killKeeper();
    removeFolder(this.#folder);
  }
}
