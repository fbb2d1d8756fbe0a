import { InterruptedError } from "../../core/errors/errors.ts";
import { runInTurns, type Steps } from "../../engine/work/pace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { digestOfFile } from "../../system/data/file-content.ts";
import { cloneData, copyDataInSteps } from "../../system/data/file-data.ts";
import { closeUnlessLocked } from "../../system/data/locked-files.ts";
import type { Failpoint } from "../../system/failpoints.ts";

/** A name in a folder. */
export interface FileLocation {
  readonly folder: Folder;
  readonly name: string;
}

/**
 * Copies a file to a new name, sharing its blocks where the file system can. It may be a database that this
 * process has locked.
 */
export function* copyFile(point: Failpoint, from: FileLocation, to: FileLocation): Steps {
  const source = from.folder.openFile(from.name);
  try {
    const copy = to.folder.createFile(point, to.name, 0o600);
    const label = to.folder.label(to.name);
    try {
      const size = from.folder.facts(from.name)?.size ?? 0;
      if (!cloneData(point, source, copy, label))
        for (const _ of copyDataInSteps({ point, from: source, to: copy, label }, size)) yield 0;
    } finally {
      closeFile(copy);
    }
  } finally {
    closeUnlessLocked(source);
  }
}

/** Copies a file in steps, so that other work goes on in between. Stops when the user interrupts. */
export async function copyFileInTurns(
  point: Failpoint,
  from: FileLocation,
  to: FileLocation,
  signal: AbortSignal | undefined,
): Promise<void> {
  await runInTurns(copyFile(point, from, to), () => {
    if (signal?.aborted === true) throw new InterruptedError();
  });
}

/** The digest of a file's content. */
export function fileDigest({ folder, name }: FileLocation): string {
  const fd = folder.openFile(name);
  try {
    return digestOfFile(fd, folder.label(name));
  } finally {
    closeUnlessLocked(fd);
  }
}
