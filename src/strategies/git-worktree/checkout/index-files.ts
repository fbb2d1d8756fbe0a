import { removeTree } from "../../../engine/tree/remove-tree.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { closeFile } from "../../../system/calls/handles.ts";
import { readBytes, writeBytes } from "../../../system/data/file-data.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { ScratchFolder } from "../scratch-folder.ts";

const POINTS = {
  copy: failpoint("git.copy-index"),
  remove: failpoint("git.remove-index"),
  keep: failpoint("git.keep-index"),
};
const SHARED = /^sharedindex\.([0-9a-f]+)$/;

/**
 * Copies an index file, with its time: git reads a file again that is as young as the index, because a change
 * within the same second would not show. A copy with a younger time would hide such changes. A split index
 * has most of its entries in a second file, which it names by hash and which git looks for beside it.
 */
export function copyIndex(from: Folder, name: string, to: Folder, toName: string): void {
  removeTree(POINTS.remove, to, toName);
  // A repository without any added file has no index. Git reads a missing index as an empty one.
  const bytes = copyFile(from, name, to, toName);
  if (bytes === undefined) return;
  for (const shared of from.names()) {
    const hash = SHARED.exec(shared)?.[1];
    if (hash === undefined || !bytes.includes(Buffer.from(hash, "hex")) || to.facts(shared) !== undefined)
      continue;
    copyFile(from, shared, to, shared);
  }
}

function copyFile(from: Folder, name: string, to: Folder, toName: string): Buffer | undefined {
  const facts = from.facts(name);
  if (facts === undefined) return undefined;
  const bytes = readAll(from, name);
  const fd = to.createFile(POINTS.copy, toName, 0o600);
  try {
    writeBytes(POINTS.copy, fd, bytes, to.label(toName));
  } finally {
    closeFile(fd);
  }
  to.setTimes(POINTS.copy, toName, { mtime: facts.mtime });
  return bytes;
}

function readAll(folder: Folder, name: string): Buffer {
  const fd = folder.openFile(name);
  try {
    return readBytes(fd, folder.label(name));
  } finally {
    closeFile(fd);
  }
}

/** An index file for one task, in a folder of its own, because other tasks may run at the same time. */
export class ScratchIndex {
  readonly path: string;
  readonly #scratch: ScratchFolder;

  constructor(workspace: Folder) {
    this.#scratch = new ScratchFolder(workspace);
    this.path = this.#scratch.folder.label("index");
  }

  /** An index that begins as a copy. */
  static copyOf(from: Folder, name: string, workspace: Folder): ScratchIndex {
    const scratch = new ScratchIndex(workspace);
    copyIndex(from, name, scratch.#scratch.folder, "index");
    return scratch;
  }

  /** Renames it over another index. */
  replace(folder: Folder, name: string): void {
    this.#scratch.folder.replace(POINTS.keep, "index", folder, name);
  }

  [Symbol.dispose](): void {
    this.#scratch[Symbol.dispose]();
  }
}
