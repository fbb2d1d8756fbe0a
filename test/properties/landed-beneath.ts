import assert from "node:assert/strict";
import { closeSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { ulid } from "ulid";
import { DrydockError } from "../../src/core/errors/errors.ts";
import type { SandboxRef } from "../../src/core/sandbox.ts";
import type { PreparedCommit, StrategyContext, Transaction } from "../../src/core/strategy.ts";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { OverlayStrategy } from "../../src/strategies/overlay/overlay.ts";
import { armFailpoints } from "../../src/system/failpoints.ts";
import { contextIn } from "../support/strategy-context.ts";
import { bringBack, doIn, look, mirror, mirrorName } from "./landed-model.ts";
import { type Crash, type Focus, type Step, steps, type Work } from "./landed-steps.ts";
import { assertInTime } from "./property-runs.ts";
import { layerOf } from "./saved-layer.ts";

export interface LandedTrial {
  readonly way: OverlayWay;
  readonly focus: Focus;
  readonly parent: string;
  readonly count: number;
  readonly seconds: number;
}

/**
 * Programs work in an overlay while it lands and is restored: nothing is lost, and nothing lands unseen.
 * After each step the original is what a plain model says, and what is left to land is what the models
 * differ in.
 */
export async function worksBeneathPrograms(trial: LandedTrial): Promise<void> {
  const { way, focus, parent, count, seconds } = trial;
  const lengths = focus === "landing" ? { minLength: 5, maxLength: 25 } : { minLength: 20, maxLength: 40 };
  await assertInTime(
    fc.asyncProperty(fc.array(steps(way, focus), lengths), async (sequence) => {
      const world = await World.open(way, mkdtempSync(join(parent, "world-")));
      try {
        for (const next of sequence) await world.step(next);
        await world.finish();
      } catch (thrown) {
        assert.fail(`${world.log.join("\n")}\n${thrown instanceof Error ? thrown.stack : String(thrown)}`);
      } finally {
        await world.close();
      }
    }),
    count,
    seconds,
  );
}

interface Landed {
  readonly transaction: Transaction;
  readonly prepared: PreparedCommit;
  readonly before: string;
}

/** A checkpoint, with what programs see then, and with what differs from the original. */
interface Saved {
  readonly id: string;
  readonly model: string;
  readonly changes: readonly string[];
}

/** A sandbox in which programs work: this process is all of them. */
class World {
  readonly #way: OverlayWay;
  readonly #base: string;
  readonly #original: string;
  /** What the original and the sandbox have to be. */
  readonly #model: { readonly original: string; readonly sandbox: string };
  readonly #ref: SandboxRef;
  readonly #landed: Landed[] = [];
  #strategy: OverlayStrategy;
  #running = "";
  #held: readonly number[] = [];
  #checkpoint: Saved | undefined;
  #copies = 0;
  readonly log: string[] = [];

  private constructor(way: OverlayWay, base: string, strategy: OverlayStrategy, ref: SandboxRef) {
    this.#way = way;
    this.#base = base;
    this.#original = join(base, "project");
    this.#model = { original: join(base, "model"), sandbox: join(base, "sandbox") };
    this.#strategy = strategy;
    this.#ref = ref;
  }

  static async open(way: OverlayWay, base: string): Promise<World> {
    const original = join(base, "project");
    for (const name of [
      "project",
      "state",
      "project/old",
      "project/old/in",
      "project/kept",
      "project/shared",
      "project/apart",
    ])
      mkdirSync(join(base, name));
    for (const name of ["a", "b", "old/one", "old/in/two", "kept/one", "kept/two", "shared/own"])
      writeFileSync(join(original, name), `${name}\n`);
    const strategy = new OverlayStrategy(contextIn(join(base, "state")), [way]);
    const resource = { id: "r", name: "r", type: "fs-directory", location: original, properties: {} };
    const world = new World(way, base, strategy, await strategy.create(ulid(), resource));
    mirror(original, world.#model.original);
    mirror(original, world.#model.sandbox);
    await world.#begin();
    return world;
  }

  async step(next: Step): Promise<void> {
    this.log.push(JSON.stringify(next));
    if (next.kind === "work") this.#do(next.work);
    else if (next.kind === "rival") this.#rival(next.path, next.text);
    else if (next.kind === "apply") await this.#apply(next.only, next.crash);
    else if (next.kind === "end") await this.#end();
    else if (next.kind === "broken-end") await this.#brokenEnd(next.point, next.nth);
    else if (next.kind === "checkpoint") await this.#save();
    else if (next.kind === "restore") await this.#restore();
    else if (next.kind === "restore-inside") await this.#restoreInside(next.crash);
    else await this.#undo();
    this.#assertOriginal();
  }

  async finish(): Promise<void> {
    await this.#end();
    await this.#leave();
    await this.#strategy.commit(this.#ref);
    mirror(this.#model.sandbox, this.#model.original);
    this.#assertOriginal();
  }

  async close(): Promise<void> {
    armFailpoints(undefined);
    if (this.#running !== "") await this.#leave();
    await this.#strategy.cleanup(this.#ref);
    rmSync(this.#base, { recursive: true, force: true });
  }

  /** Another process: it knows only what is on disk. */
  #again(): void {
    const standsStill = () => this.#running !== "";
    const context: StrategyContext = { ...contextIn(join(this.#base, "state")), standsStill };
    this.#strategy = new OverlayStrategy(context, [this.#way]);
  }

  async #begin(): Promise<void> {
    this.#again();
    const view = await this.#strategy.enter(this.#ref);
    assert.equal(view.kind, "place");
    this.#running = view.kind === "place" ? String(view.path) : "";
    assert.equal(look(this.#running), look(this.#model.sandbox), "programs do not see their work");
  }

  async #leave(): Promise<void> {
    this.#closeAll();
    this.#running = "";
    this.#again();
    await this.#strategy.leave(this.#ref);
  }

  #closeAll(): void {
    for (const fd of this.#held) closeSync(fd);
    this.#held = [];
  }

  async #end(): Promise<void> {
    const before = await this.#changes();
    await this.#leave();
    assert.deepEqual(await this.#changes(), before, "the work differs after the end of the programs");
    await this.#begin();
    assert.deepEqual(await this.#changes(), before, "the work differs for other programs");
  }

  async #brokenEnd(point: string, count: number): Promise<void> {
    armFailpoints(`${point}:${count}=error`);
    try {
      await this.#leave();
    } catch (thrown) {
      if (!(thrown instanceof DrydockError)) throw thrown;
      this.log.push("broken");
    } finally {
      armFailpoints(undefined);
    }
    await this.#begin();
  }

  async #changes(): Promise<readonly string[]> {
    const { changes } = await this.#strategy.diff(this.#ref);
    return [...changes].map(({ operation, path: changed }) => `${operation} ${changed}`).toSorted();
  }

  /** What fails in the sandbox is not done. */
  #do(next: Work): void {
    try {
      this.#held = doIn(this.#running, next, this.#held, 0);
    } catch (thrown) {
      if (!(thrown instanceof Error && "code" in thrown)) throw thrown;
      return;
    }
    this.#held = doIn(this.#model.sandbox, next, this.#held, 1);
  }

  #rival(name: string, content: string | undefined): void {
    for (const root of [this.#original, this.#model.original]) {
      if (content === undefined) rmSync(join(root, name), { force: true });
      else if (lstatSync(dirname(join(root, name)), { throwIfNoEntry: false })?.isDirectory() === true)
        writeFileSync(join(root, name), content);
    }
  }

  async #apply(only: string, broken: Crash | undefined): Promise<void> {
    const before = await this.#changes();
    const { planId } = this.#ref;
    const transaction: Transaction = { id: ulid(), planId, direction: "commit", only: [only] };
    this.#again();
    let prepared: PreparedCommit | null = null;
    try {
      prepared = await this.#strategy.prepare(this.#ref, transaction);
    } catch (thrown) {
      if (!isRefusal(thrown)) throw thrown;
      this.log.push(`refused: ${thrown}`);
      await this.#strategy.rollbackPrepared(this.#ref, transaction);
      return;
    }
    if (prepared === null) return;
    const landing = { transaction, prepared, before: this.#copy(this.#model.original) };
    const atFreeze = this.#copy(this.#model.sandbox);
    if (broken?.point === undefined && broken?.isTakenBack === true) {
      await this.#meanwhile(broken);
      await this.#strategy.rollbackPrepared(this.#ref, transaction);
      if (this.#running === "") await this.#begin();
      return;
    }
    if (broken !== undefined) await this.#breakOff(landing, broken);
    this.#again();
    await this.#strategy.commitPrepared(this.#ref, transaction, prepared);
    this.#landed.push(landing);
    this.#checkpoint = undefined;
    if (only === ".") mirror(atFreeze, this.#model.original);
    else mirrorName(atFreeze, this.#model.original, only);
    if (this.#running === "") await this.#begin();
    if (broken !== undefined) return;
    const isLeft = (change: string) => {
      const [, changed = ""] = change.split(" ");
      return only !== "." && changed !== only && !changed.startsWith(`${only}/`);
    };
    assert.deepEqual(await this.#changes(), before.filter(isLeft), "what is left is not the rest");
    assert.equal(look(this.#running), look(this.#model.sandbox), "programs do not see their work");
  }

  /** The landing fails on its way, and programs go on. */
  async #breakOff({ transaction, prepared }: Landed, broken: Crash): Promise<void> {
    if (broken.point !== undefined) {
      armFailpoints(`${broken.point}:${broken.nth}=error`);
      try {
        await this.#strategy.commitPrepared(this.#ref, transaction, prepared);
      } catch (thrown) {
        if (!(thrown instanceof DrydockError)) throw thrown;
        this.log.push("broken");
      } finally {
        armFailpoints(undefined);
      }
    }
    await this.#meanwhile(broken);
  }

  async #meanwhile(broken: Crash): Promise<void> {
    for (const next of broken.work) this.#do(next);
    if (broken.ends) await this.#leave();
  }

  async #save(): Promise<void> {
    this.#checkpoint = (await this.#saved()) ?? this.#checkpoint;
  }

  async #saved(): Promise<Saved | undefined> {
    this.#again();
    const id = ulid();
    try {
      await this.#strategy.checkpoint(this.#ref, id);
    } catch (thrown) {
      if (!isRefusal(thrown)) throw thrown;
      return undefined;
    }
    return { id, model: this.#copy(this.#model.sandbox), changes: await this.#changes() };
  }

  /** Restores while programs stand still, which then go on. */
  async #restoreInside(broken: Crash | undefined): Promise<void> {
    const target = this.#checkpoint;
    if (target === undefined) {
      await this.#save();
      return;
    }
    const safety = await this.#saved();
    if (safety === undefined) return;
    if (broken?.point !== undefined) armFailpoints(`${broken.point}:${broken.nth}=error`);
    let reached = target;
    try {
      this.#again();
      await this.#strategy.restoreCheckpoint(this.#ref, target.id);
    } catch (thrown) {
      if (isRefusal(thrown)) {
        this.log.push(`refused: ${thrown}`);
        return;
      }
      if (broken === undefined || !(thrown instanceof DrydockError)) throw thrown;
      reached = broken.isTakenBack ? safety : target;
      await this.#afterBroken(broken, reached);
    } finally {
      armFailpoints(undefined);
    }
    bringBack(reached.model, this.#model.sandbox);
    if (this.#running === "") await this.#begin();
    assert.equal(look(this.#running), look(this.#model.sandbox), "programs do not see what was saved");
    assert.deepEqual(await this.#changes(), reached.changes, "the restore is not exact");
    const again = await this.#saved();
    if (again !== undefined)
      assert.deepEqual(layerOf(this.#ref, again.id, this.#way), layerOf(this.#ref, reached.id, this.#way));
  }

  /** Programs go on, perhaps to their end, until the next process brings the sandbox back as a whole. */
  async #afterBroken({ work, ends }: Crash, reached: Saved): Promise<void> {
    this.log.push("broken");
    armFailpoints(undefined);
    this.#closeAll();
    for (const next of work) if (next.does !== "holds") this.#tryIn(this.#running, next);
    if (ends) await this.#leave();
    this.#again();
    try {
      await this.#strategy.restoreCheckpoint(this.#ref, reached.id);
    } catch (thrown) {
      if (!isRefusal(thrown)) throw thrown;
      this.log.push(`refused: ${thrown}`);
      await this.#leave();
      await this.#strategy.restoreCheckpoint(this.#ref, reached.id);
    }
  }

  #tryIn(root: string, next: Work): void {
    try {
      doIn(root, next, [], 0);
    } catch (thrown) {
      if (!(thrown instanceof Error && "code" in thrown)) throw thrown;
    }
  }

  async #restore(): Promise<void> {
    if (this.#checkpoint === undefined) return;
    await this.#leave();
    await this.#strategy.restoreCheckpoint(this.#ref, this.#checkpoint.id);
    bringBack(this.#checkpoint.model, this.#model.sandbox);
    await this.#begin();
  }

  async #undo(): Promise<void> {
    const last = this.#landed.at(-1);
    if (last === undefined) return;
    await this.#leave();
    const { transaction, prepared } = last;
    const undo: Transaction = {
      id: ulid(),
      planId: this.#ref.planId,
      direction: "undo",
      undoes: { id: transaction.id, prepared },
    };
    let undoes: PreparedCommit | null = null;
    try {
      undoes = await this.#strategy.prepare(this.#ref, undo);
    } catch (thrown) {
      if (!isRefusal(thrown)) throw thrown;
      this.log.push(`refused: ${thrown}`);
    }
    if (undoes !== null) {
      await this.#strategy.commitPrepared(this.#ref, undo, undoes);
      await this.#strategy.discardUndo(this.#ref, transaction, prepared);
      this.#landed.pop();
      this.#checkpoint = undefined;
      mirror(last.before, this.#model.original);
    }
    await this.#begin();
  }

  #copy(from: string): string {
    this.#copies += 1;
    const to = join(this.#base, `copy-${this.#copies}`);
    bringBack(from, to);
    return to;
  }

  #assertOriginal(): void {
    const [is, model] = [this.#original, this.#model.original].map((root) => look(root, true));
    assert.equal(is, model, "the original is not as it should be");
  }
}

function isRefusal(thrown: unknown): boolean {
  const known =
    /complete only when|can't land without|changed it since|only land as a whole|is meant by|open for writing|can't be restored while/;
  return thrown instanceof DrydockError && known.test(thrown.message);
}
