import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { openServices } from "../../src/runtime.ts";
import { runProcess } from "../rivals/drydock-process.ts";
import { IS_LONG } from "../support/long-form.ts";
import { removeFolder } from "../support/remove-folder.ts";

const OLD = ["Ada", "old\n"];
const NEW = ["Ada,Grace", "new\n"];

/** A folder with a database in it, and a plan over both with work in both. */
class Nest {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "drydock-nest-")));
  readonly stateDir = join(this.path, "state");

  constructor() {
    mkdirSync(join(this.path, "app"));
    writeFileSync(join(this.path, "app/file"), "old\n");
    this.#query("CREATE TABLE people (name TEXT PRIMARY KEY); INSERT INTO people VALUES ('Ada')");
  }

  async plan(strategy: string, applied: boolean): Promise<string> {
    const drydock = await this.open();
    const resources = [
      { location: join(this.path, "app"), strategy },
      { location: join(this.path, "app/people.db"), name: "people" },
    ];
    const { id } = await drydock.plans.create({ resources });
    await drydock.plans.sql(id, "people", "INSERT INTO people VALUES ('Grace')");
    await drydock.plans.write(id, "app", "file", Buffer.from("new\n"));
    if (applied) await drydock.plans.apply(id);
    await drydock.close();
    return id;
  }

  async open() {
    return await openServices({ stateDir: this.stateDir, cwd: "/", environment: {} });
  }

  sides(): readonly string[] {
    return [this.#query("").join(), readFileSync(join(this.path, "app/file"), "utf8")];
  }

  /** Everything in the folder that is not the user's. */
  strangers(): readonly string[] {
    return readdirSync(join(this.path, "app")).filter((name) => !["file", "people.db"].includes(name));
  }

  [Symbol.dispose](): void {
    removeFolder(this.path);
  }

  #query(script: string): readonly unknown[] {
    using database = new DatabaseSync(join(this.path, "app/people.db"));
    database.exec(script);
    return database
      .prepare("SELECT name FROM people ORDER BY name")
      .all()
      .map(({ name }) => name);
  }
}

async function pointsOf(strategy: string, method: "apply" | "undo"): Promise<readonly string[]> {
  using nest = new Nest();
  const plan = await nest.plan(strategy, method === "undo");
  const trace = join(nest.path, "trace");
  const end = await runProcess({ stateDir: nest.stateDir, calls: [[method, plan]] }, { trace });
  assert.equal(end.code, 0, end.stderr);
  const passed = readFileSync(trace, "utf8").split("\n").filter(Boolean);
  const counts = Map.groupBy(passed, (line) => line.slice("failpoint ".length));
  return [...counts].flatMap(([name, { length }]) => {
    if (IS_LONG) return Array.from({ length }, (_, pass) => `${name}:${pass + 1}`);
    // Around the decision, and when the one has landed and the other has not.
    return name === "store.written" ? [length - 3, length - 1].map((pass) => `${name}:${pass}`) : [];
  });
}

describe("A crash in a plan over a folder and a database inside of it", () => {
  for (const [strategy, method] of [
    ["filesystem_copy", "apply"],
    ["overlay", "undo"],
  ] as const)
    it(`[L5] [A3] [A6] [T2] in ${method} (${strategy}) leaves both old or both new, and nothing of ours in the folder`, async () => {
      for (const point of await pointsOf(strategy, method)) {
        using nest = new Nest();
        const plan = await nest.plan(strategy, method === "undo");
        const end = await runProcess(
          { stateDir: nest.stateDir, calls: [[method, plan]] },
          { failpoint: `${point}=kill` },
        );
        if (end.signal === null) continue;
        assert.equal(end.signal, "SIGKILL", `${point}: ${end.stderr}`);
        await (await nest.open()).close();
        const after = nest.sides();
        const drydock = await nest.open();
        try {
          assert.deepEqual(drydock.recovery.pending, [], point);
          assert.ok(
            [OLD, NEW].some((side) => side.join() === after.join()),
            `${point}: ${after.join()}`,
          );
          const { state } = await drydock.plans.show(plan);
          assert.equal(state === "applied", after.join() === NEW.join(), `${point}: ${state}`);
          if (state === "open") await drydock.plans.apply(plan);
          if (state !== "undone") await drydock.plans.undo(plan);
          assert.deepEqual([nest.sides(), nest.strangers()], [OLD, []], point);
        } finally {
          await drydock.close();
        }
      }
    });
});
