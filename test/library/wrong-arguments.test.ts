import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Drydock, DrydockError, openDrydock, type Plan, UsageError } from "../../src/index.ts";
import { removeFolder } from "../support/remove-folder.ts";

type Callable = (...args: readonly unknown[]) => unknown;

const CYCLE: { [name: string]: unknown } = {};
CYCLE["resources"] = [CYCLE];

function throws(): never {
  throw new RangeError("whoever reads this is thrown at");
}

/** What is right nowhere in the library. */
const NONSENSE: readonly unknown[] = [
  null,
  7,
  Number.NaN,
  true,
  Symbol("x"),
  1n,
  [null],
  [[]],
  new Date(),
  new Map(),
  { wrong: 1 },
  CYCLE,
  Object.defineProperty({}, "resources", { enumerable: true, get: throws }),
  new Proxy({}, { ownKeys: throws }),
];

/** What is right in some places, and must be answered everywhere. */
const ODD: readonly unknown[] = [
  undefined,
  "",
  "a\0b",
  "x".repeat(1 << 20),
  "../..",
  "p",
  [],
  {},
  () => 7,
  Buffer.from("x"),
  { resources: [] },
  { resources: [{ location: "a\0b" }] },
  { resources: [{ location: "x".repeat(1 << 20) }] },
  { resources: [{ location: "folder", strategy: "\0", type: "", name: "\0", from: "x" }] },
  { command: [] },
  { command: ["\0"] },
  { only: [""], paths: [""] },
  { label: "x".repeat(1 << 20) },
];

const TAKE_NOTHING = [
  ...["close", "recover", "doctor", "cleanup.status", "strategies.list", "resourceTypes.list"],
  ...["plan.path", "plan.sandbox", "plan.show", "plan.undo", "plan.cancel", "plan.checkpoints"],
  ...["plan.commands", "hosts.list"],
  ...["plan.approval", "plan.scratch", "plan.log", "plan.abandon", "resource.path", "resource.sandbox"],
];

/** A Drydock with one plan in it. */
class Scene implements AsyncDisposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "drydock-arguments-")));
  #drydock: Drydock | undefined;

  get options() {
    return { stateDir: join(this.path, "state"), cwd: this.path, environment: {} };
  }

  async open(): Promise<{ readonly drydock: Drydock; readonly plan: Plan }> {
    mkdirSync(join(this.path, "folder"));
    writeFileSync(join(this.path, "folder/file"), "old\n");
    this.#drydock = await openDrydock(this.options);
    const resources = [{ location: "folder", strategy: "filesystem_copy" }];
    const plan = await this.#drydock.plans.create({ name: "p", resources });
    return { drydock: this.#drydock, plan };
  }

  /** Every function of the library, by its name. */
  functions(drydock: Drydock, plan: Plan): Map<string, Callable> {
    const { plans, cleanup, hosts, strategies, resourceTypes } = drydock;
    const resource = plan.resource("folder");
    const found = new Map<string, Callable>();
    for (const [title, holder] of Object.entries({
      "": drydock,
      ...{ plans, cleanup, hosts, strategies, resourceTypes, plan, resource },
    }))
      for (const [name, method] of Object.entries(holder)) {
        const full = title === "" ? name : `${title}.${name}`;
        if (typeof method === "function" && !TAKE_NOTHING.includes(full))
          found.set(full, Reflect.get(holder, name) as Callable);
      }
    assert.ok(found.size > 20);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#drydock?.close();
    removeFolder(this.path);
  }
}

/** What a call throws, also when what it gives is gone through. */
async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    const given = await call();
    if (typeof given !== "object" || given === null || !(Symbol.asyncIterator in given)) return undefined;
    for await (const item of given as AsyncIterable<unknown>) {
      // Events never end; the first one is enough.
      if (typeof item === "object" && item !== null && "cursor" in item) break;
    }
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

describe("[X5] what programs hand to the library", () => {
  it("is refused by a sentence that names the argument, when it is nonsense, and nothing is done", async () => {
    await using scene = new Scene();
    const { drydock, plan } = await scene.open();
    for (const [name, method] of scene.functions(drydock, plan))
      for (const value of NONSENSE) {
        const thrown = await thrownBy(() => method(value));
        const shown = `${name}, given ${Object.prototype.toString.call(value)}: ${String(thrown)}`;
        assert.ok(thrown instanceof UsageError, shown);
        assert.ok(thrown.message.startsWith(`${name}: `) || name === "resourceTypes.get", shown);
      }
    assert.deepEqual(readdirSync(join(scene.path, "folder")), ["file"]);
    const plans = await drydock.plans.list({ all: true });
    assert.deepEqual(
      plans.map(({ name, state }) => `${name} ${state}`),
      ["p open"],
    );
  });

  it("is answered by an error of ours, or done, whatever it is and wherever it stands", async () => {
    await using scene = new Scene();
    const { drydock, plan } = await scene.open();
    for (const [name, method] of scene.functions(drydock, plan)) {
      // Whole runs of commands and of the conformance suite are for other tests.
      const places = ["plan.exec", "run", "strategies.check"].includes(name)
        ? [[]]
        : [[], ["p"], ["x"], ["folder"]];
      for (const before of places)
        for (const value of [...NONSENSE, ...ODD]) {
          const thrown = await thrownBy(() => method(...before, value));
          const shown = `${name}(${[...before, Object.prototype.toString.call(value)].join(", ")}): ${String(thrown)}`;
          assert.ok(thrown === undefined || thrown instanceof DrydockError, shown);
        }
    }
    assert.equal(readFileSync(join(scene.path, "folder/file"), "utf8"), "old\n");
  });

  it("is refused, too, when Drydock is opened with it, and no state directory is made", async () => {
    await using scene = new Scene();
    for (const value of NONSENSE)
      assert.ok((await thrownBy(() => openDrydock(value as object))) instanceof UsageError, String(value));
    const names = [
      "stateDir",
      "config",
      "cwd",
      "environment",
      "command",
      "onProgress",
      "onNotice",
      "signal",
      "strategies",
    ];
    for (const name of [...names, "now"])
      for (const value of [...NONSENSE, "\0"]) {
        if (name === "command" && value === "\0") continue;
        const thrown = await thrownBy(() => openDrydock({ ...scene.options, [name]: value }));
        assert.ok(thrown instanceof UsageError, `${name}: ${String(thrown)}`);
        assert.match(thrown.message, new RegExp(`^openDrydock: options\\.${name}`));
      }
    assert.deepEqual(readdirSync(scene.path), []);
    const now = () => 7 as unknown as Date;
    const thrown = await thrownBy(() => openDrydock({ ...scene.options, now }));
    assert.match(String(thrown), /what openDrydock: options\.now returns has to be a Date, and is 7/);
  });

  it("lands nothing when a program's decision is none", async () => {
    await using scene = new Scene();
    const { drydock } = await scene.open();
    const resources = [{ location: "folder", strategy: "filesystem_copy" }];
    const decide = async () => undefined as unknown as "apply";
    const command = ["sh", "-c", "echo new > file"];
    const cwd = join(scene.path, "folder");
    await assert.rejects(drydock.run({ plan: { resources }, decide, command, cwd }), {
      name: "UsageError",
      message: /^what run: request\.decide returns has to be apply or keep or discard/,
    });
    assert.equal(readFileSync(join(scene.path, "folder/file"), "utf8"), "old\n");
  });
});
