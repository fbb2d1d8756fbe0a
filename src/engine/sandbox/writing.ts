import { UnsupportedError, UsageError } from "../../core/errors/errors.ts";
import { baseName, joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import { copyData, readBytes, writeBytes } from "../../system/data/file-data.ts";
import { failpoint } from "../../system/failpoints.ts";
import { randomBytes } from "../../system/random-bytes.ts";
import { newId } from "../../system/state/new-id.ts";
import { giveMetadata } from "../tree/metadata.ts";
import type { NamedEntry } from "../tree/named-entry.ts";
import { OWN_NAME_PREFIX } from "../workspace/workspace.ts";

const POINTS = {
  folder: failpoint("write.create-folder"),
  file: failpoint("write.create-file"),
  data: failpoint("write.data"),
  name: failpoint("write.name-file"),
  metadata: failpoint("write.metadata"),
  exchange: failpoint("write.exchange"),
  remove: failpoint("write.remove-old"),
  overwrite: failpoint("write.overwrite"),
};

/** A larger file takes too much memory; a sparse file of a terabyte would take all of it. */
const LARGEST_READ = 2 * 1024 ** 3;

/** The content of a file below this folder. */
export function readFileBelow(tree: Folder, path: string): Buffer {
  using parent = openParent(tree, path);
  const facts = parent?.facts(baseName(path));
  if (parent === undefined || facts === undefined) throw notThere(path);
  assertFile(path, facts);
  if (facts.size > LARGEST_READ)
    throw new UnsupportedError(`${path} is ${facts.size} bytes long, too much to be read at once.`, {
      hint: "Read it in pieces, in the folder that is the path of the sandbox.",
    });
  const fd = parent.openFile(baseName(path));
  try {
    return readBytes(fd, parent.label(baseName(path)));
  } finally {
    closeFile(fd);
  }
}

/** A file before it was written, and now. */
export interface WrittenFile {
  readonly before: Facts | undefined;
  readonly after: Facts;
}

/** The content of a file to write: bytes, or an open file with it. */
export type FileContent = Uint8Array | { readonly fd: number; readonly size: number };

function putContent(to: number, content: FileContent, label: string): void {
  if (content instanceof Uint8Array) writeBytes(POINTS.data, to, content, label);
  else copyData({ point: POINTS.data, from: content.fd, to, label }, content.size);
}

/**
 * Called with the path of a temporary file beside the written one, before it exists: a crash may leave it
 * there.
 */
export type TellTemporary = (path: string) => void;

/**
 * Writes a file below this folder, and makes the folders above it. Returns the facts before and after.
 * Unfinished files are made in `scratch`, a folder on the same mount that holds no user data; or else beside
 * the file, after calling `scratch` with the path.
 */
export function writeFileBelow(
  tree: Folder,
  path: string,
  bytes: FileContent,
  scratch: Folder | TellTemporary,
): WrittenFile {
  assertNotRoot(path);
  makeFolders(tree, parentPath(path));
  using parent = tree.openBelow(parentPath(path));
  const name = baseName(path);
  const before = parent.facts(name);
  if (before !== undefined) assertFile(path, before);
  const makeTemporary = (): NamedEntry => {
    const temporary = temporaryName();
    if (typeof scratch === "function") scratch(joinPath(parentPath(path), temporary));
    return { folder: typeof scratch === "function" ? parent : scratch, name: temporary };
  };
  if (before === undefined) createWhole({ folder: parent, name }, bytes, makeTemporary);
  else if (before.nlink > 1) overwrite(parent, name, bytes);
  else replaceWhole({ folder: parent, name, facts: before }, makeTemporary(), bytes);
  return { before, after: parent.facts(name) as Facts };
}

/**
 * Like `writeFileBelow`, for a mounted sandbox, where a nameless file can't get a name. The unfinished file
 * is at the top of the mount, under a name that never counts as work.
 */
export function writeThroughMount(mounted: Folder, path: string, bytes: FileContent): WrittenFile {
  assertNotRoot(path);
  makeFolders(mounted, parentPath(path));
  using parent = mounted.openBelow(parentPath(path));
  const name = baseName(path);
  const before = parent.facts(name);
  if (before !== undefined) assertFile(path, before);
  if (before !== undefined && before.nlink > 1) overwrite(parent, name, bytes);
  else placeNamed({ folder: parent, name, facts: before }, mounted, bytes);
  return { before, after: parent.facts(name) as Facts };
}

/** A path to write to, with the file that is there. */
interface OldFile<Found = Facts> extends NamedEntry {
  readonly facts: Found;
}

function placeNamed(
  { folder, name, facts }: OldFile<Facts | undefined>,
  top: Folder,
  bytes: FileContent,
): void {
  const fresh = `${OWN_NAME_PREFIX}${newId()}-new`;
  const fd = top.createFile(POINTS.file, fresh, (facts?.mode ?? 0o666 & ~process.umask()) & 0o777);
  try {
    putContent(fd, bytes, top.label(fresh));
    if (facts === undefined) top.move(POINTS.name, fresh, folder, name);
    else exchangeFor({ folder, name, facts }, { folder: top, name: fresh });
  } finally {
    closeFile(fd);
    if (top.facts(fresh) !== undefined) top.removeFile(POINTS.remove, fresh);
  }
}

function assertNotRoot(path: string): void {
  if (path !== ROOT_PATH) return;
  throw new UsageError("The root of a folder is not a file.", {
    hint: "Give the path of a file inside it.",
    code: "BAD_PATH",
  });
}

/**
 * The file gets its name only when it is complete: a full disk or a crash leaves nothing. A file system
 * without nameless files (NFS, 9p, FUSE) needs a temporary one.
 */
function createWhole(
  target: NamedEntry,
  bytes: FileContent,
  makeTemporary: () => NamedEntry,
  mode = 0o666 & ~process.umask(),
): void {
  if (!createNameless(target, bytes, mode)) placeTemporary(makeTemporary(), target, bytes, mode);
}

/** Whether the file system has nameless files, and names them: an overlay has some that it can't name. */
function createNameless({ folder, name }: NamedEntry, bytes: FileContent, mode: number): boolean {
  const fd = unlessFailed(NO_NAMELESS, () => folder.createNameless(POINTS.file, mode));
  if (fd === undefined) return false;
  try {
    putContent(fd, bytes, folder.label(name));
    return unlessFailed(NO_NAMELESS, () => [folder.nameFile(POINTS.name, fd, name)]) !== undefined;
  } finally {
    closeFile(fd);
  }
}

const NO_NAMELESS = ["EOPNOTSUPP", "ENOTSUP", "EISDIR", "ENOENT", "EINVAL", "EXDEV"];

function placeTemporary(temporary: NamedEntry, target: NamedEntry, bytes: FileContent, mode: number): void {
  const { folder, name } = temporary;
  const fd = folder.createFile(POINTS.file, name, mode);
  try {
    putContent(fd, bytes, folder.label(name));
    if (temporary !== target) folder.move(POINTS.name, name, target.folder, target.name);
  } catch (thrown) {
    folder.removeFile(POINTS.remove, name);
    throw thrown;
  } finally {
    closeFile(fd);
  }
}

/** Keeps the old content until the new content is complete. */
function replaceWhole(old: OldFile, fresh: NamedEntry, bytes: FileContent): void {
  createWhole(fresh, bytes, () => fresh, old.facts.mode & 0o777);
  try {
    exchangeFor(old, fresh);
  } finally {
    if (fresh.folder.facts(fresh.name) !== undefined) fresh.folder.removeFile(POINTS.remove, fresh.name);
  }
}

/** Gives the new file the old one's metadata, and puts it in its place. */
function exchangeFor({ folder, name, facts }: OldFile, fresh: NamedEntry): void {
  const made = fresh.folder.facts(fresh.name) as Facts;
  const wanted = { ...facts, mtime: made.mtime, atime: made.atime };
  giveMetadata(POINTS.metadata, fresh, { facts: wanted, xattrs: readXattrs(folder, name) }, made);
  fresh.folder.replaceByExchange(POINTS.exchange, fresh.name, folder, name);
}

function temporaryName(): string {
  return `.${randomBytes(8).toString("hex")}.drydock-new`;
}

/** Writes into the file, the only way for a file with several names to keep them. */
function overwrite(parent: Folder, name: string, bytes: FileContent): void {
  const fd = parent.openToOverwrite(POINTS.overwrite, name);
  try {
    putContent(fd, bytes, parent.label(name));
  } finally {
    closeFile(fd);
  }
}

/** Makes the folders of a path that are missing. */
export function makeFolders(tree: Folder, path: string): void {
  if (path === ROOT_PATH) return;
  let at = ROOT_PATH;
  for (const name of path.split("/")) {
    using folder = tree.openBelow(at);
    const facts = folder.facts(name);
    if (facts === undefined) folder.createFolder(POINTS.folder, name, 0o777 & ~process.umask());
    else if (facts.kind !== "directory")
      throw new UsageError(`${joinPath(at, name)} is a ${facts.kind}, not a folder.`, {
        hint: "Choose another path.",
        code: "BAD_PATH",
      });
    at = joinPath(at, name);
  }
}

function openParent(tree: Folder, path: string): Folder | undefined {
  return unlessFailed(["ENOENT", "ENOTDIR"], () => tree.openBelow(parentPath(path)));
}

/** Only files can be read and written. */
export function assertFile(path: string, facts: Facts): void {
  if (facts.kind === "file") return;
  throw new UsageError(`${path} is a ${facts.kind}, not a file.`, {
    hint: "Only files can be read and written.",
    code: "BAD_PATH",
  });
}

/** The error for reading a file that does not exist. */
export function notThere(path: string): UsageError {
  return new UsageError(`There is no file ${path} in the sandbox.`, { code: "NO_SUCH_FILE" });
}
