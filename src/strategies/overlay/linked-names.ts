import { baseName, joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { copyEntry } from "../../engine/tree/copy-tree.ts";
import { OpenParent, readEntry } from "../../engine/tree/open-parent.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { type WalkedEntry, walkBelow } from "../../engine/tree/walk.ts";
import { runAtOnce } from "../../engine/work/pace.ts";
import { OWN_NAME } from "../../engine/workspace/workspace.ts";
import type { Facts } from "../../system/calls/facts.ts";
import { type FileHandle, handleOf } from "../../system/calls/file-handles.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { indexName, type LayerMarks, originHandle } from "./layer-marks.ts";
import { LayeredFolder } from "./layered-folder.ts";
import { UPPER, WORK } from "./layout.ts";

/**
 * The other names of copied-up files.
 *
 * The kernel's overlay keeps the names of a file together (index=on). When a program changes a file through
 * one name, the upper layer has only that name; the copy has a second one in the index, `work/index`, named
 * after the lower file. Programs see the copy under all its names. When they have ended, we give every such
 * name an entry in the upper layer, which is then complete by itself.
 *
 * fuse-overlayfs also shows the copy under all names, but has no index, and its name in the upper layer need
 * not be the one that the program used; but the copy names its lower path.
 */
export interface LinkedName {
  /** A path at which programs see the copy, but only the lower layer has a name. */
  readonly path: string;
  /** The path of the copy in the workspace. */
  readonly storedAt: string;
}

/** The path of the index in the workspace. */
const INDEX = `${WORK}/index`;
const ASIDE = "index-aside";
const POINTS = {
  clear: failpoint("overlay.remove-old"),
  create: failpoint("overlay.create-index"),
  place: failpoint("overlay.add-to-index"),
  link: failpoint("overlay.link-indexed"),
};

/** Finds all such names. Walks the whole lower layer if there is any such copy. */
export function linkedNames(workspace: Folder, lower: Folder, marks: LayerMarks): LinkedName[] {
  using upper = workspace.openChild(UPPER);
  const copies = marks.hasIndex ? indexedCopies(workspace) : copiesByOrigin(upper, lower, marks);
  if (copies.size === 0) return [];
  return [...lowerNames(upper, lower, marks)].flatMap(({ path, handle }) => {
    const storedAt = copies.get(handle);
    return storedAt === undefined ? [] : [{ path, storedAt }];
  });
}

/** The other names that programs see of the lower file at this path. */
export function otherNames(upper: Folder, lower: Folder, marks: LayerMarks, path: string): string[] {
  using folder = LayeredFolder.openBelow(upper, lower, marks, parentPath(path));
  const found = folder?.find(baseName(path));
  if (found === undefined || found.folder !== folder?.lower || found.facts.nlink < 2) return [];
  const own = handleOf(found.folder, baseName(path));
  return [...lowerNames(upper, lower, marks)].flatMap((other) =>
    own !== undefined && other.handle === own && other.path !== path ? [other.path] : [],
  );
}

/**
 * The index, while nothing is mounted, to which copies of lower files can be added as the kernel does when a
 * program changes one: their other names then share the copy.
 */
export class CopyIndex {
  readonly #workspace: Folder;
  readonly #lower: Folder;
  #copies: Map<FileHandle, string> | undefined;

  constructor(workspace: Folder, lower: Folder) {
    this.#workspace = workspace;
    this.#lower = lower;
  }

  /** Names the copy of a lower file with several names, which is made if there is none. */
  link(path: string, { kind, nlink }: Facts, to: Folder, name: string): boolean {
    if (kind === "directory" || nlink < 2) return false;
    using folder = this.#lower.openBelowIfThere(parentPath(path));
    const handle = folder === undefined ? undefined : handleOf(folder, baseName(path));
    if (folder === undefined || handle === undefined) return false;
    this.#copies ??= indexedCopies(this.#workspace);
    const copy = this.#copies.get(handle) ?? this.#add(handle, folder, baseName(path));
    using copies = this.#workspace.openBelow(parentPath(copy));
    to.createHardLink(POINTS.link, name, copies, baseName(copy));
    return true;
  }

  #add(handle: FileHandle, folder: Folder, name: string): string {
    removeTree(POINTS.clear, this.#workspace, ASIDE);
    const copy = { folder: this.#workspace, name: ASIDE };
    runAtOnce(copyEntry({ folder, name }, copy, { data: "share" }));
    using work = this.#workspace.ensureFolder(POINTS.create, WORK);
    using index = work.ensureFolder(POINTS.create, baseName(INDEX));
    this.#workspace.move(POINTS.place, ASIDE, index, indexName(handle));
    const path = joinPath(INDEX, indexName(handle));
    this.#copies?.set(handle, path);
    return path;
  }
}

/** The paths of the copies in the index, by the lower files that they are copies of. */
function indexedCopies(workspace: Folder): Map<FileHandle, string> {
  const copies = new Map<FileHandle, string>();
  using index = workspace.openBelowIfThere(INDEX);
  for (const name of index?.names() ?? []) {
    const handle = originHandle(Buffer.from(name, "hex"));
    const facts = index?.facts(name);
    // For a folder, the index can only hold a note that it is gone, or where it is.
    const isNote = facts === undefined || facts.kind === "directory" || facts.kind === "device";
    if (handle !== undefined && !isNote) copies.set(handle, joinPath(INDEX, name));
  }
  return copies;
}

/**
 * The copies in the upper layer of files with several names. Several copies of one file say nothing about its
 * other names.
 */
function copiesByOrigin(upper: Folder, lower: Folder, marks: LayerMarks): Map<FileHandle, string> {
  const copies = new Map<FileHandle, { readonly path: string; readonly ino: number }>();
  const several = new Set<FileHandle>();
  for (const { path, ino, origin } of upperOrigins(upper, marks)) {
    const handle = linkedHandle(lower, origin);
    if (handle === undefined) continue;
    if ((copies.get(handle)?.ino ?? ino) !== ino) several.add(handle);
    else copies.set(handle, { path, ino });
  }
  return new Map(
    [...copies].flatMap(([handle, { path }]) =>
      several.has(handle) ? [] : [[handle, joinPath(UPPER, path)]],
    ),
  );
}

interface OriginOf {
  readonly path: string;
  readonly ino: number;
  /** The lower path that it was copied up from. */
  readonly origin: string;
}

function* upperOrigins(upper: Folder, marks: LayerMarks): Generator<OriginOf> {
  for (const { path, parent, name, facts } of walkBelow(upper)) {
    const origin = facts.kind === "file" ? marks.originPathOf(parent, name) : undefined;
    if (origin !== undefined) yield { path, ino: facts.ino, origin };
  }
}

/** The handle of a file of the lower layer that has several names. */
function linkedHandle(lower: Folder, path: string): FileHandle | undefined {
  return readEntry(lower, path, (folder, name, { nlink }) =>
    nlink < 2 ? undefined : handleOf(folder, name),
  );
}

interface NamedHandle {
  readonly path: string;
  readonly handle: FileHandle;
}

/** Every name, of files with several names, that programs see in the lower layer. */
function* lowerNames(upper: Folder, lower: Folder, marks: LayerMarks): Generator<NamedHandle> {
  using parents = new OpenParent(upper);
  const enters = ({ path, name }: WalkedEntry) => {
    const above = parents.of(path)?.facts(name);
    if (OWN_NAME.test(name) || (above !== undefined && above.kind !== "directory")) return false;
    using folder = above === undefined ? undefined : upper.openBelowIfThere(path);
    return folder === undefined || !marks.isOpaque(folder);
  };
  for (const { path, parent, name, facts } of walkBelow(lower, ROOT_PATH, { enters })) {
    if (facts.kind === "directory" || facts.nlink < 2 || OWN_NAME.test(name)) continue;
    const handle = parents.of(path)?.facts(name) === undefined ? handleOf(parent, name) : undefined;
    if (handle !== undefined) yield { path, handle };
  }
}
