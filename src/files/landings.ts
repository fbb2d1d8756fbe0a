import { baseName, parentPath, ROOT_PATH } from "../core/byte-path.ts";
import { SandboxCommitError, StateError } from "../core/errors.ts";
import type { Attention, CommitResult, PreparedCommit, Transaction } from "../core/strategy.ts";
import { sameIdentity } from "../system/facts.ts";
import { failpoint } from "../system/failpoints.ts";
import { type FlushTarget, flush } from "../system/flush.ts";
import type { Folder } from "../system/folder.ts";
import { parsed, readWhole, writeWhole } from "../system/whole-file.ts";
import { type LandedPart, landedPart } from "./landed-part.ts";
import { LANDED, readLanded, runLanding } from "./landing.ts";
import { dropInnerLink } from "./landing-links.ts";
import { LeftTimes } from "./left-times.ts";
import { decodeManifest, type Manifest } from "./manifest.ts";
import { removeTree } from "./remove-tree.ts";
import type { RestoredTimes } from "./restored-times.ts";
import { SLOTS, Slots, slotName } from "./slots.ts";
import { BALLAST, dropBallast, makeBallast } from "./staged-manifest.ts";
import { MANIFEST, stage, unstage } from "./staging.ts";
import type { StagingInput } from "./staging-input.ts";
import { checkUndo } from "./undo-check.ts";
import { keptAfterLoss, type WorkPlace } from "./work-place.ts";

/**
 * The landings of one sandbox, each in a folder of its own in the workspace, `landings/TRANSACTION`: what the two-phase methods of every
 * directory strategy are made of. A landing that has landed stays as the undo record until it is discarded.
 */
const POINTS = {
  create: failpoint("landings.create"),
  flushStaged: failpoint("landings.flush-staged"),
  flushLanded: failpoint("landings.flush-landed"),
  discard: failpoint("landings.discard"),
  reverting: failpoint("landings.reverting"),
  reverted: failpoint("landings.reverted"),
  returned: failpoint("landings.returned"),
};
const LANDINGS = "landings";
const REVERTING = "reverting";
const REVERTED = "reverted";
const RETURNED = "returned";

export class Landings {
  readonly #workspace: Folder;
  readonly #restored: RestoredTimes;

  constructor(workspace: Folder, restored: RestoredTimes) {
    this.#workspace = workspace;
    this.#restored = restored;
  }

  /** Stages what the sandbox holds. */
  async prepare(
    transaction: Transaction,
    input: Omit<StagingInput, "landing" | "transaction" | "asBefore">,
  ): Promise<PreparedCommit | null> {
    using landings = this.#workspace.ensureFolder(POINTS.create, LANDINGS);
    using landing = landings.ensureFolder(POINTS.create, transaction.id);
    const asBefore = new LeftTimes(this.#workspace).over(this.#restored.asBefore);
    const staged = stage({ ...input, landing, transaction: transaction.id, asBefore });
    if (staged === null) {
      const sandbox = { open: () => input.sandbox.duplicate(), isGone: () => false, markWhole: () => undefined };
      this.rollbackPrepared(transaction, () => input.original.duplicate(), sandbox);
      return null;
    }
    await flush(POINTS.flushStaged, landing, () => [
      { parent: landings, name: transaction.id },
      itself(landings),
      itself(this.#workspace),
    ]);
    const data = { digest: staged.digest, landing: transaction.id, ...(input.isPart === true && { part: true }) };
    return { changes: input.changes.changes.length, data };
  }

  /** Takes a prepare back, finished or not; and a landing that had begun, from which versions of rivals stay. Only that needs the original. */
  rollbackPrepared(transaction: Transaction, original: () => Folder, sandbox: WorkPlace): readonly Attention[] {
    using landings = this.#workspace.openBelowIfThere(LANDINGS);
    using landing = landings?.openBelowIfThere(transaction.id);
    if (landings === undefined || landing === undefined) return [];
    if (hasBegun(landing)) {
      // Whether or not anybody wants to know what it was.
      using folder = original();
      const part = this.#runBack(folder, landing);
      if (!sandbox.isGone()) sandbox.takeBack?.(part);
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

  #runBack(original: Folder, landing: Folder): LandedPart {
    const manifest = JSON.parse(readWhole(landing, MANIFEST)?.toString() ?? "") as Manifest;
    assertSameOriginal(original, manifest);
    this.#goBack(original, landing, manifest);
    return this.#part(original, landing, manifest);
  }

  /** What of the sandbox's work a landing is, for who goes on with the rest. */
  async withPart<T>(
    original: Folder,
    prepared: PreparedCommit,
    action: (part: LandedPart) => T | Promise<T>,
  ): Promise<T> {
    using landing = this.#open(prepared);
    return await action(this.#part(original, landing, readManifest(landing, prepared)));
  }

  #part(original: Folder, landing: Folder, manifest: Manifest): LandedPart {
    const landedAt = readLanded(landing)?.barrier ?? manifest.stagedAt;
    const { asBefore } = this.#restored;
    return landedPart({ workspace: this.#workspace, original, landing, manifest, landedAt, asBefore });
  }

  /** To the end of the way back. `returned` says that only what is dropped on the way is left to do: a landing from which something is dropped looks as if a rival had been there. */
  #goBack(original: Folder, landing: Folder, manifest: Manifest, tick?: () => void): readonly Attention[] {
    if (landing.facts(RETURNED) === undefined) {
      runLanding(original, landing, manifest, "backward", tick);
      const drops = manifest.entries.some(({ innerLinks }) => innerLinks !== undefined);
      if (drops) writeWhole(POINTS.returned, landing, RETURNED, Buffer.alloc(0));
    }
    this.#rememberRestored(original, landing, manifest);
    return readLanded(landing)?.attention ?? [];
  }

  /** Names that were taken back are gone for good before that: removing one moves the change time of the file that stays. */
  #rememberRestored(original: Folder, landing: Folder, manifest: Manifest): void {
    using slots = Slots.open(landing);
    const anchors = new Map(manifest.anchors.map(({ path, before }) => [path, before]));
    for (const [slot, { linkTo, innerLinks }] of manifest.entries.entries()) {
      for (const link of innerLinks ?? []) dropInnerLink(slots, slot, link, anchors.get(link.linkTo));
      const anchor = linkTo === undefined ? undefined : anchors.get(linkTo);
      const left = anchor === undefined ? undefined : slots.facts(slot);
      if (anchor === undefined || left === undefined || !sameIdentity(left, anchor)) continue;
      slots.in(slot).removeFile(POINTS.discard, slotName(slot));
    }
    this.#restored.remember(original, manifest);
  }

  /** Lands what was prepared, or takes back what had landed. */
  async run(
    original: Folder,
    prepared: PreparedCommit,
    direction: "forward" | "backward",
    tick?: () => void,
  ): Promise<CommitResult> {
    using landing = this.#open(prepared);
    const manifest = readManifest(landing, prepared);
    assertSameOriginal(original, manifest);
    const attention =
      direction === "backward"
        ? this.#goBack(original, landing, manifest, tick)
        : runLanding(original, landing, manifest, direction, tick).attention;
    using parents = new TouchedFolders(original, landing, manifest);
    await flush(POINTS.flushLanded, landing, () => parents.targets());
    return { changes: prepared.changes, attention };
  }

  /** Sees that a landed transaction can be taken back, and keeps room for that. */
  prepareUndo(original: Folder, undoes: PreparedCommit): PreparedCommit {
    using landing = this.#open(undoes);
    const landed = readLanded(landing);
    if (landed === undefined) throw damaged(landing.path);
    using slots = Slots.open(landing);
    const manifest = readManifest(landing, undoes);
    assertSameOriginal(original, manifest);
    checkUndo(original, slots, manifest, landed.barrier, this.#restored.asBefore);
    makeBallast(landing, manifest, "backward");
    return undoes;
  }

  /** Takes the preparation of an undo back. */
  rollbackUndo(undoes: PreparedCommit): void {
    using landing = this.#workspace.openBelowIfThere(`${LANDINGS}/${landingOf(undoes)}`);
    if (landing !== undefined) dropBallast(landing);
  }

  /** Removes what an undo would need, but for versions of rivals, which nobody else has. */
  discard(prepared: PreparedCommit): void {
    this.#remove(landingOf(prepared));
  }

  /** Ids of all landings, the latest first. */
  ids(): string[] {
    using landings = this.#workspace.openBelowIfThere(LANDINGS);
    return landings?.names().sort().reverse() ?? [];
  }

  /**
   * Takes back a landing of any stage, from what is on disk alone: nothing of it stays in the original, nor its work anywhere. But what has landed as
   * a part is no longer work of the sandbox.
   */
  revert(id: string, original: Folder): void {
    using landing = this.#workspace.openBelow(`${LANDINGS}/${id}`);
    const bytes = readWhole(landing, MANIFEST);
    if (bytes !== undefined && isLandedPart(landing, bytes)) return;
    // What a crash interrupted after the end of the way back is only to be removed.
    if (bytes !== undefined && landing.facts(REVERTED) === undefined) {
      const manifest = JSON.parse(bytes.toString()) as Manifest;
      assertSameOriginal(original, manifest);
      // What a crash interrupted on the way back is neither as it landed nor as it was; that it could be taken back is known.
      if (landing.facts(REVERTING) === undefined) this.#beginRevert(original, landing, manifest);
      this.#goBack(original, landing, manifest);
      writeWhole(POINTS.reverted, landing, REVERTED, Buffer.alloc(0));
    }
    this.#remove(id);
  }

  #beginRevert(original: Folder, landing: Folder, manifest: Manifest): void {
    const landed = readLanded(landing);
    if (landed !== undefined) {
      using slots = Slots.open(landing);
      checkUndo(original, slots, manifest, landed.barrier, this.#restored.asBefore);
    }
    writeWhole(POINTS.reverting, landing, REVERTING, Buffer.alloc(0));
  }

  /** Versions of rivals stay: nobody else has them. */
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
    const landing = this.#workspace.openBelowIfThere(`${LANDINGS}/${landingOf(prepared)}`);
    if (landing === undefined) throw damaged(this.#workspace.label(`${LANDINGS}/${landingOf(prepared)}`));
    return landing;
  }

  #removeIfEmpty(): void {
    if (this.ids().length === 0) removeTree(POINTS.discard, this.#workspace, LANDINGS);
  }
}

/** The slots that are kept stay, and the record that says so. Without its manifest nothing can be run again, so that goes first. */
function removeAllBut(landing: Folder, kept: ReadonlySet<number>): void {
  using slots = Slots.open(landing);
  for (const slot of slots.numbers()) if (!kept.has(slot)) removeTree(POINTS.discard, slots.in(slot), slotName(slot));
  removeTree(POINTS.discard, landing, MANIFEST);
  for (const name of landing.names().filter((other) => other !== LANDED && other !== SLOTS))
    removeTree(POINTS.discard, landing, name);
}

function isLandedPart(landing: Folder, manifest: Buffer): boolean {
  return readLanded(landing) !== undefined && parsed<Manifest>(manifest)?.part !== undefined;
}

/** Whether it was prepared from a part of the work only. */
export function isOfPart(prepared: PreparedCommit): boolean {
  return prepared.data["part"] === true;
}

function landingOf(prepared: PreparedCommit): string {
  return String(prepared.data["landing"]);
}

function readManifest(landing: Folder, prepared: PreparedCommit): Manifest {
  const bytes = readWhole(landing, MANIFEST);
  if (bytes === undefined) throw damaged(landing.path);
  return decodeManifest(bytes, String(prepared.data["digest"]), landing.label(MANIFEST));
}

function damaged(path: string): StateError {
  return new StateError(`The record of this landing is missing or incomplete: ${path}`, {
    hint: "Nothing is taken back or finished from an incomplete record.",
  });
}

/** Right before the first exchange the ballast is given back. */
function hasBegun(landing: Folder): boolean {
  return landing.facts(MANIFEST) !== undefined && landing.facts(BALLAST) === undefined;
}

/** Somebody may have put another folder, or a link to one, in the place of the original. What was prepared is not for that one. */
function assertSameOriginal(original: Folder, { root }: Manifest): void {
  if (sameIdentity(original.ownFacts(), root)) return;
  throw new SandboxCommitError(`${original.path} is not the folder that this landing was prepared for.`, {
    hint: "Put the folder back where it was; the landing then goes on.",
    code: "REPLACED",
  });
}

function itself(folder: Folder): FlushTarget {
  return { parent: folder, name: ROOT_PATH };
}

/** The folders whose names a landing changed, held open while they are flushed. */
class TouchedFolders {
  readonly #open: Folder[] = [];
  readonly #original: Folder;
  readonly #landing: Folder;
  readonly #manifest: Manifest;

  constructor(original: Folder, landing: Folder, manifest: Manifest) {
    this.#original = original;
    this.#landing = landing;
    this.#manifest = manifest;
  }

  *targets(): Generator<FlushTarget> {
    const { entries, folderTimes, unlock } = this.#manifest;
    const paths = [
      ...entries.map(({ path }) => (path === ROOT_PATH ? path : parentPath(path))),
      ...[...folderTimes, ...unlock].map(({ path }) => path),
    ];
    const byPath = new Map<string, Folder>();
    for (const path of new Set(paths)) {
      const folder = this.#original.openBelowIfThere(path);
      if (folder !== undefined) byPath.set(path, folder);
    }
    for (const folder of byPath.values()) this.#open.push(folder);
    yield* [...this.#changedInPlace(byPath), { parent: this.#landing, name: LANDED }, ...this.#open.map(itself)];
    using slots = Slots.open(this.#landing);
    for (const folder of slots.folders()) yield itself(folder);
    yield itself(this.#landing);
  }

  /** Entries whose metadata changed are not reached by flushing the folder they are in. */
  #changedInPlace(byPath: ReadonlyMap<string, Folder>): FlushTarget[] {
    return this.#manifest.entries.flatMap(({ path, operation }) => {
      const parent = byPath.get(path === ROOT_PATH ? path : parentPath(path));
      return operation !== "metadata" || parent === undefined
        ? []
        : [{ parent, name: path === ROOT_PATH ? path : baseName(path), alone: true }];
    });
  }

  [Symbol.dispose](): void {
    for (const folder of this.#open) folder.close();
  }
}
