import { StateError } from "../../core/errors/errors.ts";
import { list, number, object, text } from "../../core/values/shape.ts";
import type { Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import type { Failpoint } from "../../system/failpoints.ts";
import { currentBootId } from "../../system/process/process-identity.ts";
import { takeBarrier } from "../base/barrier.ts";

/**
 * The notes that every kind of tree keeps about itself, in two files of its workspace:
 *
 *   sandbox   JSON: the barrier T0, the boot it was made in, and further facts of its kind
 *   stale     empty; present after a landing: the tree no longer mirrors the original and is made anew before
 *             its next use
 */
const SANDBOX = "sandbox";
const STALE = "stale";

interface Common {
  readonly barrier: Time;
  readonly bootId: string;
}

const COMMON = object<Common>({ barrier: list(number), bootId: text });

export class SandboxNotes<More extends object = object> {
  readonly #workspace: Folder;
  readonly #points: { readonly stale: Failpoint; readonly fresh: Failpoint };
  #known: (Common & More) | undefined;

  constructor(workspace: Folder, points: { readonly stale: Failpoint; readonly fresh: Failpoint }) {
    this.#workspace = workspace;
    this.#points = points;
  }

  get areThere(): boolean {
    return this.#workspace.facts(SANDBOX) !== undefined;
  }

  get barrier(): Time {
    return this.read().barrier;
  }

  get isFromEarlierBoot(): boolean {
    return this.read().bootId !== currentBootId();
  }

  read(): Common & More {
    const bytes = this.#known === undefined ? readWhole(this.#workspace, SANDBOX) : undefined;
    const found = bytes === undefined ? undefined : parsed<Common & More>(bytes);
    if (found !== undefined && COMMON(found, "") === undefined) this.#known = found;
    if (this.#known !== undefined) return this.#known;
    throw new StateError(`The sandbox in ${this.#workspace.path} is incomplete.`, {
      hint: "Cancel its plan and make a new one.",
    });
  }

  /** Takes the barrier now, unless the caller gives one. */
  write(point: Failpoint, more: More, barrier: Time = takeBarrier(this.#workspace)): void {
    this.#known = { barrier, bootId: currentBootId(), ...more };
    writeWhole(point, this.#workspace, SANDBOX, Buffer.from(JSON.stringify(this.#known)));
  }

  /** Removes the notes, so that the workspace counts as unfinished until they are written again. */
  remove(point: Failpoint): void {
    this.#known = undefined;
    if (this.areThere) this.#workspace.removeFile(point, SANDBOX);
  }

  get isStale(): boolean {
    return this.#workspace.facts(STALE) !== undefined;
  }

  markStale(): void {
    if (!this.isStale) writeWhole(this.#points.stale, this.#workspace, STALE, Buffer.alloc(0));
  }

  markFresh(): void {
    if (this.isStale) this.#workspace.removeFile(this.#points.fresh, STALE);
  }
}
