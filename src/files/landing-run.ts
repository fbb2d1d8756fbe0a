import { baseName, parentPath, ROOT_PATH } from "../core/byte-path.ts";
import { failedWith } from "../system/errno.ts";
import { type Facts, sameTime, type Time } from "../system/facts.ts";
import { failpoint } from "../system/failpoints.ts";
import type { Folder } from "../system/folder.ts";
import { isAfter } from "./barrier.ts";
import { firstChangeBelow } from "./conflicts.ts";
import { isThere, sameContentFacts } from "./entry-comparison.ts";
import { LandingFolders } from "./landing-folders.ts";
import { LandingLinks } from "./landing-links.ts";
import { LandingReport } from "./landing-report.ts";
import { type EntryIdentity, entryIdentity, type Manifest, type ManifestEntry } from "./manifest.ts";
import { foreignParts, type Metadata, metadataOf, setMetadata } from "./metadata.ts";
import { exchangeEntries, moveEntry } from "./move-entry.ts";
import { closeLeftOpen, mendModeOfMoved, mendTimeOfExchanged } from "./moved-folder.ts";
import { OpenParent } from "./open-parent.ts";
import { hasOldContent, OwnChanges } from "./own-changes.ts";
import { type Slots, slotName } from "./slots.ts";
import { leaveVanishedFolder, type Place } from "./vanished-folder.ts";

const POINTS = {
  add: failpoint("land.add"),
  exchange: failpoint("land.exchange"),
  remove: failpoint("land.remove"),
  giveBack: failpoint("land.give-back"),
};

/**
 * The second half of the exchange transaction: the landing itself, and its undo, which is the same the other way round.
 *
 * How far it has come is read from the identities of what is in the original and in the slots, never from memory: so both directions can
 * be run any number of times, by any process, after any crash, and do only what is left. Each entry changes in one rename, and at no
 * moment is a path missing that was there before and is there after.
 *
 * A rival who changes a path after prepare loses nothing: what comes out of the original is compared with what prepare saw, and if
 * it is something else it stays in its slot for good and is reported. A delete whose target is something else is not done.
 */
export class LandingRun {
  readonly #original: Folder;
  readonly #slots: Slots;
  readonly #manifest: Manifest;
  readonly #forward: boolean;
  /** On the way back what a rival made is kept in any case. */
  readonly #leavesRivals: boolean;
  readonly #folders: LandingFolders;
  /** What changed at or after it, inside a folder that goes out, is a rival's. */
  readonly #barrier: Time;
  readonly #landedAt: Time | undefined;
  readonly #own = new OwnChanges();
  readonly #links: LandingLinks;
  #goesOn = false;
  readonly report: LandingReport;

  constructor(
    original: Folder,
    slots: Slots,
    manifest: Manifest,
    direction: "forward" | "backward",
    landedAt: Time | undefined,
  ) {
    this.#barrier = direction === "forward" ? manifest.barrier : manifest.stagedAt;
    this.#landedAt = landedAt;
    this.#original = original;
    this.#slots = slots;
    this.#manifest = manifest;
    this.#forward = direction === "forward";
    this.#leavesRivals = this.#forward && manifest.leavesRivals === true;
    this.#folders = new LandingFolders(original, manifest, this.#forward);
    this.report = new LandingReport(slots);
    this.#links = new LandingLinks(original, this.#own, this.report.attention);
  }

  /** Tells it that an earlier run may have been cut off. */
  goOn(): void {
    this.#goesOn = true;
    this.#own.noteEarlier(this.#original, this.#slots, this.#manifest);
  }

  /** What comes first, then what goes; metadata of folders last, because it may close them. */
  all(tick: (() => void) | undefined): void {
    this.#folders.open();
    const entries = this.#manifest.entries.map((entry, slot) => ({ entry, slot }));
    const goes = (entry: ManifestEntry) => entry.operation === (this.#forward ? "delete" : "add");
    const isFolderMetadata = (entry: ManifestEntry) =>
      entry.operation === "metadata" && entry.before?.kind === "directory";
    const ordered = [
      ...entries.filter(({ entry }) => !goes(entry) && !isFolderMetadata(entry)),
      ...entries.filter(({ entry }) => goes(entry)),
      ...entries.filter(({ entry }) => isFolderMetadata(entry)).reverse(),
    ];
    const parents = new OpenParent(this.#original);
    try {
      for (const { entry, slot } of ordered) {
        this.#one(entry, slot, parents);
        tick?.();
      }
    } finally {
      parents.close();
    }
    this.#folders.close();
  }

  #one(entry: ManifestEntry, slot: number, parents: OpenParent): void {
    const parent = parents.of(entry.path);
    if (parent === undefined) {
      this.report.folderGone(entry, slot);
      return;
    }
    const place: Place = {
      entry,
      slot,
      parent,
      name: entry.path === ROOT_PATH ? ROOT_PATH : baseName(entry.path),
      slots: this.#slots.in(slot),
      slotName: slotName(slot),
    };
    if (this.#goesOn) closeLeftOpen(place);
    const slotBefore = place.slots.facts(place.slotName);
    const reported = this.report.attention.length;
    if (entry.operation === "metadata") this.#metadata(place);
    else if (entry.operation === "replace") this.#replace(place, slotBefore);
    else if ((entry.operation === "add") === this.#forward) this.#bringIn(place);
    else this.#takeOut(place);
    if (parents.isStillThere()) return;
    this.report.attention.length = reported;
    leaveVanishedFolder(place, slotBefore, this.#forward);
    this.report.folderGone(entry, slot);
    parents.close();
  }

  /** What should be in the original when this direction starts, and when it has ended. */
  #ends(entry: ManifestEntry): { readonly from: EntryIdentity | undefined; readonly to: EntryIdentity | undefined } {
    return this.#forward ? { from: entry.before, to: entry.after } : { from: entry.after, to: entry.before };
  }

  #replace(place: Place, slotBefore: Facts | undefined): void {
    const { entry, parent, name, slots, slotName } = place;
    if (this.#forward) this.#links.make(place);
    const { from, to } = this.#endsOf(place);
    const now = parent.facts(name);
    const staged = entry.linkTo === undefined ? slotBefore : slots.facts(slotName);
    if (isThere(now, to)) {
      if (this.#goesOn) {
        mendTimeOfExchanged(parent, name, to);
        mendTimeOfExchanged(slots, slotName, from);
      }
      this.#inspectOutcome(place, from);
      return;
    }
    if (!isThere(staged, to)) {
      this.report.tell(entry, "what was to come in its place is no longer kept, so it was left alone");
      return;
    }
    if (this.#leavesRivals && !this.#isUntouched(now, from)) {
      this.report.leftAlone(entry);
      return;
    }
    if (now === undefined) {
      moveEntry(POINTS.add, slots, slotName, parent, name);
      this.report.tell(entry, "somebody deleted it while the plan was landing; the plan's version is there now");
      return;
    }
    // The exchange moves the change time, so a change that left size and time alone shows only now.
    const touched = this.#forward && from !== undefined && isThere(now, from) && !this.#isAsPrepared(now, from);
    const seen = this.#asSeen(now, from);
    if (now.kind === "directory" || staged?.kind === "directory")
      exchangeEntries(POINTS.exchange, slots, slotName, parent, name);
    else slots.exchange(POINTS.exchange, slotName, parent, name);
    mendModeOfMoved(parent, name, to);
    this.#noteLinked(place);
    if (touched) this.report.rival(place);
    else this.#inspectOutcome(place, seen);
  }

  /** Whether it is still what prepare saw. */
  #isUntouched(now: Facts | undefined, from: EntryIdentity | undefined): boolean {
    if (now === undefined || from === undefined || !isThere(now, from)) return false;
    return this.#isAsPrepared(now, from) && sameContentFacts(now, this.#asSeen(now, from) ?? from);
  }

  #bringIn(place: Place): void {
    const { entry, parent, name, slots, slotName } = place;
    if (this.#forward) this.#links.make(place);
    const { to } = this.#endsOf(place);
    const now = parent.facts(name);
    if (isThere(now, to)) {
      this.#inspectOutcome(place, undefined);
      return;
    }
    if (!isThere(slots.facts(slotName), to)) {
      this.report.tell(entry, "what was to come here is no longer kept, so it was left alone");
      return;
    }
    try {
      moveEntry(POINTS.add, slots, slotName, parent, name);
      mendModeOfMoved(parent, name, to);
      this.#noteLinked(place);
    } catch (thrown) {
      if (!failedWith(thrown, "EEXIST")) throw thrown;
      if (this.#leavesRivals) {
        this.report.leftAlone(entry);
        return;
      }
      exchangeEntries(POINTS.exchange, slots, slotName, parent, name);
      this.report.rival(place);
    }
  }

  #takeOut(place: Place): void {
    const { entry, parent, name, slots, slotName } = place;
    const { from } = this.#endsOf(place);
    const now = parent.facts(name);
    if (now === undefined) {
      // The way there may have been cut off between putting a name into it and giving it its time again.
      if (entry.innerLinks !== undefined) mendTimeOfExchanged(slots, slotName, from);
      this.#inspectTakenOut(place, from);
      return;
    }
    if (!isThere(now, from)) {
      if (!isThere(slots.facts(slotName), from)) this.report.notDeleted(entry);
      else this.report.tell(entry, "somebody made it anew while the plan was landing; it was left alone");
      return;
    }
    if (from !== undefined && this.#forward && !this.#isAsPrepared(now, from)) {
      this.report.notDeleted(entry);
      return;
    }
    const seen = this.#asSeen(now, from);
    // On the way back the slot may hold what a rival had put in this place: that returns to where it was.
    if (slots.facts(slotName) !== undefined) exchangeEntries(POINTS.exchange, slots, slotName, parent, name);
    else moveEntry(POINTS.remove, parent, name, slots, slotName);
    this.#inspectTakenOut(place, seen);
  }

  /** Between our look and the move, or before a crash, a rival may have changed what was to be deleted: then it goes back. */
  #inspectTakenOut(place: Place, from: EntryIdentity | undefined): void {
    const { entry, parent, name, slots, slotName } = place;
    if (!this.#forward) {
      this.#inspectOutcome(place, from);
      return;
    }
    const taken = slots.facts(slotName);
    if (taken === undefined) return;
    const same = from !== undefined && isThere(taken, from) && (sameContentFacts(taken, from) || this.#own.has(taken));
    if (same && !this.#wasChangedInside(place)) {
      this.#own.note(taken);
      return;
    }
    if (parent.facts(name) !== undefined) {
      this.report.rival(place);
      return;
    }
    moveEntry(POINTS.giveBack, slots, slotName, parent, name);
    this.report.notDeleted(entry);
  }

  /** What an entry has to be when it comes out: metadata that we have set through another of its names is not a rival's. */
  #asSeen(now: Facts, from: EntryIdentity | undefined): EntryIdentity | undefined {
    return from !== undefined && isThere(now, from) && this.#own.has(now) ? entryIdentity(now) : from;
  }

  /** Unchanged since prepare looked; the change time is only moved by us when it is moved by us. */
  #isAsPrepared(now: Facts, seen: EntryIdentity): boolean {
    return (
      sameTime(now.ctime, seen.ctime) ||
      this.#own.has(now) ||
      // Landing another of its names, maybe one in another resource of the plan, moves the time of all.
      (now.nlink > 1 && sameContentFacts(now, seen)) ||
      (now.kind === "directory" && sameTime(now.mtime, seen.mtime) && now.mode === seen.mode)
    );
  }

  /** What came out of the original and lies in the slot: is it what prepare saw? */
  #inspectOutcome(place: Place, expected: EntryIdentity | undefined): void {
    const kept = place.slots.facts(place.slotName);
    if (kept === undefined) return;
    const same =
      expected !== undefined &&
      isThere(kept, expected) &&
      (sameContentFacts(kept, expected) || this.#own.has(kept)) &&
      !(kept.kind === "directory" && this.#wasChangedInside(place));
    if (same) this.#own.note(kept);
    else if (this.#leavesRivals && place.parent.facts(place.name) !== undefined) this.#giveBack(place);
    else this.report.rival(place);
  }

  /** What came out is a rival's after all, who was quicker than our look: it goes back to where it was. */
  #giveBack({ entry, parent, name, slots, slotName }: Place): void {
    exchangeEntries(POINTS.giveBack, slots, slotName, parent, name);
    this.report.leftAlone(entry);
  }

  #wasChangedInside({ slots, slotName, entry }: Place): boolean {
    if (slots.facts(slotName)?.kind !== "directory") return false;
    using folder = slots.openChild(slotName);
    const linked = new Set((entry.innerLinks ?? []).flatMap(({ path }) => [path, parentPath(path)]));
    const isOurs = (facts: Facts, path: string) =>
      this.#own.has(facts) ||
      hasOldContent(facts, this.#barrier) ||
      (!this.#forward && linked.has(path) && !this.#isAfterLanding(facts));
    return firstChangeBelow(folder, this.#barrier, isOurs) !== undefined;
  }

  #isAfterLanding(facts: Facts): boolean {
    return this.#landedAt !== undefined && isAfter(facts, this.#landedAt);
  }

  #metadata({ entry, parent, name }: Place): void {
    const change = entry.metadata;
    const now = parent.facts(name);
    if (change === undefined) return;
    if (now === undefined || !isThere(now, entry.before)) {
      this.report.tell(entry, "somebody replaced it while the plan was landing; it was left alone");
      return;
    }
    const rivals = foreignParts(this.#asIfLocked(entry.path, metadataOf(parent, name, now)), change, this.#goesOn);
    if (rivals.length > 0) {
      this.report.tell(
        entry,
        `somebody changed its ${rivals.join(", ")} while the plan was landing; that was left alone`,
      );
    }
    const parts = change.parts.filter((part) => !rivals.includes(part));
    setMetadata(parent, name, this.#forward ? change.after : change.before, parts, now.kind === "symlink");
    this.#own.note(parent.facts(name));
  }

  /** A folder that is opened up for the landing has a mode that nobody asked for. */
  #asIfLocked(path: string, current: Metadata): Metadata {
    const locked = this.#manifest.unlock.find((folder) => folder.path === path);
    return locked !== undefined && current.mode === (locked.mode | 0o700) ? { ...current, mode: locked.mode } : current;
  }

  /** Moving a new name of a file that stays to its place has changed that file once more. */
  #noteLinked({ entry, parent, name }: Place): void {
    if (entry.linkTo !== undefined) this.#own.note(parent.facts(name));
  }

  /** A link has no identity of its own: it is the file it is another name of. */
  #endsOf(place: Place): { readonly from: EntryIdentity | undefined; readonly to: EntryIdentity | undefined } {
    const { from, to } = this.#ends(place.entry);
    if (place.entry.linkTo === undefined) return { from, to };
    const anchor = this.#links.identity(place.entry);
    return this.#forward ? { from, to: anchor } : { from: anchor, to };
  }
}
