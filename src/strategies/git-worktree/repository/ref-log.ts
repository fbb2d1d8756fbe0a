import { baseName, bytesFromPath, parentPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { closeFile } from "../../../system/calls/handles.ts";
import { openToEdit, resizeFile, writeAt } from "../../../system/data/file-editing.ts";
import { readWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";

const POINTS = { make: failpoint("git.make-log"), append: failpoint("git.append-log") };

/** One line of a reflog: `OLD NEW NAME <EMAIL> SECONDS ZONE`, a tab and a text. */
export interface LogLine {
  readonly from: string;
  readonly to: string;
  readonly who: string;
  readonly seconds: number;
  readonly text: string;
}

/**
 * Appends to the log of a ref, unless its last line is this one already, so that a run after a crash may
 * repeat it. `isWanted` says whether to begin a log where there is none.
 */
export function appendToLog(gitDir: string, ref: string, line: LogLine, isWanted: boolean): void {
  using repository = Folder.open(gitDir);
  const path = `logs/${ref}`;
  if (isWanted) makeFolders(repository, parentPath(path));
  using folder = repository.openBelowIfThere(parentPath(path));
  if (folder === undefined) return;
  const name = baseName(path);
  const known = readWhole(folder, name);
  if (known === undefined && !isWanted) return;
  if (known === undefined) closeFile(folder.createFile(POINTS.make, name, 0o666 & ~process.umask()));
  append(folder, name, known ?? Buffer.alloc(0), bytesFromPath(textOf(line)));
}

/** A crash may have left the beginning of the line. */
function append(folder: Folder, name: string, known: Buffer, line: Buffer): void {
  if (known.subarray(-line.length).equals(line)) return;
  const end = known.lastIndexOf(0x0a) + 1;
  const rest = known.subarray(end);
  const at = rest.equals(line.subarray(0, rest.length)) ? end : known.length;
  const fd = openToEdit(POINTS.append, folder, name);
  try {
    resizeFile(POINTS.append, fd, at, folder.label(name));
    writeAt(POINTS.append, { fd, label: folder.label(name) }, at, line);
  } finally {
    closeFile(fd);
  }
}

function textOf({ from, to, who, seconds, text }: LogLine): string {
  return `${from} ${to} ${who} ${seconds} +0000\t${text.replace(/\s+/g, " ").trim()}\n`;
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
