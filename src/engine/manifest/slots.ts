import { StateError } from "../../core/errors/errors.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";
import { removeTree } from "../tree/remove-tree.ts";

/**
 * Where what a landing exchanges waits: slot N of a landing is `slots/GROUP/N`, 64 to a group. In one folder,
 * the thousandth slot would take twice as long as the first, because ext4 looks for room for a name, and for
 * the name, from a folder's beginning. An exchange in steps uses names with a suffix beside a slot's own
 * (exchange-entries.ts).
 */
export const SLOTS = "slots";
const IN_A_GROUP = 64;
const CREATE = failpoint("stage.create-slots");

export class Slots {
  readonly #folder: Folder;
  #group: { readonly number: number; readonly folder: Folder | undefined } | undefined;

  constructor(folder: Folder) {
    this.#folder = folder;
  }

  /** Makes room for so many. */
  static make(landing: Folder, count: number): Slots {
    const slots = new Slots(landing.ensureFolder(CREATE, SLOTS));
    for (let slot = 0; slot < count; slot += IN_A_GROUP)
      slots.#folder.ensureFolder(CREATE, String(groupOf(slot))).close();
    return slots;
  }

  static open(landing: Folder): Slots {
    return new Slots(landing.openChild(SLOTS));
  }

  /** The same, or undefined if a staging did not come that far. */
  static openIfThere(landing: Folder): Slots | undefined {
    const folder = landing.openBelowIfThere(SLOTS);
    return folder === undefined ? undefined : new Slots(folder);
  }

  /** For messages, and to find processes inside. */
  get path(): string {
    return this.#folder.path;
  }

  /** The folder that a slot is in, by the name `slotName` says. Valid until another slot is asked for. */
  in(slot: number): Folder {
    const folder = this.#open(slot);
    if (folder !== undefined) return folder;
    throw new StateError(`The record of this landing is incomplete: ${this.label(slot)} has no folder.`, {
      hint: "Nothing is taken back or finished from an incomplete record.",
    });
  }

  /** The facts of the entry in a slot, if there is one. */
  facts(slot: number): Facts | undefined {
    return this.#open(slot)?.facts(slotName(slot));
  }

  label(slot: number): string {
    return this.#folder.label(`${groupOf(slot)}/${slotName(slot)}`);
  }

  /** Those that hold something. */
  numbers(): number[] {
    const numbers: number[] = [];
    for (const folder of this.folders())
      if (folder.path !== this.path) numbers.push(...folder.names().map(Number).filter(Number.isInteger));
    return numbers;
  }

  /** Removes everything except these slots. */
  removeAllBut(point: Failpoint, kept: ReadonlySet<number>): void {
    for (const folder of this.folders())
      if (folder.path !== this.path)
        for (const name of folder.names()) if (!kept.has(Number(name))) removeTree(point, folder, name);
  }

  /** Every folder, each open until the next one is asked for. */
  *folders(): Generator<Folder> {
    yield this.#folder;
    for (const group of this.#folder.names()) {
      using folder = this.#folder.openChild(group);
      yield folder;
    }
  }

  [Symbol.dispose](): void {
    this.#group?.folder?.close();
    this.#folder.close();
  }

  /** Slots are used in order, so the group is mostly the one just used. */
  #open(slot: number): Folder | undefined {
    const number = groupOf(slot);
    if (this.#group?.number !== number) {
      this.#group?.folder?.close();
      this.#group = { number, folder: this.#folder.openBelowIfThere(String(number)) };
    }
    return this.#group.folder;
  }
}

/** Where the skeleton is of a folder that goes into this slot: see move-by-entries.ts. */
export function skeletonName(slot: number): string {
  return `${slot}.skeleton`;
}

export function slotName(slot: number): string {
  return String(slot);
}

function groupOf(slot: number): number {
  return Math.floor(slot / IN_A_GROUP);
}
