import { UnsupportedError } from "../../core/errors/errors.ts";
import { baseName, joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";

/** An entry of a tree. Its parent is open until the walk goes on. */
export interface WalkedEntry {
  /** From the root of the walk. */
  readonly path: string;
  readonly parent: Folder;
  readonly name: string;
  readonly facts: Facts;
}

interface WalkOptions {
  /** Whether to look at the contents of a folder. Default: yes. */
  readonly enters?: (folder: WalkedEntry) => boolean;
  /** Skips what refuses us, instead of failing. */
  readonly skipsRefused?: boolean;
}

/**
 * Walks everything below a folder, each folder before its contents, in an order that depends on the names
 * alone. Skips entries that vanish meanwhile. Without recursion, and with the paths of waiting folders
 * instead of handles: a hostile program can make folders deeper than any stack, and more than we may open.
 */
export function* walkBelow(
  root: Folder,
  top: string = ROOT_PATH,
  { enters = () => true, skipsRefused = false }: WalkOptions = {},
): Generator<WalkedEntry> {
  const passes = skipsRefused ? (["ENOENT", "EACCES"] as const) : (["ENOENT"] as const);
  const waiting = [top];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const path = at;
    using folder = unlessFailed(passes, () => root.openBelowIfThere(path));
    for (const name of unlessFailed(passes, () => folder?.names().sort()) ?? []) {
      const facts = unlessFailed(passes, () => folder?.facts(name));
      if (folder === undefined || facts === undefined) continue;
      const entry = { path: joinPath(path, name), parent: folder, name, facts };
      if (facts.kind === "directory" && enters(entry)) waiting.push(entry.path);
      yield entry;
    }
  }
}

/** Walks an entry, if it is there, and everything below it. */
export function* walkFrom(root: Folder, top: string, options: WalkOptions = {}): Generator<WalkedEntry> {
  using parent = root.openBelowIfThere(parentPath(top));
  const facts = parent?.facts(baseName(top));
  if (parent === undefined || facts === undefined) return;
  yield { path: top, parent, name: baseName(top), facts };
  if (facts.kind === "directory") yield* walkBelow(root, top, options);
}

/**
 * Far beyond what people make, and far below what a walk can take: a walk holds a handle and a stack frame
 * for each folder above.
 */
const MOST_FOLDERS = 1000;
const NAMES_SHOWN = 5;

/** Refuses a folder that is too deep. A hostile program can make folders deeper than any stack. */
export function assertNotTooDeep(path: string): void {
  // The length of the shortest path that is too deep, with names of one character. Nearly all paths are
  // shorter.
  if (path.length < 2 * MOST_FOLDERS) return;
  const names = path.split("/");
  if (names.length <= MOST_FOLDERS) return;
  throw new UnsupportedError(
    `The folder ${names.slice(0, NAMES_SHOWN).join("/")}/… is more than ${MOST_FOLDERS.toLocaleString("en")} folders deep.`,
    { hint: "Remove it or make it flatter, in the sandbox if it is the plan's; or cancel the plan." },
  );
}

/** The sum of the sizes of all files of an entry. Skips mount points, and what refuses us. */
export function treeSize(parent: Folder, name: string): number {
  const mountId = parent.facts(name)?.mountId;
  let bytes = 0;
  const options = {
    skipsRefused: true,
    enters: ({ facts }: { readonly facts: { readonly mountId: number } }) => facts.mountId === mountId,
  };
  for (const { facts } of walkFrom(parent, name, options))
    if (facts.kind !== "directory" && facts.mountId === mountId) bytes += facts.size;
  return bytes;
}
