import { SandboxCommitError } from "../../core/errors/errors.ts";
import { baseName, joinPath } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Xattrs } from "../../system/calls/xattrs.ts";
import { failpoint } from "../../system/failpoints.ts";
import { folderHolders } from "../../system/process/holders.ts";
import type { TreeEntry } from "../changes/change-set.ts";
import { type EntriesWriter, type EntryExtras, packIdentity } from "../manifest/manifest-entries.ts";
import { type Slots, slotName } from "../manifest/slots.ts";
import { copyEntry, type LinkMap } from "../tree/copy-tree.ts";
import { moveEntry } from "../tree/move-entry.ts";
import { OpenParent } from "../tree/open-parent.ts";
import { runAtOnce } from "../work/pace.ts";
import type { LeftEntry } from "./checked-entries.ts";
import { isHeld } from "./held-entry.ts";
import { freeOfMarks } from "./layer-traces.ts";
import { metadataChange } from "./staged-manifest.ts";
import { comesIn, type StagingInput } from "./staging-input.ts";
import type { StagingPlan } from "./survey.ts";
import { putBack } from "./unstaging.ts";

const MOVE = failpoint("stage.take-out");

interface FilledSlot {
  readonly left: LeftEntry;
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
  readonly #input: StagingInput;
  readonly #slots: Slots;
  readonly #writer: EntriesWriter;
  readonly #parents: OpenParent;
  readonly #links: LinkMap = new Map();
  readonly #later: FilledSlot[] = [];

  constructor(input: StagingInput, slots: Slots, writer: EntriesWriter) {
    this.#input = input;
    this.#slots = slots;
    this.#writer = writer;
    this.#parents = new OpenParent(input.sandbox);
  }

  fill(left: LeftEntry, plan: StagingPlan): void {
    const { entry, slot } = left;
    if (!comesIn(entry) || plan.way === "link") {
      this.#write(left, plan, undefined);
      return;
    }
    if (plan.way === "copy") this.#copy(left, plan);
    else this.#take(left);
    if (entry.after?.kind === "directory" || entry.after?.nlink !== 1) this.#later.push({ left, plan });
    else this.#settle({ left, plan }, this.#factsIn(slot, left), () => false);
  }

  /** Called when all slots are filled. */
  finish(): void {
    const hasFolders = this.#later.some(
      ({ left, plan }) => plan.way === "move" && left.entry.after?.kind === "directory",
    );
    const held = hasFolders ? folderHolders(this.#slots.path).map(({ path }) => path) : [];
    for (const filled of this.#later) {
      const { slot } = filled.left;
      const label = this.#slots.label(slot);
      const isWorkedIn = () => held.some((path) => path === label || path.startsWith(`${label}/`));
      this.#settle(filled, this.#factsIn(slot, filled.left), isWorkedIn);
    }
  }

  [Symbol.dispose](): void {
    this.#parents.close();
  }

  #take({ entry, slot }: LeftEntry): void {
    const { path, after } = entry;
    const [parent, slots] = [this.#parents.need(path), this.#slots.in(slot)];
    if (after?.kind === "directory") moveEntry(MOVE, parent, baseName(path), slots, slotName(slot));
    else parent.move(MOVE, baseName(path), slots, slotName(slot));
  }

  /** Makes sure that the slot can't change, or puts a copy there, and writes the manifest entry. */
  #settle({ left, plan }: FilledSlot, facts: Facts, isWorkedIn: () => boolean): void {
    const { entry, slot } = left;
    if (plan.way === "copy") {
      this.#write(left, plan, facts);
      return;
    }
    const place = { parent: this.#slots.in(slot), name: slotName(slot), path: entry.path };
    // A process has linked the file since the survey.
    const isShared = facts.kind !== "directory" && facts.nlink > 1 && entry.after?.nlink === 1;
    if (isShared || isWorkedIn() || isHeld(place, facts, this.#input.rules)) {
      putBack(this.#input.sandbox, this.#slots, slot, entry.path);
      this.#copy(left, plan);
      this.#write(left, plan, this.#factsIn(slot, left));
    } else if (this.#input.isLayer) {
      freeOfMarks(place.parent, place.name);
      this.#write(left, plan, this.#factsIn(slot, left));
    } else this.#write(left, plan, facts);
  }

  #copy({ entry: { path }, slot }: LeftEntry, { innerLinks = [] }: StagingPlan): void {
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
    runAtOnce(copyEntry(parent, baseName(path), this.#slots.in(slot), slotName(slot), options, path));
  }

  #factsIn(slot: number, { entry }: LeftEntry): Facts {
    const facts = this.#slots.facts(slot);
    if (facts !== undefined) return facts;
    throw new SandboxCommitError(`${this.#input.sandbox.label(entry.path)} vanished while it was prepared.`, {
      hint: "Something is still working in the sandbox. End it and try again.",
    });
  }

  #write(left: LeftEntry, plan: StagingPlan, inSlot: Facts | undefined): void {
    const { entry, slot, before } = left;
    const extras = this.#extrasOf(entry, before, plan);
    this.#writer.add({
      slot,
      path: entry.path,
      operation: entry.operation,
      before: before === undefined ? undefined : packIdentity(before),
      after: inSlot === undefined ? undefined : packIdentity(inSlot),
      ...(extras !== undefined && { extras }),
    });
  }

  #extrasOf(
    entry: TreeEntry,
    before: Facts | undefined,
    { linkTo, innerLinks }: StagingPlan,
  ): EntryExtras | undefined {
    if (linkTo !== undefined) return { linkTo };
    if (innerLinks !== undefined) return { innerLinks };
    if (entry.operation !== "metadata" || before === undefined) return undefined;
    return { metadata: metadataChange(this.#input, entry, before) };
  }
}
