import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { openServices } from "../../src/runtime.ts";
import { bundledProgram } from "../support/bundled-program.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { IS_LONG } from "../support/long-form.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { assertSameTree, snapshotTree, type TreeSnapshot } from "../support/tree-snapshot.ts";
import type { Held, ManyTask } from "./many-sandboxes-child.ts";

const NEEDS_ROOT = process.geteuid?.() === 0 ? false : "only root may mount an overlay where all see it";
const PROCESSES = IS_LONG ? 20 : 4;
const EACH = IS_LONG ? 10 : 8;
const ONE_AFTER_THE_OTHER = IS_LONG ? 200 : 70;
/** A leak of one entry of a mount table or of one diff for each plan is many times that. */
const MEGABYTES_MORE = 20;

/** A folder with a few files, and a state directory. */
class Place implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(fastFolder(), "drydock-many-")));
  readonly original = join(this.path, "original");
  readonly stateDir = join(this.path, "state");

  constructor() {
    mkdirSync(join(this.original, "folder"), { recursive: true });
    for (const name of ["a", "folder/b"]) writeFileSync(join(this.original, name), `${name}\n`);
  }

  get mounts(): number {
    const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    return lines.filter((line) => line.includes(this.path)).length;
  }

  /** What is left in a folder of the state directory. */
  left(folder: string): readonly string[] {
    return readdirSync(join(this.stateDir, folder));
  }

  [Symbol.dispose](): void {
    removeFolder(this.path);
  }
}

describe("Many sandboxes over one folder", { skip: NEEDS_ROOT }, () => {
  it(`[A14][A17] ${PROCESSES * EACH} at once from ${PROCESSES} processes, each landing or discarding its own files, leave no mount and no folder`, async () => {
    using place = new Place();
    const { original, stateDir } = place;
    const before = withoutFolderTimes(original);
    const crowd = new SandboxMakers(place);
    try {
      await crowd.ready();
      assert.equal(place.mounts, PROCESSES * EACH);
      await crowd.finish();
    } finally {
      crowd.kill();
    }
    assert.equal(place.mounts, 0);
    const landed = Array.from({ length: (PROCESSES * EACH) / 2 }, (_, at) => `own-${at * 2}`);
    assert.deepEqual(readdirSync(original).toSorted(), ["a", "folder", ...landed].toSorted());
    assert.deepEqual(readdirSync(join(original, "folder")).toSorted(), ["b", ...landed].toSorted());
    for (const name of landed) assert.equal(readFileSync(join(original, name), "utf8"), `${name.slice(4)}\n`);
    assert.deepEqual(place.left("owners"), []);
    for (const sandbox of place.left("sandboxes"))
      assert.deepEqual(place.left(join("sandboxes", sandbox)), ["landings"]);
    assert.equal(place.left("sandboxes").length, landed.length);
    const { plans, close } = await openServices({ stateDir, environment: {} });
    try {
      const applied = (await plans.list({ all: true })).filter(({ state }) => state === "applied");
      assert.equal(applied.length, landed.length);
      for (const { id } of applied) await plans.undo(id);
    } finally {
      await close();
    }
    assert.deepEqual(place.left("sandboxes"), []);
    assertSameTree(withoutFolderTimes(original), before, "after all is taken back");
  });

  it(`[A17] ${ONE_AFTER_THE_OTHER} one after the other cost a process no memory and no open file, and leave nothing`, async (t) => {
    using place = new Place();
    const task: ManyTask = {
      does: "sequence",
      stateDir: place.stateDir,
      original: place.original,
      plans: ONE_AFTER_THE_OTHER,
    };
    const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", ...programOf(task)]);
    const [before, after] = JSON.parse(stdout) as [Held, Held];
    assert.equal(after.openFiles, before.openFiles);
    t.diagnostic(`${before.megabytes.toFixed(0)} MB, then ${after.megabytes.toFixed(0)}`);
    const more = after.megabytes - before.megabytes;
    assert.ok(more < MEGABYTES_MORE, `${before.megabytes} MB, then ${after.megabytes}`);
    assert.equal(place.mounts, 0);
    for (const folder of ["sandboxes", "owners"]) assert.deepEqual(place.left(folder), []);
    assert.deepEqual(place.left("runs"), []);
  });
});

/**
 * They are taken back in another order than they landed in, so each finds folders that others have changed
 * since.
 */
function withoutFolderTimes(original: string): TreeSnapshot {
  const lines = [...snapshotTree(original)];
  return new Map(lines.map(([path, line]) => [path, line.replace(/^(folder .*) mtime=\d+/, "$1")]));
}

function programOf(task: ManyTask): readonly string[] {
  return [bundledProgram("test/scenarios/many-sandboxes-child.ts"), JSON.stringify(task)];
}

/** The processes, each with its share of the numbers. */
class SandboxMakers {
  readonly #children: readonly { readonly child: ChildProcess; readonly said: string[] }[];

  constructor({ stateDir, original }: Place) {
    this.#children = Array.from({ length: PROCESSES }, (_, at) => {
      const numbers = Array.from({ length: EACH }, (__, number) => at * EACH + number);
      const task: ManyTask = { does: "crowd", stateDir, original, numbers };
      const child = spawn(process.execPath, programOf(task), { stdio: ["pipe", "pipe", "pipe"] });
      const said: string[] = [];
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (text) => said.push(text));
      return { child, said };
    });
  }

  /** Waits until all have made theirs. */
  async ready(): Promise<void> {
    for (const { child, said } of this.#children)
      while (!said.join("").includes("ready")) {
        await Promise.race([once(child.stdout ?? child, "data"), once(child, "close")]);
        assert.equal(child.exitCode, null, said.join(""));
      }
  }

  /** Lets all of them go on at once, to the end. */
  async finish(): Promise<void> {
    const ends = this.#children.map(({ child }) => once(child, "close"));
    for (const { child } of this.#children) child.stdin?.end("go\n");
    await Promise.all(ends);
    for (const { child, said } of this.#children) assert.equal(child.exitCode, 0, said.join(""));
  }

  kill(): void {
    for (const { child } of this.#children) child.kill("SIGKILL");
  }
}
