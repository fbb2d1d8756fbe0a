import assert from "node:assert/strict";
import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Workplace } from "./workplace.ts";

const old = { "a.txt": "a\n" };
const NOT_DECIDED = "landings.flush-staged";
const DECIDED = "land.exchange";

/** Has a plan called "fix" over `app`, and lets its apply be killed. */
function killed(place: Workplace, failpoint: string, strategy = "filesystem_copy"): void {
  place.folder("app", old);
  place.done("plan", "create", "-r", `app,strategy=${strategy}`, "--name", "fix");
  place.drydock(["plan", "write", "fix", "app", "a.txt"], { input: "changed\n" });
  place.drydock(["plan", "write", "fix", "app", "new.txt"], { input: "new\n" });
  const { status, stderr } = place.drydock(["plan", "apply", "fix"], {
    env: { DRYDOCK_FAILPOINT: `${failpoint}=kill` },
  });
  assert.equal(status, null, stderr);
}

/** Nothing waits for the plan any more, and its originals are free. */
function assertEnded(place: Workplace): void {
  assert.equal(place.answer("plan", "show", "fix").state, "abandoned");
  assert.deepEqual(place.answer("plan", "list").plans, []);
  assert.equal(place.done("recover"), "There is nothing to recover.\n");
  place.folder("app", old);
  place.done("plan", "create", "-r", "app", "--name", "other");
  const written = place.drydock(["plan", "write", "other", "app", "a.txt"], { input: "other\n" });
  assert.deepEqual([written.status, written.stderr], [0, ""]);
  assert.equal(place.answer("plan", "apply", "other").state, "applied");
  assert.equal(place.read("app/a.txt"), "other\n");
}

describe("a plan whose original is gone", () => {
  for (const strategy of ["filesystem_copy", "overlay"])
    it(`[W4] is taken back by itself where nothing was decided, and can be cancelled (${strategy})`, () => {
      using place = new Workplace();
      killed(place, NOT_DECIDED, strategy);
      rmSync(join(place.path, "app"), { recursive: true });
      const { status, stdout } = place.drydock(["recover"]);
      assert.deepEqual([status, /^took back the unfinished apply of fix/.test(stdout)], [0, true], stdout);
      place.done("plan", "cancel", "fix");
      assert.deepEqual(readdirSync(join(place.state, "sandboxes")), []);
    });

  it("[W4] is ended by 'recover PLAN --abandon' where it was landing, with a report that its log keeps", () => {
    using place = new Workplace();
    killed(place, DECIDED);
    rmSync(join(place.path, "app"), { recursive: true });
    const pending = place.drydock(["recover"]);
    assert.equal(pending.status, 4);
    assert.match(pending.stdout, /recover \S+ --abandon' ends the plan as it is/);
    assert.match(place.drydock(["plan", "cancel", "fix"]).stderr, /hint: .*recover PLAN --abandon/);

    const { status, stdout } = place.drydock(["recover", "fix", "--abandon", "--json"]);
    assert.equal(status, 4);
    const { state, resources } = JSON.parse(stdout);
    const [sandbox = ""] = readdirSync(join(place.state, "sandboxes"));
    const left = [{ kind: "folder", location: join(place.state, "sandboxes", sandbox) }];
    assert.deepEqual([state, resources[0].original, resources[0].left], ["abandoned", "unknown", left]);

    assertEnded(place);
    const entry = place.answer("plan", "log", "fix").entries.at(-1);
    assert.deepEqual([entry.event, entry.details], ["abandoned", { resources }]);
    assert.match(place.done("plan", "log", "fix"), /app: it was landing, and it is unknown how far it came/);
    assert.equal(
      place.answer("cleanup", "scan").items[0].holdsWork,
      true,
      "it may have what the original had",
    );
    assert.equal(place.answer("cleanup", "purge").removed.length, 0);
    place.done("cleanup", "purge", "--force");
    assert.equal(readdirSync(join(place.state, "sandboxes")).includes(sandbox), false);
  });
});

describe("a plan whose sandbox is gone", () => {
  for (const [strategy, folder] of [
    ["filesystem_copy", "tree"],
    ["overlay", "upper"],
  ] as const)
    it(`[W4] is taken back, keeps what was to land, and can be cancelled (${strategy})`, () => {
      using place = new Workplace();
      killed(place, NOT_DECIDED, strategy);
      const [sandbox = ""] = readdirSync(join(place.state, "sandboxes"));
      rmSync(join(place.state, "sandboxes", sandbox, folder), { recursive: true });
      const { status, stderr } = place.drydock(["recover"]);
      assert.equal(status, 4, "there is something to look at");
      assert.match(
        stderr,
        /attention: app: its sandbox is gone; what was taken out of it to land is kept; kept at/,
      );
      assert.match(
        place.answer("plan", "show", "fix").resources[0].error,
        /another process has removed its folder/,
      );
      place.done("plan", "cancel", "fix");
      assert.equal(place.answer("cleanup", "scan").items[0].holdsWork, true);
      place.done("cleanup", "purge", "--force");
      assert.deepEqual(place.answer("cleanup", "scan").items, []);
      assert.deepEqual(place.tree("app"), old);
    });
});

describe("a plan that can't be taken back", () => {
  it("[W4] is ended by 'recover PLAN --abandon' where its strategy is gone, and what can be removed is", () => {
    using place = new Workplace();
    place.folder("app", old);
    place.write("notes.txt", "old\n");
    place.write("strategy.mjs", STUBBORN);
    const config = place.write("settings.yaml", CONFIG);
    const env = { DRYDOCK_CONFIG: config };
    const create = ["plan", "create", "-r", "app", "-r", "notes.txt,strategy=stubborn", "--name", "fix"];
    assert.equal(place.drydock(create, { env }).status, 0);
    place.drydock(["plan", "write", "fix", "notes.txt", "."], { env, input: "new\n" });
    place.drydock(["plan", "write", "fix", "app", "a.txt"], { env, input: "changed\n" });
    const applied = place.drydock(["plan", "apply", "fix"], { env });
    assert.equal(applied.status, 4, applied.stderr);
    renameSync(join(place.path, "strategy.mjs"), join(place.path, "gone.mjs"));
    assert.equal(place.drydock(["recover", "fix", "--abort"], { env }).status, 4);

    const { status, stdout } = place.drydock(["recover", "fix", "--abandon"], { env });
    assert.equal(status, 4);
    assert.match(stdout, /^app \(.*\): nothing of the plan is in it$/m);
    assert.match(
      stdout,
      /^notes\.txt \(.*\): nothing of the plan is in it; what was made ready .* was not taken back$/m,
    );
    assert.match(stdout, /^ {2}may be left: drawer the drawer of \S+$/m);
    assert.deepEqual(readdirSync(join(place.state, "sandboxes")), [], "the sandbox that could be removed is");
    assertEnded(place);
    assert.deepEqual(
      place.answer("cleanup", "scan").items.map(({ kind }: { kind: string }) => kind),
      ["drawer"],
    );
  });

  for (const [instant, point, state] of [
    ["before it is recorded", "store.write:2", "applying"],
    ["right after", "store.written:2", "abandoned"],
  ] as const)
    it(`[W4] is ${state} when the abandoning is killed ${instant}, and comes to its end`, () => {
      using place = new Workplace();
      killed(place, DECIDED);
      rmSync(join(place.path, "app"), { recursive: true });
      const dead = place.drydock(["recover", "fix", "--abandon"], {
        env: { DRYDOCK_FAILPOINT: `${point}=kill` },
      });
      assert.equal(dead.status, null, dead.stderr);
      assert.equal(JSON.parse(place.drydock(["plan", "show", "fix", "--json"]).stdout).state, state);
      const { status, stderr } = place.drydock(["recover", "fix", "--abandon"]);
      assert.equal(status, state === "abandoned" ? 2 : 4, stderr);
      assertEnded(place);
    });

  it("[W4] is over when the abandoning is killed while it removes what no transaction holds, and 'cleanup' removes the rest", () => {
    using place = new Workplace();
    place.folder("app", old);
    place.done("plan", "create", "-r", "app,strategy=filesystem_copy", "--name", "fix");
    place.drydock(["plan", "write", "fix", "app", "a.txt"], { input: "changed\n" });
    const dead = place.drydock(["recover", "fix", "--abandon"], {
      env: { DRYDOCK_FAILPOINT: "cleanup.remove:2=kill" },
    });
    assert.equal(dead.status, null, dead.stderr);
    const removed = place
      .answer("cleanup", "purge")
      .removed.map(({ kind }: { readonly kind: string }) => kind);
    assert.deepEqual(removed.toSorted(), ["folder", "lock"]);
    assert.deepEqual(readdirSync(join(place.state, "sandboxes")), []);
    assertEnded(place);
  });

  it("[W4] is not abandoned while it is over and nothing of it is left to settle", () => {
    using place = new Workplace();
    place.folder("app", old);
    place.done("plan", "create", "-r", "app", "--name", "fix");
    place.done("plan", "cancel", "fix");
    const { status, stderr } = place.drydock(["recover", "fix", "--abandon"]);
    assert.deepEqual([status, /is cancelled: there is nothing to abandon/.test(stderr)], [2, true], stderr);
  });
});

const CONFIG = `
sandbox: { custom_strategies: { stubborn: { module: ./strategy.mjs, class: Stubborn } } }
`;

/** Prepares, and then can neither land nor go back. */
const STUBBORN = `
export class Stubborn {
  name = "stubborn";
  capabilities = { commit: "two-phase" };
  constructor(context) { this.context = context; }
  async create(planId, resource) {
    const sandboxId = planId + "-" + resource.id;
    const ref = { sandboxId, planId, resourceId: resource.id, strategyName: "stubborn", metadata: {} };
    await this.context.recordIntent(ref, [{ kind: "drawer", location: "the drawer of " + resource.name }]);
    return ref;
  }
  async read() { return Buffer.from(""); }
  async write() { return { path: ".", operation: "modified", kind: "object" }; }
  async diff() { return { changes: [{ path: ".", operation: "modified", kind: "object" }] }; }
  async prepare() { throw new Error("the drawer sticks"); }
  async commitPrepared() { throw new Error("the drawer sticks"); }
  async rollbackPrepared() { throw new Error("the drawer sticks"); }
  async commit() { throw new Error("the drawer sticks"); }
  async rollback() { throw new Error("the drawer sticks"); }
  async checkpoint() {}
  async restoreCheckpoint() {}
  async cleanup() { throw new Error("the drawer sticks"); }
}
`;
