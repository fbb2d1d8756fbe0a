import { parentPath } from "../../core/paths/byte-path.ts";
import { failedWith } from "../../system/calls/errno.ts";
import { compareTimes, type Facts, sameIdentity, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { isAfter } from "../base/barrier.ts";
import { firstChangeBelow } from "../checks/conflicts.ts";
import type { Direction, ManifestEntry } from "../manifest/manifest.ts";
import type { Slots } from "../manifest/slots.ts";
import type { StoredManifest } from "../manifest/stored-manifest.ts";
import { type ExchangeOutcome, exchangeEntries, exchangeFiles } from "../tree/exchange-entries.ts";
import { moveOut } from "../tree/move-by-entries.ts";
import { moveEntry } from "../tree/move-entry.ts";
import type { NamedEntry } from "../tree/named-entry.ts";
import { OpenParent } from "../tree/open-parent.ts";
import type { Steps } from "../work/pace.ts";
import {
  type Deed,
  decide,
  inOriginal,
  inSlot,
  isDeed,
  type Occupant,
  type OthersRule,
  type Passage,
  passageOf,
  type Situation,
} from "./landing-decision.ts";
import { LandingFolders } from "./landing-folders.ts";
import { LandingLinks } from "./landing-links.ts";
import { landMetadata, type MetadataRun } from "./landing-metadata.ts";
import { finishInterrupted, leaveVanishedFolder, mendModeOfMoved, repairEntry } from "./landing-repair.ts";
import { LandingReport } from "./landing-report.ts";
import { type LandingTarget, partedFolder, targetOf } from "./landing-target.ts";
import { hasOldContent, LandingTouches } from "./landing-touches.ts";
import { landRename } from "./renames/landed-rename.ts";

const POINTS = {
  add: failpoint("land.add"),
  exchange: failpoint("land.exchange"),
  remove: failpoint("land.remove"),
  giveBack: failpoint("land.give-back"),
};
/** How often another writer may interfere between a look and the rename that follows it. */
const MOST_TRIES = 8;

/** The input of a run. */
export interface LandingTask {
  readonly original: Folder;
  readonly slots: Slots;
  readonly manifest: StoredManifest;
  readonly direction: Direction;
  /** When the landing finished, if it did. */
  readonly landedAt: Time | undefined;
  /** An earlier run may have been interrupted. */
  readonly isResumed: boolean;
}

/**
 * The second half of the exchange transaction: the landing itself, and its undo. It drives every entry
 * through the table of landing-decision.ts.
 *
 * The original and the slots show how far an earlier run came. So any process can run either direction any
 * number of times, after any crash, and it does only what is left. Each entry changes by one rename, and a
 * path that exists before and after is never missing in between, except on a file system that can't exchange
 * (exchange-entries.ts).
 */
export class LandingRun {
  readonly report: LandingReport;
  readonly #task: LandingTask;
  readonly #others: OthersRule;
  readonly #folders: LandingFolders;
  readonly #own = new LandingTouches();
  readonly #links: LandingLinks;
  readonly #metadata: MetadataRun;

  constructor(task: LandingTask) {
    const { original, slots, manifest, direction, isResumed } = task;
    this.#task = task;
    this.#others =
      direction === "backward" ? "restore" : manifest.leavesRivals === true ? "leave" : "set-aside";
    this.#folders = new LandingFolders(original, manifest, direction);
    this.report = new LandingReport(slots);
    this.#links = new LandingLinks(original, this.#own, this.report.attention);
    this.#metadata = {
      direction,
      isResumed,
      lockedModes: new Map(manifest.unlock.map(({ path, mode }) => [path, mode])),
    };
  }

  /**
   * The names of folders, then entries that come, then entries that go, then the metadata of folders, because
   * it may close them.
   */
  *all(): Steps {
    const { original, slots, manifest, direction, isResumed } = this.#task;
    if (isResumed) this.#own.noteEarlier(original, slots, manifest);
    this.#folders.open();
    using parents = new OpenParent(original);
    const { entries } = manifest;
    for (const renamed of entries.renamed()) {
      landRename(renamed, { original, slots, direction, others: this.#others, report: this.report });
      yield 1;
    }
    for (const next of [
      entries.coming(direction),
      entries.going(direction),
      entries.folderMetadata(direction),
    ])
      for (const { entry, slot } of next) {
        this.#one(entry, slot, parents);
        yield 1;
      }
    this.#folders.close();
  }

  #one(entry: ManifestEntry, slot: number, parents: OpenParent): void {
    const { slots, direction, isResumed } = this.#task;
    const parent = parents.of(entry.path);
    if (parent === undefined) {
      this.report.folderGone(entry, slot);
      return;
    }
    const target = targetOf(entry, slot, parent, slots);
    if (isResumed && entry.operation !== "metadata")
      this.#noteFinished(target, repairEntry(target, this.#passage(target), direction));
    if (direction === "forward" && hasLinks(entry)) this.#links.make(target);
    const slotBefore = target.slots.facts(target.slotName);
    const reported = this.report.attention.length;
    if (entry.operation === "metadata") this.#setMetadata(target);
    else this.#move(target, slotBefore);
    if (parents.isStillThere()) return;
    this.report.attention.length = reported;
    leaveVanishedFolder(target, slotBefore, direction);
    this.report.folderGone(entry, slot);
    parents.close();
  }

  #setMetadata(target: LandingTarget): void {
    const told = landMetadata(target, this.#metadata);
    if (told !== undefined) this.report.tell(target.entry, told);
    this.#own.note(target.parent.facts(target.name));
  }

  #move(target: LandingTarget, slotBefore: Facts | undefined): void {
    const passage = this.#passage(target);
    let look = this.#lookAt(target, passage, slotBefore);
    for (let tries = 1; ; ) {
      const next = decide(look.situation);
      if (!isDeed(next)) {
        if (look.situation.slot === "from") this.#own.note(look.slotNow);
        this.report.verdict(next, target, passage.kind);
        return;
      }
      try {
        this.#perform(next, target, look);
        look = this.#lookAfter(next, target, passage, look);
      } catch (thrown) {
        // Another writer has taken or removed the name since the look.
        if (tries === MOST_TRIES || !failedWith(thrown, "EEXIST", "ENOENT")) throw thrown;
        tries += 1;
        this.#noteFinished(target, finishInterrupted(target, this.#task.direction));
        look = this.#lookAt(target, passage, target.slots.facts(target.slotName));
      }
    }
  }

  #noteFinished(target: LandingTarget, { isBack, keptAt }: ExchangeOutcome): void {
    if (keptAt !== undefined) this.report.keptBefore(target.entry, keptAt);
    if (isBack) this.#own.noteBack(target.parent.facts(target.name), this.#passage(target).from);
  }

  #lookAt(target: LandingTarget, passage: Passage, slotNow: Facts | undefined): Look {
    const now = target.parent.facts(target.name);
    const found = inOriginal(now, passage, this.#own, this.#task.direction);
    // Moving entry by entry moves every change time inside, so the folder is looked at before.
    const isTouched =
      found === "from" && this.#goesByEntries(target, now) && this.#wasChangedInside(target, true);
    const original = isTouched ? "touched" : found;
    const slot = this.#inSlot(target, passage, slotNow);
    return {
      now,
      slotNow,
      situation: { kind: passage.kind, original, slot, did: "nothing", others: this.#others },
    };
  }

  /** An entry that this run has placed needs no look; one that came out does. */
  #lookAfter(did: Deed, target: LandingTarget, passage: Passage, { now, situation }: Look): Look {
    const slotNow =
      did === "bring-in" || did === "give-back" ? undefined : target.slots.facts(target.slotName);
    const cameOut = this.#inSlot(target, passage, slotNow, situation.original === "from" ? now : undefined);
    // The rename moved the change time, the only trace of a change that kept size and modification time.
    const slot = cameOut === "from" && situation.original === "touched" ? "touched" : cameOut;
    const original = did === "take-out" ? "nothing" : situation.slot;
    return { now: undefined, slotNow, situation: { ...situation, original, slot, did } };
  }

  #inSlot(target: LandingTarget, passage: Passage, slotNow: Facts | undefined, seen?: Facts): Occupant {
    const found = inSlot(slotNow, passage, this.#own, seen);
    return found === "from" && slotNow?.kind === "directory" && this.#wasChangedInside(target)
      ? "touched"
      : found;
  }

  #perform(deed: Deed, target: LandingTarget, { now, slotNow, situation }: Look): void {
    const inOriginal = { folder: target.parent, name: target.name };
    const slot = { folder: target.slots, name: target.slotName };
    const moveOutTo = (out: NamedEntry) => moveOut(POINTS.remove, partedFolder(target), out);
    if (deed === "take-out") moveOutTo(slot);
    else if (deed === "give-back" && situation.original === "nothing")
      moveEntry(POINTS.giveBack, slot, inOriginal);
    else if (deed === "give-back") exchangeEntries(POINTS.giveBack, slot, inOriginal);
    else {
      if (deed === "bring-in") moveEntry(POINTS.add, slot, inOriginal);
      else if (now?.kind === "directory" || slotNow?.kind === "directory")
        exchangeEntries(POINTS.exchange, slot, inOriginal, moveOutTo);
      else exchangeFiles(POINTS.exchange, slot, inOriginal);
      this.#afterComing(target, situation.kind);
    }
  }

  /** Moving a new name into place has changed the file that stays once more. */
  #afterComing(target: LandingTarget, kind: Passage["kind"]): void {
    if (kind === "take-out") return;
    mendModeOfMoved(target, this.#passage(target).to);
    if (target.entry.linkTo !== undefined) this.#own.note(target.parent.facts(target.name));
  }

  #passage({ entry }: LandingTarget): Passage {
    return passageOf(entry, this.#task.direction, this.#links.identity(entry));
  }

  #goesByEntries({ entry }: LandingTarget, now: Facts | undefined): boolean {
    return this.#task.direction === "forward" && entry.skeleton !== undefined && now?.kind === "directory";
  }

  /** In its slot, or still in the original. */
  #wasChangedInside({ parent, name, slots, slotName, entry }: LandingTarget, isInOriginal = false): boolean {
    const { direction, manifest, landedAt } = this.#task;
    // A change at or after it, inside a folder that goes out, is another writer's.
    const barrier = direction === "forward" ? manifest.barrier : manifest.stagedAt;
    using folder = isInOriginal ? parent.openChild(name) : slots.openChild(slotName);
    const { skeleton } = entry;
    const isParted = skeleton !== undefined && sameIdentity(folder.ownFacts(), skeleton.root);
    const linked = new Set((entry.innerLinks ?? []).flatMap(({ path }) => [path, parentPath(path)]));
    const isOfLanding = (facts: Facts) => landedAt === undefined || !isAfter(facts, landedAt);
    const isOurs = (facts: Facts, path: string) =>
      this.#own.has(facts) ||
      (isParted && (facts.kind === "directory" || compareTimes(facts.mtime, barrier) < 0)) ||
      hasOldContent(facts, barrier) ||
      (direction === "backward" && linked.has(path) && isOfLanding(facts));
    return firstChangeBelow(folder, barrier, isOurs) !== undefined;
  }
}

/** The found situation, and the table's answer to it. */
interface Look {
  readonly now: Facts | undefined;
  readonly slotNow: Facts | undefined;
  readonly situation: Situation;
}

function hasLinks({ linkTo, innerLinks }: ManifestEntry): boolean {
  return linkTo !== undefined || innerLinks !== undefined;
}
