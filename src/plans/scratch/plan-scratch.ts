import type { Change, ChangeFacts } from "../../core/change.ts";
import { baseName, isAtOrBelow, parentPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import type { PlanRecord } from "../../core/plan.ts";
import { readFileBelow } from "../../engine/sandbox/writing.ts";
import { filePatch } from "../../engine/show/file-patch.ts";
import { LARGEST_TEXT } from "../../engine/show/text-diff.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { RunFolders } from "../../sandboxes/remains/run-folders.ts";
import { homeOf } from "../../sandboxes/scratch/caches.ts";
import { type FoundOutside, filesOutside, type OutsideFile } from "../../sandboxes/scratch/outside-files.ts";
import { type OutsideGroup, summaryOf } from "../../sandboxes/scratch/outside-places.ts";
import { openUpper } from "../../sandboxes/scratch/scratch-layers.ts";
import { lostScratch } from "../../sandboxes/scratch/scratch-place.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import type { Facts } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { digestOfContent } from "../../system/data/content-digest.ts";

/** What the commands of a plan wrote outside of its resources. */
export interface ScratchList {
  readonly planId: string;
  /** The folder that the files were in, if it is gone: it was in memory, and the machine was restarted. */
  readonly lost?: string;
  readonly places: readonly OutsideGroup[];
  readonly files: readonly OutsideFile[];
}

export interface ScratchParts {
  readonly session: PlanSession;
  readonly folders: RunFolders;
  readonly environment: { readonly [name: string]: string | undefined };
}

/**
 * Shows what the commands of a plan wrote outside of its resources. It is in the plan's scratch layers, never
 * lands, and goes with the plan; a resource that is added to the plan takes over what is there.
 */
export class PlanScratch {
  readonly #parts: ScratchParts;

  constructor(parts: ScratchParts) {
    this.#parts = parts;
  }

  async list(key: string | undefined): Promise<ScratchList> {
    const plan = await this.#parts.session.plans.find(key);
    using folder = this.#parts.folders.ifThere(plan.id);
    const found = folder === undefined ? [] : [...this.#files(folder, plan)];
    const lost = folder && lostScratch(folder);
    return {
      planId: plan.id,
      ...(lost !== undefined && { lost }),
      places: summaryOf(found).places,
      files: found
        .map(({ path, kind, bytes, cache }) => ({ path, kind, bytes, ...(cache && { cache }) }))
        .toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    };
  }

  /**
   * The difference to the files of the machine as unified text, one piece for each file. Without paths,
   * caches are left out.
   */
  async *patch(key: string | undefined, paths: readonly string[] = []): AsyncGenerator<string> {
    const plan = await this.#parts.session.plans.find(key);
    using folder = this.#parts.folders.ifThere(plan.id);
    if (folder === undefined) return;
    using machine = Folder.open("/");
    for (const file of this.#files(folder, plan)) {
      const isWanted =
        paths.length === 0 ? file.cache !== true : paths.some((path) => isAtOrBelow(file.path, path));
      if (isWanted) yield await patchOf(file, machine);
    }
  }

  #files(folder: Folder, { resources }: PlanRecord): Iterable<FoundOutside> {
    const locations = resources
      .map(({ resource }) => resource.location)
      .filter((location) => location.startsWith("/"));
    return filesOutside(folder, { resources: locations, home: homeOf(this.#parts.environment) });
  }
}

/** One side of a difference. */
interface Side {
  readonly facts: ChangeFacts;
  readonly kind: Facts["kind"];
  readonly bytes?: Uint8Array;
}

async function patchOf(file: FoundOutside, machine: Folder): Promise<string> {
  const path = file.path.slice(1);
  const before = unlessFailed(["EACCES", "ELOOP", "ENOTDIR"], () => sideAt(machine, path));
  using upper = openUpper(file.layer);
  const after = file.kind === "removed" ? undefined : sideAt(upper, file.storedAt);
  const shown = after ?? before;
  const operation = before === undefined ? "added" : after === undefined ? "deleted" : "modified";
  const change: Change = {
    path,
    operation,
    kind: shown === undefined || shown.kind === "block-device" ? "device" : shown.kind,
    ...(before !== undefined && { before: before.facts }),
    ...(after !== undefined && { after: after.facts }),
  };
  const sources = { before: async () => before?.bytes, after: async () => after?.bytes };
  return pathFromBytes(await filePatch(change, sources));
}

function sideAt(root: Folder, path: string): Side | undefined {
  using parent = root.openBelowIfThere(parentPath(path));
  const name = baseName(path);
  const facts = parent?.facts(name);
  if (parent === undefined || facts === undefined) return undefined;
  const { kind, mode, size } = facts;
  if (kind === "symlink") return { kind, facts: { target: parent.readLink(name) } };
  if (kind !== "file") return { kind, facts: { mode } };
  if (size > LARGEST_TEXT) return { kind, facts: { mode, size } };
  const bytes = readFileBelow(parent, name);
  return { kind, bytes, facts: { mode, size, digest: digestOfContent(bytes) } };
}
