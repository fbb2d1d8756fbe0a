import { baseName, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { PlanChange, PlanRename } from "../plan-views.ts";

/** Of more changes of one resource than this, no renames are looked for: they would take too much memory. */
const MOST_CHANGES = 100_000;
/** How many entries with the same content are tried for a better name. */
const MOST_TRIED = 16;

/** What is kept of an added or deleted entry. */
interface Entry {
  readonly path: string;
  readonly kind: PlanChange["kind"];
  /** The content, or the target of a link; undefined if it is unknown. */
  readonly content: string | undefined;
  readonly isEmpty: boolean;
  /** Mode, owner and attributes. */
  readonly metadata: string;
  readonly hasWarnings: boolean;
}

/** One side of the changes of a resource: what is added, or what is deleted. */
class Side {
  readonly entries = new Map<string, Entry>();
  readonly #below = new Map<string, Entry[]>();

  add(entry: Entry): void {
    this.entries.set(entry.path, entry);
    const parent = parentPath(entry.path);
    const siblings = this.#below.get(parent);
    if (siblings === undefined) this.#below.set(parent, [entry]);
    else siblings.push(entry);
  }

  folder(path: string): Entry | undefined {
    const entry = this.entries.get(path);
    return entry?.kind === "directory" && path !== ROOT_PATH ? entry : undefined;
  }

  below(path: string): readonly Entry[] {
    return this.#below.get(path) ?? [];
  }
}

/**
 * Finds renames among the changes of a plan: entries that are deleted at one path and added at another with
 * the same content, mode and owner. A folder counts as renamed if everything in it is the same on both sides;
 * then nothing in it is a rename of its own. An entry with a warning is shown as it is. Takes one change
 * after the other, and keeps only what it has to compare.
 */
export class RenameFinder {
  readonly #resources = new Map<string, { readonly gone: Side; readonly fresh: Side } | "too many">();
  /** Most entries have the metadata of many others: each text is kept once. */
  readonly #metadata = new Map<string, string>();

  add(change: PlanChange): void {
    const { resource, operation } = change;
    if (operation !== "added" && operation !== "deleted") return;
    const known = this.#resources.get(resource) ?? { gone: new Side(), fresh: new Side() };
    if (known === "too many") return;
    const side = operation === "added" ? known.fresh : known.gone;
    side.add(this.#entryOf(change));
    this.#resources.set(resource, side.entries.size > MOST_CHANGES ? "too many" : known);
  }

  find(): readonly PlanRename[] {
    return [...this.#resources].flatMap(([resource, known]) => {
      if (known === "too many") return [];
      return new Pairing(known.gone, known.fresh).renames().map((rename) => ({ resource, ...rename }));
    });
  }

  #entryOf(change: PlanChange): Entry {
    const { path, kind, warnings = [] } = change;
    const facts = change.after ?? change.before ?? {};
    const { mode, uid, gid, xattrs } = facts;
    const metadata = JSON.stringify([mode, uid, gid, xattrs]);
    return {
      path,
      kind,
      content: contentOf(change),
      isEmpty: facts.size === 0,
      metadata: this.#kept(metadata),
      hasWarnings: warnings.length > 0,
    };
  }

  #kept(metadata: string): string {
    const known = this.#metadata.get(metadata);
    if (known === undefined) this.#metadata.set(metadata, metadata);
    return known ?? metadata;
  }
}

type FoundRename = Omit<PlanRename, "resource">;

class Pairing {
  readonly #gone: Side;
  readonly #fresh: Side;
  readonly #byContent = new Map<string, Entry[]>();
  readonly #found: FoundRename[] = [];
  readonly #paired = new Set<Entry>();

  constructor(gone: Side, fresh: Side) {
    this.#gone = gone;
    this.#fresh = fresh;
    for (const entry of gone.entries.values()) {
      if (entry.content === undefined || entry.kind === "directory") continue;
      const same = this.#byContent.get(entry.content);
      if (same === undefined) this.#byContent.set(entry.content, [entry]);
      else same.push(entry);
    }
  }

  renames(): readonly FoundRename[] {
    const entries = [...this.#fresh.entries.values()].filter(({ kind }) => kind !== "directory");
    const tried = new Set<string>();
    for (const entry of entries) {
      const folders = this.#folders(entry);
      if (folders === undefined || tried.has(`${folders.from}\0${folders.to}`)) continue;
      tried.add(`${folders.from}\0${folders.to}`);
      this.#pairFolders(folders.from, folders.to);
    }
    for (const entry of entries) {
      const from = this.#paired.has(entry) ? undefined : this.#best(entry);
      if (from === undefined) continue;
      this.#paired.add(from);
      this.#found.push({ from: from.path, to: entry.path, kind: entry.kind });
    }
    return this.#found.sort((one, other) => (one.to < other.to ? -1 : 1));
  }

  /** The outermost folders, one gone and one new, in which an entry has the same path. */
  #folders(entry: Entry): { readonly from: string; readonly to: string } | undefined {
    let [from, to] = [this.#best(entry)?.path, entry.path];
    if (from === undefined) return undefined;
    let found: { readonly from: string; readonly to: string } | undefined;
    while (baseName(from) === baseName(to)) {
      [from, to] = [parentPath(from), parentPath(to)];
      if (this.#gone.folder(from) === undefined || this.#fresh.folder(to) === undefined) break;
      found = { from, to };
    }
    return found;
  }

  /** Pairs two folders, or else those of the same name in them. */
  #pairFolders(from: string, to: string): void {
    const [gone, fresh] = [this.#gone.folder(from), this.#fresh.folder(to)];
    if (gone === undefined || fresh === undefined || this.#paired.has(gone) || this.#paired.has(fresh))
      return;
    const inside = this.#sameInside(gone, fresh);
    if (inside === undefined) {
      for (const { path } of this.#gone.below(from)) this.#pairFolders(path, `${to}/${baseName(path)}`);
      return;
    }
    for (const entry of inside) this.#paired.add(entry);
    this.#found.push({ from, to, kind: "directory", entries: inside.length / 2 - 1 });
  }

  /** Both entries with everything in them; undefined if something differs or has a warning. */
  #sameInside(gone: Entry, fresh: Entry): Entry[] | undefined {
    if (!isAlike(gone, fresh)) return undefined;
    const all = [gone, fresh];
    const below = this.#gone.below(gone.path);
    if (below.length !== this.#fresh.below(fresh.path).length) return undefined;
    for (const child of below) {
      const twin = this.#fresh.entries.get(`${fresh.path}/${baseName(child.path)}`);
      const inside = twin && this.#sameInside(child, twin);
      if (inside === undefined) return undefined;
      for (const entry of inside) all.push(entry);
    }
    return all;
  }

  /** The deleted entry that an added one most likely was: same content, and the most names in common. */
  #best(entry: Entry): Entry | undefined {
    const same = entry.content === undefined ? [] : (this.#byContent.get(entry.content) ?? []);
    let best: Entry | undefined;
    let tried = 0;
    for (const candidate of same) {
      if (this.#paired.has(candidate) || !isAlike(candidate, entry)) continue;
      // Any two empty files are the same.
      if (entry.isEmpty && baseName(candidate.path) !== baseName(entry.path)) continue;
      if (best === undefined || inCommon(candidate, entry) > inCommon(best, entry)) best = candidate;
      tried += 1;
      if (tried === MOST_TRIED) break;
    }
    return best;
  }
}

function isAlike(one: Entry, other: Entry): boolean {
  if (one.kind !== other.kind || one.content === undefined || one.content !== other.content) return false;
  return one.metadata === other.metadata && !one.hasWarnings && !other.hasWarnings;
}

/** How many names at the ends of two paths are the same. */
function inCommon(one: Entry, other: Entry): number {
  const [a, b] = [one.path.split("/").reverse(), other.path.split("/").reverse()];
  const differing = a.findIndex((name, at) => name !== b[at]);
  return differing < 0 ? a.length : differing;
}

function contentOf({ kind, before, after }: PlanChange): string | undefined {
  if (kind === "file") return (after ?? before)?.digest;
  if (kind === "symlink") return `to ${(after ?? before)?.target}`;
  return kind === "directory" ? kind : undefined;
}
