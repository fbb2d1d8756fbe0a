import {
  baseName,
  bytesFromPath,
  parentPath,
  pathFromBytes,
  ROOT_PATH,
} from "../../../core/paths/byte-path.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { closeFile } from "../../../system/calls/handles.ts";
import { openToEdit, resizeFile, writeAt } from "../../../system/data/file-editing.ts";
import { readWhole, writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";

const POINTS = {
  make: failpoint("git.make-log"),
  append: failpoint("git.append-log"),
  replace: failpoint("git.replace-log"),
};

/** One line of a reflog: `OLD NEW NAME <EMAIL> SECONDS ZONE`, a tab and a text. */
export interface LogLine {
  readonly from: string;
  readonly to: string;
  readonly who: string;
  readonly seconds: number;
  readonly text: string;
}

/** The bytes of a line. */
export function logText({ from, to, who, seconds, text }: LogLine): string {
  return `${from} ${to} ${who} ${seconds} +0000\t${text.replace(/\s+/g, " ").trim()}\n`;
}

/**
 * Appends lines to the log of a ref, unless it ends with them already, so that a run after a crash may repeat
 * it. `isWanted` says whether to begin a log where there is none.
 */
export function appendToLog(gitDir: string, ref: string, lines: string, isWanted: boolean): void {
  using repository = Folder.open(gitDir);
  const path = `logs/${ref}`;
  if (isWanted) makeFolders(repository, parentPath(path));
  using folder = repository.openBelowIfThere(parentPath(path));
  if (folder === undefined) return;
  const name = baseName(path);
  const known = readWhole(folder, name);
  if (known === undefined && !isWanted) return;
  if (known === undefined) closeFile(folder.createFile(POINTS.make, name, 0o666 & ~process.umask()));
  append(folder, name, known ?? Buffer.alloc(0), bytesFromPath(lines));
}

/** The log of a ref as it is. Bytes as in byte-path.ts. */
export function readLog(gitDir: Folder, ref: string): string | undefined {
  using folder = gitDir.openBelowIfThere(parentPath(`logs/${ref}`));
  const bytes = folder?.facts(baseName(ref))?.kind === "file" ? readWhole(folder, baseName(ref)) : undefined;
  return bytes === undefined ? undefined : pathFromBytes(bytes);
}

/** Replaces the log of a ref, or removes it. */
export function replaceLog(gitDir: string, ref: string, content: string | undefined): void {
  using repository = Folder.open(gitDir);
  const path = `logs/${ref}`;
  if (content !== undefined) makeFolders(repository, parentPath(path));
  using folder = repository.openBelowIfThere(parentPath(path));
  const name = baseName(path);
  if (content !== undefined && folder !== undefined)
    writeWhole(POINTS.replace, folder, name, bytesFromPath(content));
  else if (folder?.facts(name)?.kind === "file") folder.removeFile(POINTS.replace, name);
}

/** A crash may have left the beginning of the lines. */
function append(folder: Folder, name: string, known: Buffer, lines: Buffer): void {
  const at = beginningOf(lines, known);
  if (known.subarray(at).equals(lines)) return;
  const fd = openToEdit(POINTS.append, folder, name);
  try {
    resizeFile(POINTS.append, fd, at, folder.label(name));
    writeAt(POINTS.append, { fd, label: folder.label(name) }, at, lines);
  } finally {
    closeFile(fd);
  }
}

/** Where in a log these lines begin, whole or cut off; its end if it has none of them. */
function beginningOf(lines: Buffer, known: Buffer): number {
  const end = known.lastIndexOf(0x0a) + 1;
  const [whole, rest] = [known.subarray(0, end), known.subarray(end)];
  for (let length = lines.length; length >= 0; length = lines.lastIndexOf(0x0a, length - 2) + 1) {
    const [written, missing] = [lines.subarray(0, length), lines.subarray(length)];
    const isBegun = whole.subarray(whole.length - length).equals(written);
    if (isBegun && whole.length >= length && missing.subarray(0, rest.length).equals(rest))
      return end - length;
    if (length === 0) break;
  }
  return known.length;
}

function makeFolders(repository: Folder, path: string): void {
  let at = repository.duplicate();
  for (const name of path === ROOT_PATH ? [] : path.split("/")) {
    using parent = at;
    at = parent.openBelowIfThere(name) ?? makeFolder(parent, name);
  }
  at.close();
}

function makeFolder(parent: Folder, name: string): Folder {
  const folder = parent.ensureFolder(POINTS.make, name);
  folder.setMode(POINTS.make, ROOT_PATH, parent.ownFacts().mode);
  return folder;
}
