import { CHANGE_KINDS, type ChangeKind, DiffCount } from "../../core/change.ts";
import { joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { DiffOptions, PlanChange, PlanDiff } from "../plan-views.ts";

/** What changes in a folder and in everything below it. */
export interface FolderSummary {
  readonly resource: string;
  /** The folder in the resource; of a database, the table. */
  readonly path: string;
  readonly added: number;
  readonly modified: number;
  readonly deleted: number;
  readonly insertions: number;
  readonly deletions: number;
  /** How many of each kind. */
  readonly kinds: { readonly [kind in ChangeKind]?: number };
  /** How many of them have a warning; absent without any. */
  readonly warnings?: number;
  /** Changed folders in it that are not listed, because others change more; absent without any. */
  readonly unlisted?: number;
}

/** A folder with what changes in it. */
class Folder {
  readonly resource: string;
  readonly path: string;
  readonly folders = new Map<string, Folder>();
  readonly #count = new DiffCount();
  readonly #kinds = new Map<ChangeKind, number>();
  #warnings = 0;
  #size = 0;
  #hasEntries = false;

  constructor(resource: string, path: string) {
    this.resource = resource;
    this.path = path;
  }

  get size(): number {
    return this.#size;
  }

  inner(name: string): Folder {
    const known = this.folders.get(name);
    if (known !== undefined) return known;
    const made = new Folder(this.resource, joinPath(this.path, name));
    this.folders.set(name, made);
    return made;
  }

  /** Counts a change in it or below it. */
  count(change: PlanChange, isBelow: boolean): void {
    this.#size += 1;
    this.#hasEntries ||= !isBelow && change.kind !== "directory";
    this.#count.add(change);
    this.#kinds.set(change.kind, (this.#kinds.get(change.kind) ?? 0) + 1);
    if (change.warnings !== undefined && change.warnings.length > 0) this.#warnings += 1;
  }

  /** The folder, or the one below it that holds all of its changes. */
  get heart(): Folder {
    const [only] = this.folders.values();
    return only !== undefined && this.folders.size === 1 && !this.#hasEntries ? only.heart : this;
  }

  /** The folders in it, without those that only lead to another. */
  get inside(): readonly Folder[] {
    return [...this.folders.values()].map(({ heart }) => heart);
  }

  summary(unlisted: number): FolderSummary {
    const { renamed: _, ...counts } = this.#count.stats;
    const kinds = CHANGE_KINDS.flatMap((kind) => {
      const count = this.#kinds.get(kind);
      return count === undefined ? [] : [[kind, count] as const];
    });
    return {
      ...{ resource: this.resource, path: this.path, ...counts, kinds: Object.fromEntries(kinds) },
      ...(this.#warnings > 0 && { warnings: this.#warnings }),
      ...(unlisted > 0 && { unlisted }),
    };
  }
}

/**
 * A diff by folders, of any size in a few lines: of the folders in a listed one, those come next in which
 * most changes are. Every change counts in each folder around it, so nothing is left out of the numbers.
 */
export class ChangeSummary {
  readonly #resources = new Map<string, Folder>();

  add(change: PlanChange): void {
    const { resource, path } = change;
    let folder = this.#resources.get(resource) ?? new Folder(resource, ROOT_PATH);
    this.#resources.set(resource, folder);
    // A folder that changes itself is one of the changes in the folder around it.
    const around = path.split("/").slice(0, -1);
    folder.count(change, around.length > 0);
    for (const [at, name] of around.entries()) {
      folder = folder.inner(name);
      folder.count(change, at < around.length - 1);
    }
  }

  /** All resources, and at most `most` folders in them: each before those in it. */
  folders(most: number): readonly FolderSummary[] {
    const resources = [...this.#resources.values()];
    const listed = new Set<Folder>();
    const next = resources.flatMap(({ inside }) => inside);
    while (next.length > 0 && listed.size < most) {
      const [folder] = next.splice(largest(next), 1) as [Folder];
      listed.add(folder);
      next.push(...folder.inside);
    }
    return resources.flatMap((folder) => [...inOrder(folder, listed)]);
  }
}

/** The most folders of a summary: as many as fit on a screen. */
export const SUMMARY_FOLDERS = 30;

/** A diff without its changes, and with its folders. */
export interface PlanSummary extends Omit<PlanDiff, "changes" | "renames"> {
  readonly folders: readonly FolderSummary[];
}

/** What a plan changes, by folders. */
export async function summaryOf(
  plans: { diff(plan: string | undefined, options: DiffOptions): Promise<PlanDiff> },
  plan: string | undefined,
  options: Pick<DiffOptions, "paths" | "checkpoint">,
): Promise<PlanSummary> {
  const summary = new ChangeSummary();
  const onChange = (change: PlanChange): void => summary.add(change);
  const { changes: _, renames: __, ...diff } = await plans.diff(plan, { ...options, onChange });
  return { ...diff, folders: summary.folders(SUMMARY_FOLDERS) };
}

function largest(folders: readonly Folder[]): number {
  let found = 0;
  for (const [at, { size }] of folders.entries()) if (size > (folders[found] as Folder).size) found = at;
  return found;
}

function* inOrder(folder: Folder, listed: ReadonlySet<Folder>): Generator<FolderSummary> {
  const { inside } = folder;
  const shown = inside.filter((found) => listed.has(found));
  yield folder.summary(inside.length - shown.length);
  for (const found of shown) yield* inOrder(found, listed);
}
