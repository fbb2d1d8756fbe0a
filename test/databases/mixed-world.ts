import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT_PATH } from "../../src/core/paths/byte-path.ts";
import type { Services } from "../../src/services.ts";
import { openSqliteStore } from "../../src/store/sqlite-store.ts";
import { type DriverEnd, type DriverOptions, runDriver } from "../crash/run-driver.ts";
import { leftBesidesUndo } from "../crash/scenarios.ts";
import { PLAN, type Sides, sidesOf, World, type WorldOptions } from "../crash/world.ts";
import type { TestServer } from "../support/database-servers.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { treeDifferences } from "../support/tree-snapshot.ts";
import { isRunning, leftIn } from "./held-scene.ts";
import { runCommand } from "./run-command.ts";

let worlds = 0;

/** What a process may be doing when it dies. */
export type WorldOperation =
  | "create"
  | "apply"
  | "recover"
  | "rollback"
  | "cancel"
  | "give-up"
  | "save-plan"
  | "restore-plan"
  | WorldCommand;

/** The arguments of a command, for the table of a world. */
type WorldCommand = (table: string) => readonly string[];

const FOLDER: WorldOptions = {
  strategy: "filesystem_copy",
  isSmall: true,
  places: [{ folder: fastFolder() }],
};
/** Every kind of thing that a plan can be over, beside the servers. */
export const ALL_KINDS: WorldOptions = {
  strategy: ["filesystem_copy", "filesystem_copy", "git_worktree", "snapshot"],
  isSmall: true,
  places: [
    { folder: fastFolder() },
    { folder: fastFolder() },
    { folder: fastFolder(), isCheckout: true },
    { folder: fastFolder(), database: { journal: "wal", change: "rows" } },
  ],
};

type Servers = { readonly [name: string]: TestServer };

/**
 * A plan over what is on this machine (default: a folder), PostgreSQL and MariaDB, with work in all of them;
 * each world has tables and a state directory of its own.
 */
export class MixedWorld {
  /** What is on this machine, and the state directory. */
  readonly local: World;
  readonly stateDir: string;
  readonly servers: Servers;
  /** In each of the servers. */
  readonly table: string;
  readonly #expected: Sides;

  private constructor(servers: Servers, options: WorldOptions) {
    this.servers = servers;
    this.#expected = expectedOf(options);
    this.local = new World(options);
    this.stateDir = this.local.stateDir;
    worlds += 1;
    this.table = `w${process.pid}_${worlds}`;
  }

  /** Brings the world to where the plan can be applied. */
  static async make(servers: Servers, options = FOLDER): Promise<MixedWorld> {
    const world = await MixedWorld.withoutPlan(servers, options);
    try {
      await world.with(({ plans }) => world.#plan(plans));
      return world;
    } catch (thrown) {
      world.remove();
      throw thrown;
    }
  }

  async #plan(plans: Services["plans"]): Promise<void> {
    await plans.create({ name: PLAN, resources: this.#resources() });
    await this.local.work(plans);
    const work = `UPDATE ${this.table} SET v = 'new' WHERE id = 1; DELETE FROM ${this.table} WHERE id = 2`;
    for (const name of Object.keys(this.servers)) await plans.sql(PLAN, name, work);
  }

  static async withoutPlan(servers: Servers, options = FOLDER): Promise<MixedWorld> {
    const world = new MixedWorld(servers, options);
    for (const server of Object.values(servers)) {
      await server.sql(`CREATE TABLE ${world.table} (id INT PRIMARY KEY, v VARCHAR(20))`);
      await server.sql(`INSERT INTO ${world.table} VALUES (1, 'old'), (2, 'old')`);
    }
    return world;
  }

  #resources() {
    const databases = Object.entries(this.servers).map(([name, server]) => ({
      location: server.url(),
      name,
    }));
    return [...this.local.resources(), ...databases];
  }

  async with<T>(action: (drydock: Services) => Promise<T>): Promise<T> {
    return await this.local.with(action);
  }

  /** Lets a process of its own do something to the plan; it may die in it. */
  async drive(operation: WorldOperation, options: DriverOptions = {}): Promise<DriverEnd> {
    if (typeof operation === "function")
      return await runCommand(operation(this.table), this.stateDir, options);
    return await runDriver(
      { operation, stateDir: this.stateDir, plan: PLAN, resources: this.#resources() },
      options,
    );
  }

  /**
   * After a crash in making, rolling back or ending the plan: nothing landed, and what is left of it can be
   * used and ended.
   */
  async verifyNothingLanded(when: string): Promise<void> {
    for (let time = 1; time <= 2; time += 1) {
      const { pending } = await this.with(async ({ recovery }) => recovery);
      assert.deepEqual(pending, [], when);
    }
    assert.equal(await this.side(when), "old");
    await this.with(async ({ plans }) => {
      const [open] = await plans.list();
      if (open === undefined) return;
      for (const name of Object.keys(this.servers))
        await plans.sql(PLAN, name, `SELECT * FROM ${this.table}`);
      await plans.cancel(PLAN);
    });
    assert.deepEqual(leftIn(this.stateDir), [], `${when}: nothing is left`);
  }

  /** On which side each resource is. */
  async sides(): Promise<{ readonly [name: string]: string }> {
    const sides: { [name: string]: string } = {
      local: this.local.side(this.#expected, "all on this machine"),
    };
    for (const [name, server] of Object.entries(this.servers)) {
      const rows = await server.sql(`SELECT id, v FROM ${this.table} ORDER BY id`);
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

  /**
   * Recovers twice, then sees that all is on one side, nothing is left prepared or pending, and the plan can
   * be ended or applied.
   */
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

  /**
   * The same where what held the transactions has died: either all has landed, or nothing has, and what is
   * gone is said to be gone.
   */
  async verifyWithoutWork(when: string, error: RegExp): Promise<void> {
    const { pending } = await this.with(async ({ recovery }) => recovery);
    assert.deepEqual(pending, [], when);
    const side = await this.side(when);
    await this.assertNothingPrepared(when);
    const { plan, sandboxes, errors } = await this.states();
    assert.equal(plan, side === "new" ? "applied" : "open", when);
    if (side === "new") return this.#assertNothingLeft(when);
    const held = sandboxes.slice(-2);
    assert.ok(held.includes("ERRORED"), `${when}: ${held.join(", ")}`);
    for (const each of errors) assert.match(each, error, when);
    // A transaction that was prepared before its server died, and is rolled back, is done again.
    for (const [at, name] of Object.keys(this.servers).entries())
      if (held[at] !== "ERRORED")
        assert.equal(await this.inside(name), "1|new", `${when}: the work in ${name}`);
    await this.with(({ plans }) => plans.cancel(PLAN));
    assert.equal(await this.side(`${when}, in the end`), "old");
    this.#assertNothingLeft(when);
  }

  /** The work is still there. */
  async #applyAgain(when: string): Promise<void> {
    const held = await this.with(async ({ plans }) =>
      (await plans.show(PLAN)).resources.map(({ status }) => status),
    );
    assert.ok(!held.includes("ERRORED"), `${when}: the work is still there: ${held.join(", ")}`);
    await this.with(({ plans }) => plans.apply(PLAN));
  }

  /** What the sandbox of a server shows. */
  async inside(server: string): Promise<string> {
    const query = `SELECT id, v FROM ${this.table} ORDER BY id`;
    const [result] = await this.with(({ plans }) => plans.sql(PLAN, server, query));
    return (result?.rows ?? []).map((row) => row.join("|")).join(" ");
  }

  /**
   * Sees that the folders in the sandboxes hold what the world was made with, and the later work of `World`,
   * or not.
   */
  async assertFolders(hasLater: boolean, when: string): Promise<void> {
    await this.with(async ({ plans }) => {
      for (const [index, { snapshot, later }] of this.local.originals.entries()) {
        const now = snapshot(await plans.path(PLAN, `r${index}`));
        const added = hasLater ? [ROOT_PATH, dirname(later.path), later.path] : [];
        const isOther = (line: string) => !added.some((path) => line.includes(`: ${JSON.stringify(path)}`));
        const differences = treeDifferences(now, this.#expected.after[index] ?? new Map());
        assert.deepEqual(differences.filter(isOther), [], when);
        assert.equal(now.has(later.path), hasLater, when);
      }
    });
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
    // These two stay, empty.
    const left = leftBesidesUndo(this.local).filter((name) => !/^state\/(?:keepers|secrets)$/.test(name));
    assert.deepEqual(left, [], `${when}: nothing is left but what an undo needs`);
  }

  holder(): number | undefined {
    const holders = join(this.stateDir, "keepers");
    for (const plan of existsSync(holders) ? readdirSync(holders) : []) {
      const file = join(holders, plan, "keeper.json");
      if (!existsSync(file)) continue;
      const { pid } = (JSON.parse(readFileSync(file, "utf8")) as { owner: { pid: number } }).owner;
      if (isRunning(pid)) return pid;
    }
    return undefined;
  }

  killHolder(): void {
    const pid = this.holder();
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
    this.killHolder();
    this.local.remove();
  }
}

const expected = new Map<WorldOptions, Sides>();

/** What everything on this machine looks like before the plan and after it. */
function expectedOf(options: WorldOptions): Sides {
  const sides = expected.get(options) ?? sidesOf(options);
  expected.set(options, sides);
  return sides;
}
