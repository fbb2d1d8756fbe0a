import { parentPath, ROOT_PATH } from "../core/byte-path.ts";
import { StateError } from "../core/errors.ts";
import type { CommitResult, PreparedCommit, Transaction } from "../core/strategy.ts";
import { failpoint } from "../system/failpoints.ts";
import { type FlushTarget, flush } from "../system/flush.ts";
import type { Folder } from "../system/folder.ts";
import { readLanded, runLanding } from "./landing.ts";
import { decodeManifest, type Manifest } from "./manifest.ts";
import { ensureFolder, removeTree } from "./remove-tree.ts";
import { readSmallFile } from "./small-file.ts";
import { MANIFEST, SLOTS, type StagingInput, stage, unstage } from "./staging.ts";
import { checkUndo } from "./undo-check.ts";

/**
 * The landings of one sandbox, each in a folder of its own in the workspace, `landings/TRANSACTION`: what the two-phase methods of every
 * directory strategy are made of. A landing that has landed stays as the undo record until it is discarded.
 */
const POINTS = {
  create: failpoint("landings.create"),
  flushStaged: failpoint("landings.flush-staged"),
  flushLanded: failpoint("landings.flush-landed"),
  discard: failpoint("landings.discard"),
};
const LANDINGS = "landings";

export class Landings {
  readonly #workspace: Folder;

  constructor(workspace: Folder) {
    this.#workspace = workspace;
  }

  /** Stages what the sandbox holds. */
  async prepare(
    transaction: Transaction,
    input: Omit<StagingInput, "landing" | "transaction">,
  ): Promise<PreparedCommit | null> {
    using landings = ensureFolder(POINTS.create, this.#workspace, LANDINGS);
    using landing = ensureFolder(POINTS.create, landings, transaction.id);
    const staged = stage({ ...input, landing, transaction: transaction.id });
    if (staged === null) {
      this.rollbackPrepared(transaction, input.sandbox);
      return null;
    }
    await flush(POINTS.flushStaged, landing, () => [
      { parent: landings, name: transaction.id },
      itself(landings),
      itself(this.#workspace),
    ]);
    return { changes: input.changes.changes.length, data: { digest: staged.digest, landing: transaction.id } };
  }

  /** Takes a prepare back, finished or not. */
  rollbackPrepared(transaction: Transaction, sandbox: Folder): void {
    using landings = this.#workspace.openBelowIfThere(LANDINGS);
    using landing = landings?.openBelowIfThere(transaction.id);
    if (landings === undefined || landing === undefined) return;
    unstage(sandbox, landing);
    landings.removeFolder(POINTS.discard, transaction.id);
    this.#removeIfEmpty();
  }

  /** Lands what was prepared, or takes back what had landed. */
  async run(
    original: Folder,
    prepared: PreparedCommit,
    direction: "forward" | "backward",
    tick: () => void,
  ): Promise<CommitResult> {
    using landing = this.#open(prepared);
    const manifest = readManifest(landing, prepared);
    const { attention } = runLanding(original, landing, manifest, direction, tick);
    using parents = new TouchedFolders(original, landing, manifest);
    await flush(POINTS.flushLanded, landing, () => parents.targets());
    return { changes: prepared.changes, attention };
  }

  /** Sees that a landed transaction can be taken back. */
  prepareUndo(original: Folder, undoes: PreparedCommit): PreparedCommit {
    using landing = this.#open(undoes);
    const landed = readLanded(landing);
    if (landed === undefined) throw damaged(landing.path);
    using slots = landing.openChild(SLOTS);
    checkUndo(original, slots, readManifest(landing, undoes), landed.barrier);
    return undoes;
  }

  /** Removes what an undo would need, but for versions of rivals, which nobody else has. */
  discard(prepared: PreparedCommit): void {
    const id = landingOf(prepared);
    using landings = this.#workspace.openBelowIfThere(LANDINGS);
    using landing = landings?.openBelowIfThere(id);
    if (landings === undefined || landing === undefined) return;
    const kept = new Set(readLanded(landing)?.keptSlots.map(String));
    if (kept.size === 0) {
      removeTree(POINTS.discard, landings, id);
      this.#removeIfEmpty();
      return;
    }
    using slots = landing.openChild(SLOTS);
    for (const name of slots.names()) if (!kept.has(name)) removeTree(POINTS.discard, slots, name);
  }

  /** Ids of all landings, the latest first. */
  ids(): string[] {
    using landings = this.#workspace.openBelowIfThere(LANDINGS);
    return landings?.names().sort().reverse() ?? [];
  }

  /** Takes back a landing of any stage, from what is on disk alone: nothing of it stays in the original, nor its work anywhere. */
  revert(id: string, original: Folder): void {
    using landings = this.#workspace.openBelow(LANDINGS);
    using landing = landings.openBelow(id);
    const bytes = readSmallFile(landing, MANIFEST);
    if (bytes !== undefined) {
      const manifest = JSON.parse(bytes.toString()) as Manifest;
      const landed = readLanded(landing);
      using slots = landing.openChild(SLOTS);
      if (landed !== undefined) checkUndo(original, slots, manifest, landed.barrier);
      runLanding(original, landing, manifest, "backward");
    }
    removeTree(POINTS.discard, landings, id);
    this.#removeIfEmpty();
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

function landingOf(prepared: PreparedCommit): string {
  return String(prepared.data["landing"]);
}

function readManifest(landing: Folder, prepared: PreparedCommit): Manifest {
  const bytes = readSmallFile(landing, MANIFEST);
  if (bytes === undefined) throw damaged(landing.path);
  return decodeManifest(bytes, String(prepared.data["digest"]), landing.label(MANIFEST));
}

function damaged(path: string): StateError {
  return new StateError(`The record of this landing is missing or incomplete: ${path}`, {
    hint: "Nothing is taken back or finished from an incomplete record.",
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

  targets(): FlushTarget[] {
    const paths = new Set(this.#manifest.entries.map(({ path }) => (path === ROOT_PATH ? path : parentPath(path))));
    for (const path of paths) {
      const folder = this.#original.openBelowIfThere(path);
      if (folder !== undefined) this.#open.push(folder);
    }
    this.#open.push(this.#landing.openChild(SLOTS), this.#landing.duplicate());
    return this.#open.map(itself);
  }

  [Symbol.dispose](): void {
    for (const folder of this.#open) folder.close();
  }
}
