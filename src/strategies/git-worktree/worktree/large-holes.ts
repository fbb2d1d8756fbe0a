import { UnsupportedError } from "../../../core/errors/errors.ts";
import type { Facts } from "../../../system/calls/facts.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { closeFile } from "../../../system/calls/handles.ts";
import { dataRanges } from "../../../system/data/data-ranges.ts";

/** Git reads holes as if they were data: seconds up to this size, hours beyond it. */
const MOST_HOLES = 1024 ** 3;

/**
 * Refuses a file whose holes would take git hours to read. A large file that is full of data is stored,
 * however long that takes.
 */
export function assertNoLargeHoles(parent: Folder, name: string, { kind, size }: Facts): void {
  if (kind !== "file" || size <= MOST_HOLES) return;
  const fd = parent.openFile(name);
  try {
    let holes = size;
    for (const { start, end } of dataRanges(fd, size)) holes -= end - start;
    if (holes <= MOST_HOLES) return;
  } finally {
    closeFile(fd);
  }
  throw new UnsupportedError(
    `${parent.label(name)} has more than a gigabyte of holes, which git would read and store as data.`,
    { hint: "Remove it, or use another strategy for this folder, such as overlay or filesystem_copy." },
  );
}
