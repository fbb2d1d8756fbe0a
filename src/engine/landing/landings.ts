import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Attention, CommitResult, PreparedCommit, Transaction } from "../../core/strategy.ts";
import type { Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { flush } from "../../system/data/flush.ts";
import { writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { Age, OwnTouches } from "../base/own-touches.ts";
import { type LandedRecord, readLanded } from "../manifest/landed-record.ts";
import type { Direction } from "../manifest/manifest.ts";
import type { SlotEntry } from "../manifest/manifest-entries.ts";
import { preparedLanding } from "../manifest/prepared-landing.ts";
import { Slots } from "../manifest/slots.ts";
import {
  damagedRecord,
  MANIFEST,
  needManifest,
  readManifest,
  type StoredManifest,
  wholeManifest,
} from "../manifest/stored-manifest.ts";
import { BALLAST, dropBallast, makeBallast } from "../staging/staged-manifest.ts";
import { stage } from "../staging/staging.ts";
import type { StagingInput } from "../staging/staging-input.ts";
import { removeAllBut, unstage } from "../staging/unstaging.ts";
import { removeTree } from "../tree/remove-tree.ts";
import type { LongWork } from "../work/long-work.ts";
import { runAtOnce, type Steps } from "../work/pace.ts";
import { LANDINGS, landingIds } from "../workspace/landing-ids.ts";
import type { LandedPart } from "./landed-part.ts";
import { assertSameOriginal, runLanding } from "./landing.ts";
import { itself, touchedTargets } from "./touched-folders.ts";

/**
 * The landings of one sandbox, each in a folder of its own in the workspace, `landings/TRANSACTION`. They
 * implement the two-phase methods of every strategy of folders. A finished landing stays as the undo record
 * until it is discarded.
 */
const POINTS = {
  create: failpoint("landings.create"),
  flushStaged: failpoint("landings.flush-staged"),
  flushLanded: failpoint("landings.flush-landed"),
  discard: failpoint("landings.discard"),
  reverting: failpoint("landings.reverting"),
  reverted: failpoint("landings.reverted"),
};
const REVERTING = "reverting";
const REVERTED = "reverted";

/** The tree of a sandbox, to which staged work returns. */
export interface ReturnTarget {
  open(): Folder;
  /** Whether the tree was removed: then the entries that were taken out of it stay in their slots. */
  isGone(): boolean;
  /**
   * Called when everything is back, before the last trace of the landing goes: after a crash later, no record
   * would lead to this call.
   */
  markWhole(): void;
  /** Called with the part that was taken back of a landing that had begun. */
  takeBack?(part: LandedPart): Promise<void>;
}

/** A landing as its record tells it later. */
export interface LandedRecordOnDisk {
  readonly landing: Folder;
  /** Reads the whole record, to see that it is what was prepared. */
  readonly manifest: () => StoredManifest;
  /** Since the landing finished. */
  readonly age: Age;
}

export class Landings {
  readonly #workspace: Folder;
  readonly #touches: OwnTouches;
  readonly #work: LongWork;

  constructor(workspace: Folder, touches: OwnTouches, work: LongWork) {
    this.#workspace = workspace;
    this.#touches = touches;
    this.#work = work;
  }

  /** Stages the work of the sandbox. An interruption stops it: `rollbackPrepared` then takes it back. */
  async prepare(
    transaction: Transaction,
    {
      barrier,
      beforeStaging,
      ...input
    }: Omit<StagingInput, "landing" | "transaction" | "age" | "work"> & {
      readonly barrier: Time;
      /** Called with the landing's folder before anything is staged in it. */
      readonly beforeStaging?: (landing: Folder) => void;
    },
  ): Promise<PreparedCommit | null> {
    using landings = this.#workspace.ensureFolder(POINTS.create, LANDINGS);
    using landing = landings.ensureFolder(POINTS.create, transaction.id);
    const age = this.#touches.since(barrier);
    beforeStaging?.(landing);
    const staged = await stage({ ...input, landing, transaction: transaction.id, age, work: this.#work });
    if (staged === null) {
      const sandbox = {
        open: () => input.sandbox.duplicate(),
        isGone: () => false,
        markWhole: () => undefined,
      };
      await this.rollbackPrepared(transaction, () => input.original.duplicate(), sandbox);
      return null;
    }
    const ours = () => [
      { parent: landings, name: transaction.id },
      itself(landings),
      itself(this.#workspace),
    ];
    await flush(POINTS.flushStaged, landing, ours, staged.entries);
    const data = {
      digest: staged.digest,
      landing: transaction.id,
      ...(input.isPart === true && { part: true }),
    };
    return { changes: input.changes.changes.length, data };
  }

  /**
   * Takes back a prepare, finished or not, or a landing that had begun; versions of other writers stay. Only
   * the latter needs the original.
   */
  async rollbackPrepared(
    transaction: Transaction,
    original: () => Folder,
    sandbox: ReturnTarget,
  ): Promise<readonly Attention[]> {
    using landings = this.#workspace.openBelowIfThere(LANDINGS);
    using landing = landings?.openBelowIfThere(transaction.id);
    if (landings === undefined || landing === undefined) return [];
    if (hasBegun(landing)) {
      using folder = original();
      const manifest = await this.#runBack(folder, landing);
      if (manifest.part !== undefined && !sandbox.isGone())
        await sandbox.takeBack?.(await this.#part(folder, landing, manifest));
    }
    const landed = readLanded(landing);
    if (sandbox.isGone()) return [...(landed?.attention ?? []), keptAfterLoss(landing)];
    const kept = new Set(landed?.keptSlots);
    using tree = sandbox.open();
    unstage(tree, landing, kept);
    sandbox.markWhole();
    if (kept.size > 0) removeAllBut(landing, kept);
    else {
      landings.removeFolder(POINTS.discard, transaction.id);
      this.#removeIfEmpty();
    }
    return landed?.attention ?? [];
  }

  async #runBack(original: Folder, landing: Folder): Promise<StoredManifest> {
    const manifest = needManifest(landing);
    assertSameOriginal(original, manifest);
    runAtOnce(await this.#wayBack(original, landing, manifest));
    return manifest;
  }

  /** Loaded, as the other half of an undo below, when it is needed: few landings are taken back. */
  async #wayBack(
    original: Folder,
    landing: Folder,
    manifest: StoredManifest,
  ): Promise<Steps<readonly Attention[]>> {
    const { goBack } = await import("./landing-return.ts");
    return goBack({ original, landing, manifest, touches: this.#touches });
  }

  /** Calls back with the part of the work that this landing is, for a sandbox that goes on with the rest. */
  async withPart<T>(
    original: Folder,
    prepared: PreparedCommit,
    action: (part: LandedPart) => T | Promise<T>,
  ): Promise<T> {
    using landing = this.#open(prepared);
    return await action(
      await this.#part(original, landing, needManifest(landing, preparedLanding(prepared).digest)),
    );
  }

  async #part(original: Folder, landing: Folder, stored: StoredManifest): Promise<LandedPart> {
    const { landedPart } = await import("./landed-part.ts");
    const landedAt = readLanded(landing)?.barrier ?? stored.stagedAt;
    const [workspace, touches, manifest] = [this.#workspace, this.#touches, wholeManifest(stored)];
    return landedPart({ workspace, original, landing, manifest, touches }, landedAt);
  }

  /** Calls back with a landing that has landed, as its record tells it. */
  whatLanded<T>(prepared: PreparedCommit, action: (landed: LandedRecordOnDisk) => T): T {
    using landing = this.#open(prepared);
    const landed = readLanded(landing);
    if (landed === undefined) throw damagedRecord(landing.path);
    const manifest = () => needManifest(landing, preparedLanding(prepared).digest);
    return action({ landing, manifest, age: this.#touches.sinceForAll(landed.barrier) });
  }

  /** Lands a prepared landing, or takes back a finished one. */
  async run(original: Folder, prepared: PreparedCommit, direction: Direction): Promise<CommitResult> {
    using landing = this.#open(prepared);
    const manifest = needManifest(landing, preparedLanding(prepared).digest);
    assertSameOriginal(original, manifest);
    const attention =
      direction === "backward"
        ? await this.#toEnd(await this.#wayBack(original, landing, manifest), prepared)
        : (await this.#toEnd(runLanding({ original, landing, manifest, direction }), prepared)).attention;
    await flush(POINTS.flushLanded, landing, () => touchedTargets(original, landing, manifest, direction));
    return { changes: prepared.changes, attention };
  }

  async #toEnd<Result>(steps: Steps<Result>, { changes }: PreparedCommit): Promise<Result> {
    return await this.#work.toEnd("landing", steps, changes);
  }

  /** Checks that a landed transaction can be taken back, and reserves room for that. */
  async prepareUndo(original: Folder, undoes: PreparedCommit): Promise<PreparedCommit> {
    using landing = this.#open(undoes);
    const landed = readLanded(landing);
    if (landed === undefined) throw damagedRecord(landing.path);
    const manifest = needManifest(landing, preparedLanding(undoes).digest);
    assertSameOriginal(original, manifest);
    await this.#checkUndo(original, landing, manifest, landed);
    makeBallast(landing, namesThatReturn(manifest));
    return undoes;
  }

  /** Takes the preparation of an undo back. */
  rollbackUndo(undoes: PreparedCommit): void {
    using landing = this.#workspace.openBelowIfThere(`${LANDINGS}/${preparedLanding(undoes).landing}`);
    if (landing !== undefined) dropBallast(landing);
  }

  /** Removes the undo record, except versions of other writers, of which there is no other copy. */
  discard(prepared: PreparedCommit): void {
    this.#remove(preparedLanding(prepared).landing);
  }

  /** Ids of all landings, the latest first. */
  ids(): readonly string[] {
    return landingIds(this.#workspace);
  }

  /**
   * Takes back a landing in any state, from the files on disk alone: nothing of it stays in the original, and
   * its work is dropped. Skips a landed part, which is no longer work of the sandbox.
   */
  async revert(id: string, original: Folder): Promise<void> {
    using landing = this.#workspace.openBelow(`${LANDINGS}/${id}`);
    const manifest = readManifest(landing);
    if (manifest?.part !== undefined && readLanded(landing) !== undefined) return;
    // If a crash came after the end of the undo, only the removal is left.
    if (manifest !== undefined && landing.facts(REVERTED) === undefined) {
      assertSameOriginal(original, manifest);
      // An interrupted undo is neither as it landed nor as it was; the check before it has already passed.
      if (landing.facts(REVERTING) === undefined) await this.#beginRevert(original, landing, manifest);
      runAtOnce(await this.#wayBack(original, landing, manifest));
      writeWhole(POINTS.reverted, landing, REVERTED, Buffer.alloc(0));
    }
    this.#remove(id);
  }

  async #beginRevert(original: Folder, landing: Folder, manifest: StoredManifest): Promise<void> {
    const landed = readLanded(landing);
    if (landed !== undefined) await this.#checkUndo(original, landing, manifest, landed);
    writeWhole(POINTS.reverting, landing, REVERTING, Buffer.alloc(0));
  }

  async #checkUndo(
    original: Folder,
    landing: Folder,
    manifest: StoredManifest,
    { barrier }: LandedRecord,
  ): Promise<void> {
    const { checkUndo } = await import("./undo-check.ts");
    using slots = Slots.open(landing);
    const age = this.#touches.sinceForAll(barrier);
    checkUndo(original, slots, manifest, { stagedAt: manifest.stagedAt, age });
  }

  /** Versions of other writers stay, because there is no other copy of them. */
  #remove(id: string): void {
    using landings = this.#workspace.openBelowIfThere(LANDINGS);
    using landing = landings?.openBelowIfThere(id);
    if (landings === undefined || landing === undefined) return;
    const kept = new Set(readLanded(landing)?.keptSlots);
    if (kept.size === 0) {
      removeTree(POINTS.discard, landings, id);
      this.#removeIfEmpty();
      return;
    }
    removeAllBut(landing, kept);
  }

  #open(prepared: PreparedCommit): Folder {
    const landing = this.#workspace.openBelowIfThere(`${LANDINGS}/${preparedLanding(prepared).landing}`);
    if (landing === undefined)
      throw damagedRecord(this.#workspace.label(`${LANDINGS}/${preparedLanding(prepared).landing}`));
    return landing;
  }

  #removeIfEmpty(): void {
    if (this.ids().length === 0) removeTree(POINTS.discard, this.#workspace, LANDINGS);
  }
}

/** Reports a landing whose sandbox is gone, so that nothing can be put back. */
function keptAfterLoss({ path }: Folder): Attention {
  return {
    path: ROOT_PATH,
    message: "its sandbox is gone; what was taken out of it to land is kept",
    keptAt: path,
  };
}

/** The entries whose old names an undo makes again. */
function* namesThatReturn({ entries }: StoredManifest): Generator<SlotEntry> {
  yield* entries.going("forward");
  yield* entries.renamed();
}

/** The ballast is removed right before the first exchange. */
function hasBegun(landing: Folder): boolean {
  return landing.facts(MANIFEST) !== undefined && landing.facts(BALLAST) === undefined;
}
