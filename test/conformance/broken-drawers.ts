import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Change, PreparedCommit, Resource, SandboxRef, Transaction } from "drydock-sandbox/strategy";
import { type Drawer, DrawerStrategy, type Steps } from "./drawer.ts";

/** Strategies for something that is no folder that really work, but for one thing each. */

/** Writes the original where it stands. */
export class WritesInPlace extends DrawerStrategy {
  protected override save(path: string, drawer: Drawer): void {
    writeFileSync(path, "");
    this.context.failpoint("drawer.emptied");
    writeFileSync(path, JSON.stringify(drawer));
  }
}

/** Lands in prepare already. */
export class LandsInPrepare extends DrawerStrategy {
  override async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    const prepared = await super.prepare(ref, transaction);
    if (prepared !== null) await super.commitPrepared(ref, transaction, prepared);
    return prepared;
  }
}

/** Forgets what another call does meanwhile. */
export class LosesWrites extends DrawerStrategy {
  override async write(ref: SandboxRef, path: string, bytes: Uint8Array): Promise<Change> {
    const work = join(String(ref.metadata["folder"]), "work");
    const before = readFileSync(work, "utf8");
    await nextTurn();
    writeFileSync(work, before);
    return await super.write(ref, path, bytes);
  }
}

/** Keeps one sandbox for all plans. */
export class SharesASandbox extends DrawerStrategy {
  override async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const ref = await super.create(planId, resource);
    const shared = join(this.context.stateDir, "shared");
    rmSync(shared, { recursive: true, force: true });
    renameSync(String(ref.metadata["folder"]), shared);
    return { ...ref, metadata: { ...ref.metadata, folder: shared } };
  }
}

/** Takes everything for text. */
export class ReadsText extends DrawerStrategy {
  override async write(ref: SandboxRef, path: string, bytes: Uint8Array): Promise<Change> {
    return await super.write(
      ref,
      path,
      Buffer.from(Buffer.from(bytes).toString("latin1").replaceAll("\r", ""), "latin1"),
    );
  }
}

/** Throws the work away, and leaves what has landed. */
export class RollsBackOnlyWork extends DrawerStrategy {
  override async rollback(ref: SandboxRef): Promise<void> {
    writeFileSync(join(String(ref.metadata["folder"]), "landed"), "{}");
    await super.rollback(ref);
  }
}

/** Uses a checkpoint up. */
export class UsesUpCheckpoints extends DrawerStrategy {
  override async restoreCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    const folder = String(ref.metadata["folder"]);
    renameSync(join(folder, `saved-${checkpointId}`), join(folder, "work"));
    this.context.failpoint("drawer.restored");
  }
}

/** Can remove only what is whole. */
export class RemovesOnlyWholeOnes extends DrawerStrategy {
  override async cleanup(ref: SandboxRef): Promise<void> {
    const folder = String(ref.metadata["folder"]);
    readFileSync(join(folder, "base"));
    rmSync(join(folder, "base"));
    this.context.failpoint("drawer.half-removed");
    rmSync(folder, { recursive: true });
  }
}

/** Does not know of parts, though it says so. */
export class LandsEverything extends DrawerStrategy {
  override async prepare(
    ref: SandboxRef,
    { only: _, ...whole }: Transaction,
  ): Promise<PreparedCommit | null> {
    return await super.prepare(ref, whole);
  }
}

/** Takes all of the work for landed when a part of it has. */
export class ForgetsTheRest extends DrawerStrategy {
  protected override nextBase(ref: SandboxRef): Drawer {
    return this.load(join(String(ref.metadata["folder"]), "work"));
  }
}

/** Takes what has landed out of the sandbox too. */
export class UsesUpParts extends DrawerStrategy {
  protected override land(ref: SandboxRef, steps: Steps): void {
    super.land(ref, steps);
    const work = join(String(ref.metadata["folder"]), "work");
    const left = Object.entries(this.load(work)).filter(([path]) => steps[path] === undefined);
    this.save(work, Object.fromEntries(left));
  }
}

/** Finds out what has landed from what is left to land, which is another thing after a crash. */
export class LandsWhatIsLeft extends DrawerStrategy {
  protected override nextBase(ref: SandboxRef, steps: Steps): Drawer {
    const next = super.nextBase(ref, steps);
    const mark = join(String(ref.metadata["folder"]), "landing");
    if (existsSync(mark)) return this.load(join(String(ref.metadata["folder"]), "base"));
    writeFileSync(mark, "");
    this.context.failpoint("drawer.landing");
    return next;
  }
}

/** Each with the case that has to catch it, and what that has to say. */
export const BROKEN_DRAWERS: readonly (readonly [
  whatItDoes: string,
  strategy: typeof DrawerStrategy,
  caughtBy: string,
  reason: RegExp,
])[] = [
  [
    "writes the original where it stands",
    WritesInPlace,
    "finishes a commitPrepared that was killed, in another process",
    /Unexpected end of JSON input/,
  ],
  [
    "lands in prepare",
    LandsInPrepare,
    "prepares what was written without touching the original, lands it, and lands it again as nothing new",
    /after prepare should be as before/,
  ],
  ["loses writes", LosesWrites, "takes writes of several files at once", /There is no at-once/],
  [
    "keeps one sandbox for all plans",
    SharesASandbox,
    "makes the sandboxes of two plans at once, and keeps them apart",
    /what each of them holds/,
  ],
  [
    "takes everything for text",
    ReadsText,
    "lands what was written, byte by byte, and nothing else",
    /a new file: is/,
  ],
  [
    "leaves what has landed in a rollback",
    RollsBackOnlyWork,
    "takes what was written back by rollback, also after it landed",
    /should be as before the commit/,
  ],
  [
    "uses a checkpoint up",
    UsesUpCheckpoints,
    "restores a checkpoint after a restore that was killed",
    /ENOENT.*saved-c1/,
  ],
  [
    "lands everything where a part is meant",
    LandsEverything,
    "lands one of two files by itself; the other stays work, and lands later",
    /how many changes it says will land: is 2, should be 1/,
  ],
  [
    "forgets the rest of the work when a part has landed",
    ForgetsTheRest,
    "lands one of two files by itself; the other stays work, and lands later",
    /the diff when the part has landed/,
  ],
  [
    "no longer shows what has landed",
    UsesUpParts,
    "takes a part back that landed, exactly: it is work of the sandbox again",
    /the diff after the undo of the part/,
  ],
  [
    "can't be told to land a part again after a crash",
    LandsWhatIsLeft,
    "finishes landing a part that was killed, in another process; the rest stays work",
    /commitPrepared was killed at its failpoint drawer.landing:1/,
  ],
  [
    "can remove only what is whole",
    RemovesOnlyWholeOnes,
    "finishes a cleanup that was killed",
    /ENOENT.*base/,
  ],
];
