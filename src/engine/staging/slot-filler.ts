import { SandboxCommitError } from "../../core/errors/errors.ts";
import { baseName, joinPath, parentPath } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readXattrs, readXattrsOfOpen, type Xattrs } from "../../system/calls/xattrs.ts";
import { isOpenForWriting } from "../../system/data/file-data.ts";
import { failpoint } from "../../system/failpoints.ts";
import { isOnOverlay } from "../../system/mount/file-system.ts";
import { folderHolders } from "../../system/process/holders.ts";
import type { TreeEntry } from "../changes/change-set.ts";
import type { LandingRules } from "../checks/landing-policy.ts";
import { type EntriesWriter, type EntryExtras, packIdentity } from "../manifest/manifest-entries.ts";
import { type Slots, skeletonName, slotName } from "../manifest/slots.ts";
import { copyEntry, type LinkMap } from "../tree/copy-tree.ts";
import { makeSkeleton } from "../tree/move-by-entries.ts";
import { moveEntry } from "../tree/move-entry.ts";
import { OpenParent } from "../tree/open-parent.ts";
import { runAtOnce } from "../work/pace.ts";
import type { CheckedEntry } from "./checked-entries.ts";
import { freeOfMarks } from "./layer-traces.ts";
import { notInPart } from "./not-in-part.ts";
import { metadataChange } from "./staged-manifest.ts";
import type { RenamingInput } from "./staging-input.ts";
import type { StagingPlan } from "./survey.ts";
import { putBack } from "./unstaging.ts";

const MOVE = failpoint("stage.take-out");

/** Only when all slots are filled, no process can reach a folder, or a file with several names, by a path. */
function isSettledLater({ after }: TreeEntry): boolean {
  return after?.kind === "directory" || after?.nlink !== 1;
}

/** Puts the chosen content of an entry into its slot; "false" if the entry lands as a whole. */
export type StagesContent = (checked: CheckedEntry, slots: Slots) => boolean;

interface FilledSlot {
  readonly checked: CheckedEntry;
  readonly plan: StagingPlan;
}

/**
 * Puts each entry that comes into its slot, and writes its manifest entry once no process can change the
 * slot.
 *
 * A process that still has a file open for writing, or works in a folder, would write to it after the
 * landing. So a copy lands instead, and the entry goes back into the sandbox. We check this after the move,
 * because from then on no process can open the entry by its path: for a file with one name at once; for files
 * with several names and for folders after all slots are filled.
 */
export class SlotFiller implements Disposable {
  readonly #input: RenamingInput;
  readonly #slots: Slots;
  readonly #writer: EntriesWriter;
  readonly #stagesContent: StagesContent;
  readonly #parents: OpenParent;
  readonly #links: LinkMap = new Map();
  #hasMovedFolders = false;
  #hasUnsettled = false;
  readonly #isOnOverlay: boolean;

  constructor(input: RenamingInput, slots: Slots, writer: EntriesWriter, stagesContent: StagesContent) {
    this.#input = input;
    this.#slots = slots;
    this.#writer = writer;
    this.#stagesContent = stagesContent;
    this.#parents = new OpenParent(input.sandbox);
    this.#isOnOverlay = isOnOverlay(input.original);
  }

  fill(checked: CheckedEntry, plan: StagingPlan): void {
    const { entry, slot } = checked;
    if (checked.isRenamed) return;
    if (!checked.comesIn || plan.method === "link") {
      if (this.#input.contents?.has(entry.path) === true) throw notInPart(entry.path);
      this.#write(checked, plan, undefined);
      return;
    }
    if (!this.#stagesContent(checked, this.#slots)) {
      if (plan.method === "copy") this.#copy(checked, plan);
      else this.#take(checked);
    }
    this.#hasMovedFolders ||= plan.method === "move" && entry.after?.kind === "directory";
    if (isSettledLater(entry)) this.#hasUnsettled = true;
    else this.#settle({ checked, plan }, this.#factsIn(slot, checked), () => false);
  }

  /** Called with all entries when all slots are filled. */
  finish(entries: Iterable<CheckedEntry>, planOf: (checked: CheckedEntry) => StagingPlan): void {
    if (!this.#hasUnsettled) return;
    const held = this.#hasMovedFolders ? folderHolders(this.#slots.path).map(({ path }) => path) : [];
    for (const checked of entries) {
      const { entry, slot } = checked;
      if (!checked.comesIn || !isSettledLater(entry)) continue;
      const plan = planOf(checked);
      if (plan.method === "link") continue;
      const label = this.#slots.label(slot);
      const isWorkedIn = () => held.some((path) => path === label || path.startsWith(`${label}/`));
      this.#settle({ checked, plan }, this.#factsIn(slot, checked), isWorkedIn);
    }
  }

  [Symbol.dispose](): void {
    this.#parents.close();
  }

  #take({ entry, slot }: CheckedEntry): void {
    const { path, after } = entry;
    const [parent, slots] = [this.#parents.need(path), this.#slots.in(slot)];
    if (after?.kind === "directory")
      moveEntry(MOVE, { folder: parent, name: baseName(path) }, { folder: slots, name: slotName(slot) });
    else parent.move(MOVE, baseName(path), slots, slotName(slot));
  }

  /** Makes sure that the slot can't change, or puts a copy there, and writes the manifest entry. */
  #settle({ checked, plan }: FilledSlot, facts: Facts, isWorkedIn: () => boolean): void {
    const { entry, slot } = checked;
    if (plan.method === "copy") {
      this.#write(checked, plan, facts);
      return;
    }
    const place = { parent: this.#slots.in(slot), name: slotName(slot), path: entry.path };
    // A process has linked the file since the survey.
    const isShared = facts.kind !== "directory" && facts.nlink > 1 && entry.after?.nlink === 1;
    if (isShared || isWorkedIn() || isHeld(place, facts, this.#input.rules)) {
      putBack(this.#input.sandbox, this.#slots, slot, entry.path);
      this.#copy(checked, plan);
      this.#write(checked, plan, this.#factsIn(slot, checked));
    } else if (this.#input.isLayer) {
      freeOfMarks(place.parent, place.name);
      this.#write(checked, plan, this.#factsIn(slot, checked));
    } else this.#write(checked, plan, facts);
  }

  #copy({ entry: { path }, slot }: CheckedEntry, { innerLinks = [] }: StagingPlan): void {
    const { rules } = this.#input;
    const later = new Set(innerLinks.map((link) => joinPath(path, link.path)));
    const options = {
      data: "share",
      links: this.#links,
      filter: (at: string, facts: Facts) => !later.has(at) && rules.lands(at, facts),
      mode: (at: string, facts: Facts) => rules.mode(at, facts),
      xattrs: (at: string, xattrs: Xattrs) => rules.xattrs(at, xattrs),
    } as const;
    const parent = this.#parents.need(path);
    const to = { folder: this.#slots.in(slot), name: slotName(slot) };
    runAtOnce(copyEntry({ folder: parent, name: baseName(path) }, to, options, path));
  }

  #factsIn(slot: number, { entry }: CheckedEntry): Facts {
    const facts = this.#slots.facts(slot);
    if (facts !== undefined) return facts;
    throw new SandboxCommitError(`${this.#input.sandbox.label(entry.path)} vanished while it was prepared.`, {
      hint: "Something is still working in the sandbox. End it and try again.",
    });
  }

  #write(checked: CheckedEntry, plan: StagingPlan, inSlot: Facts | undefined): void {
    const { entry, slot, before } = checked;
    const own = this.#extrasOf(checked, before, plan);
    const known = this.#input.contents?.has(entry.path) === true ? { ...own, partly: true as const } : own;
    const extras = this.#isOnOverlay ? { ...known, ...this.#onOverlay(checked) } : known;
    this.#writer.add({
      slot,
      path: entry.path,
      operation: checked.renamedTo === undefined ? entry.operation : "rename",
      before: before === undefined ? undefined : packIdentity(before),
      after: inSlot === undefined ? undefined : packIdentity(inSlot),
      ...(extras !== undefined && { extras }),
    });
  }

  /** An entry on an overlay may be of a lower layer, which shows only when it is to move. */
  #onOverlay({ entry, slot, before }: CheckedEntry): EntryExtras {
    if (before === undefined) return {};
    if (before.kind !== "directory") return before.nlink > 1 ? { byContent: true } : {};
    if (entry.operation === "metadata") return {};
    using parent = this.#input.original.openBelow(parentPath(entry.path));
    const at = { folder: this.#slots.in(slot), name: skeletonName(slot) };
    return { skeleton: makeSkeleton({ folder: parent, name: baseName(entry.path) }, at) };
  }

  #extrasOf(
    { entry, renamedTo }: CheckedEntry,
    before: Facts | undefined,
    { linkTo, innerLinks }: StagingPlan,
  ): EntryExtras | undefined {
    if (renamedTo !== undefined) return { renamedTo };
    if (linkTo !== undefined) return { linkTo };
    if (innerLinks !== undefined) return { innerLinks };
    if (entry.operation !== "metadata" || before === undefined) return undefined;
    return { metadata: metadataChange(this.#input, entry, before) };
  }
}

/** An entry that was taken out of a sandbox. */
interface TakenEntry {
  readonly parent: Folder;
  readonly name: string;
  /** Its path in the sandbox. */
  readonly path: string;
}

/**
 * Whether a process has the entry, or a file in it, open for writing; or whether it may not land unchanged.
 * No process can reach it by its path any more, so "no" stays true.
 */
function isHeld({ parent, name, path }: TakenEntry, facts: Facts, rules: LandingRules): boolean {
  if (facts.kind === "directory") {
    using folder = parent.openChild(name);
    return folder.names().some((child) => {
      const inside = folder.facts(child);
      return (
        inside !== undefined &&
        isHeld({ parent: folder, name: child, path: joinPath(path, child) }, inside, rules)
      );
    });
  }
  if (facts.kind !== "file") return !rules.landsAsIs(path, facts, () => readXattrs(parent, name));
  const fd = parent.openFile(name);
  try {
    return !rules.landsAsIs(path, facts, () => readXattrsOfOpen(fd, parent, name)) || isOpenForWriting(fd);
  } finally {
    closeFile(fd);
  }
}
