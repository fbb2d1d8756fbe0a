import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { ApplyResult, PlanView, RecoveryReport } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import type { ChildCall } from "../rivals/drydock-child.ts";
import { DrydockProcess, lastError, lastResult, type ProcessEnd } from "../rivals/drydock-process.ts";
import { IS_LONG, itInTurn } from "../support/long-form.ts";
import { removeFolder } from "../support/remove-folder.ts";

const FOLDERS = ["one", "two", "one/inner"];
/** Before the decision, and after. */
const POINTS = ["stage.take-out:1", "land.exchange:1"];

describe("Two processes at once", () => {
  it("[A14] apply one plan: it lands once, and the other hears so", async () => {
    await using scene = new NestedFolders();
    const plan = await scene.plan("one");
    const ends = await scene.together([["apply", plan.id]], [["apply", plan.id]], "land.exchange:1");
    assert.equal(ends.filter(succeeded).length, 1);
    assert.match(
      lastError(ends.find((end) => !succeeded(end))!).message,
      /applied and cannot become applying/,
    );
    assert.equal(scene.text("one/file"), "planned\n");
  });

  it("[A14] apply two plans over one folder: the second waits, then sees what the first one did", async () => {
    await using scene = new NestedFolders();
    const [first, second] = [await scene.plan("one"), await scene.plan("one", "another\n")];
    const ends = await scene.together(
      [["apply", first.id]],
      [["apply", second.id]],
      "landings.flush-staged:1",
    );
    assert.equal(ends.filter(succeeded).length, 1);
    const error = lastError(ends.find((end) => !succeeded(end))!);
    assert.deepEqual(
      (error.details["conflicts"] as { path: string }[]).map(({ path }) => path),
      ["added", "file"],
    );
    assert.match(scene.text("one/file"), /^(?:planned|another)\n$/);
    assert.equal(scene.text("one/file"), scene.text("one/added"));
  });

  it("[A14] apply plans over a folder and over one inside it: one after the other, and both land", async () => {
    await using scene = new NestedFolders();
    const [outer, inner] = [await scene.plan("one"), await scene.plan("one/inner", "inner\n")];
    const ends = await scene.together([["apply", outer.id]], [["apply", inner.id]], "land.exchange:1");
    assert.equal(ends.filter(succeeded).length, 2);
    assert.equal(scene.text("one/file"), "planned\n");
    assert.equal(scene.text("one/inner/file"), "inner\n");
  });

  it("[A14] while one holds its originals, a plan on others goes on, and one on the same is refused with the owner's name", async () => {
    await using scene = new NestedFolders();
    const [first, same, other] = [
      await scene.plan("one"),
      await scene.plan("one/inner"),
      await scene.plan("two"),
    ];
    await using holder = scene.process([["apply", first.id]], "land.exchange:1=stop", "the first one");
    await holder.mustStop();
    assert.equal(lastResult<ApplyResult>(await scene.process([["apply", other.id]]).ends()).state, "applied");
    assert.equal(scene.text("two/file"), "planned\n");
    const refused = lastError(await scene.process([["apply", same.id]]).ends());
    assert.match(refused.message, new RegExp(`'the first one' \\(pid ${holder.pid}`));
    assert.equal(scene.text("one/inner/file"), "old\n");
    holder.goOn();
    assert.equal(lastResult<ApplyResult>(await holder.ends()).state, "applied");
    assert.equal(lastResult<ApplyResult>(await scene.process([["apply", same.id]]).ends()).state, "applied");
  });

  for (const point of POINTS) {
    describe(`while one stands at ${point}`, () => {
      const inTurn = itInTurn(point, POINTS);
      inTurn("[A14] apply and cancel one plan: it lands or is cancelled, never both", async () => {
        await using scene = new NestedFolders();
        const plan = await scene.plan("one");
        const [applied, cancelled] = await scene.together([["apply", plan.id]], [["cancel", plan.id]], point);
        assert.equal(succeeded(applied), true, JSON.stringify(applied.answers));
        assert.equal(lastError(cancelled).code, "PLAN_STATE");
        assert.equal(scene.text("one/file"), "planned\n");
        assert.equal(scene.text("one/added"), "planned\n");
      });

      inTurn("[A14] apply and write, rollback and undo one plan: each waits for the apply", async () => {
        await using scene = new NestedFolders();
        for (const call of [["write", "file", "late\n"], ["rollback"], ["undo"]] as const) {
          const plan = await scene.plan("one", `${call[0]}\n`);
          const args: ChildCall =
            call[0] === "write" ? ["write", plan.id, "one", call[1], call[2]] : [call[0], plan.id];
          const [applied, other] = await scene.together([["apply", plan.id]], [args], point);
          assert.equal(succeeded(applied), true, JSON.stringify(applied.answers));
          assert.equal(succeeded(other), call[0] === "undo", JSON.stringify(other.answers));
          if (call[0] !== "undo") assert.equal(scene.text("one/file"), `${call[0]}\n`);
        }
      });

      inTurn("[A14] recover while another applies: the living one is left alone", async () => {
        await using scene = new NestedFolders();
        const plan = await scene.plan("one");
        await using holder = scene.process([["apply", plan.id]], `${point}=stop`);
        await holder.mustStop();
        const report = lastResult<RecoveryReport>(await scene.process([["recover"]]).ends());
        assert.deepEqual([...report.finished, ...report.undone, ...report.cleaned], []);
        holder.goOn();
        const result = lastResult<ApplyResult>(await holder.ends());
        assert.deepEqual([result.state, result.attention], ["applied", []]);
        assert.equal(scene.text("one/file"), "planned\n");
      });

      it("[A14] recover what a dead one left: it is settled once", async () => {
        await using scene = new NestedFolders();
        const plan = await scene.plan("one");
        await using dying = scene.process([["apply", plan.id]], `${point}=kill`);
        assert.equal((await dying.ends()).signal, "SIGKILL");
        const ends = await Promise.all([1, 2, 3].map(() => scene.process([["show", plan.id]]).ends()));
        const reports = ends.map((end) => (end.answers[0] as { result: RecoveryReport }).result);
        const settled = reports.flatMap(({ finished, undone }) => [...finished, ...undone]);
        assert.equal(settled.length, 1, JSON.stringify(reports));
        const isApplied = point.startsWith("land");
        assert.equal(scene.text("one/file"), isApplied ? "planned\n" : "old\n");
        const drydock = await scene.open();
        assert.equal((await drydock.plans.show(plan.id)).state, isApplied ? "applied" : "open");
      });
    });
  }

  it("[L3] create plans over one folder: each gets its own, whole", async () => {
    await using scene = new NestedFolders();
    const create: ChildCall = ["create", { resources: [{ location: scene.at("one") }] }];
    const ends = await Promise.all([1, 2, 3].map(() => scene.process([create]).ends()));
    const plans = ends.map((end) => lastResult<PlanView>(end));
    assert.equal(new Set(plans.map(({ id }) => id)).size, 3);
    const drydock = await scene.open();
    for (const { id } of plans)
      assert.equal(readFileSync(join(await drydock.plans.path(id), "file"), "utf8"), "old\n");
    for (const { id } of plans) await drydock.plans.cancel(id);
  });
});

/** How many are at it. */
const CROWD = IS_LONG ? 10 : 6;

describe(`${CROWD} processes at once`, () => {
  it("[A14] [L3] each make a plan over one folder, write and apply: all land, none mixed", {
    timeout: 120_000,
  }, async () => {
    await using scene = new NestedFolders();
    const ends = await Promise.all(
      Array.from({ length: CROWD }, (_, at) => {
        const name = `plan-${at}`;
        return scene
          .process([
            ["create", { name, resources: [{ location: scene.at("one") }] }],
            ["write", name, "one", `mine-${at}/a`, `${at}\n`],
            ["write", name, "one", `mine-${at}/b`, `${at}\n`],
            ["apply", name],
          ])
          .ends();
      }),
    );
    ends.forEach((end, at) => {
      const applied = succeeded(end);
      if (!applied) assert.match(lastError(end).message, /in use by/);
      for (const name of ["a", "b"])
        assert.equal(scene.textIfThere(`one/mine-${at}/${name}`), applied ? `${at}\n` : undefined);
    });
    assert.ok(ends.filter(succeeded).length >= CROWD / 2, "most get their turn in time");
    const drydock = await scene.open();
    assert.deepEqual(drydock.recovery.pending, []);
  });
});

/** Three folders, one inside another, and a state directory. */
class NestedFolders {
  readonly #base = mkdtempSync(join(tmpdir(), "drydock-concurrency-"));
  readonly #open: Services[] = [];

  constructor() {
    for (const folder of FOLDERS) {
      mkdirSync(this.at(folder), { recursive: true });
      writeFileSync(this.at(`${folder}/file`), "old\n");
    }
  }

  at(path: string): string {
    return join(this.#base, path);
  }

  text(path: string): string {
    return readFileSync(this.at(path), "utf8");
  }

  textIfThere(path: string): string | undefined {
    try {
      return this.text(path);
    } catch {
      return undefined;
    }
  }

  async open(): Promise<Services> {
    const drydock = await openServices({ stateDir: this.at("state"), cwd: this.#base, environment: {} });
    this.#open.push(drydock);
    return drydock;
  }

  /** A plan over a folder that changes `file` and adds `added`. */
  async plan(folder: string, content = "planned\n"): Promise<PlanView> {
    const drydock = await this.open();
    const plan = await drydock.plans.create({ resources: [{ location: this.at(folder) }] });
    const name = plan.resources[0]?.name ?? "";
    for (const path of ["file", "added"])
      await drydock.plans.write(plan.id, name, path, Buffer.from(content));
    return plan;
  }

  process(calls: readonly ChildCall[], failpoint?: string, command?: string): DrydockProcess {
    return new DrydockProcess(
      { stateDir: this.at("state"), calls, ...(command !== undefined && { command }) },
      failpoint === undefined ? {} : { failpoint },
    );
  }

  /** Stops the first at that point, lets the second run into it, then lets the first go on. */
  async together(
    first: readonly ChildCall[],
    second: readonly ChildCall[],
    point: string,
  ): Promise<readonly [ProcessEnd, ProcessEnd]> {
    await using one = this.process(first, `${point}=stop`);
    await one.mustStop();
    await using two = this.process(second);
    await two.hasSaid(1);
    one.goOn();
    return [await one.ends(), await two.ends()];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const drydock of this.#open) await drydock.close();
    removeFolder(this.#base);
  }
}

function succeeded(end: ProcessEnd): boolean {
  const last = end.answers.at(-1);
  return last !== undefined && "result" in last;
}
