import { nearest, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import { isAfter } from "../../../engine/base/barrier.ts";
import { NO_TIME } from "../../../engine/base/base-facts.ts";
import type { LandedPart } from "../../../engine/landing/landed-part.ts";
import type { ManifestEntry } from "../../../engine/manifest/manifest.ts";
import { OpenParent } from "../../../engine/tree/open-parent.ts";
import { walkFrom } from "../../../engine/tree/walk.ts";
import { isWritten } from "../../../engine/tree/written-file.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { writeXattrs } from "../../../system/calls/xattrs.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { Layers } from "../base-record.ts";
import { lowerFacts, type NotedFacts } from "../base-record.ts";

/**
 * The upper layer after a part of the work has landed while programs are inside. The layer must not lose
 * entries beneath their mount, and a program that holds a file open goes on writing to it there. So the
 * landed entries stay above what is now the same in the lower layer, and only the base record moves:
 *
 * - An entry that landed is noted with what the lower layer has now, and with the inode and change time of
 *   the upper layer's own entry (`kept`). As long as the upper entry has these, it is no change, whatever
 *   another writer does to the lower one. A file that a program has open gets a time that no file has, so
 *   that a diff compares its content.
 * - A new folder hides the lower one. So everything that landed in it is noted too: what is noted and not in
 *   the upper folder was deleted since, and what is not noted is another writer's.
 * - A deletion that landed keeps its note as `isGone`, so that the whiteout does not count for what another
 *   writer makes there later.
 *
 * After a crash programs go on before this is done. So what they changed since the staging is compared again,
 * and what they deleted is noted.
 */
const CLOSE = failpoint("part.close-folder");

export function landBeneath(part: LandedPart, layers: Layers): void {
  const { entries, folderTimes } = part.manifest;
  const { record, workspace, lower } = layers;
  for (const entry of entries.filter(part.isAsLanded)) {
    if (entry.operation === "metadata" || entry.partly === true) record.noteNow(entry.path, lower);
    else if (entry.operation === "delete") noteDeleted(entry.path, layers);
    else noteLanded(part, entry, layers);
  }
  for (const { path, before, after } of folderTimes) record.moveTime(path, before, after);
  record.saveIfChanged(workspace, "flushed");
}

function noteDeleted(top: string, { record }: Layers): void {
  const gone = new Set([top]);
  const [deleted] = record.all((path) => path === top);
  record.forget((path) => nearest(gone, path) !== undefined);
  if (deleted !== undefined) record.set(top, { ...deleted[1], isGone: true });
}

function noteLanded(part: LandedPart, { path: top }: ManifestEntry, layers: Layers): void {
  const { upper, lower, record, marks } = layers;
  const { barrier, stagedAt } = part.manifest;
  using parents = new OpenParent(upper);
  const found = new Map<string, NotedFacts>();
  for (const { path, parent, name, facts } of walkFrom(lower, top)) {
    const above = parents.of(path);
    const now = above?.facts(name);
    const isAbove = above !== undefined && now?.kind === facts.kind;
    // Another writer made it since; of what is ours, a program may have deleted some.
    if (!isAbove && path !== top && isAfter(facts, stagedAt)) continue;
    const isOpen = isAbove && now.kind === "file" && isWritten(above, name);
    const ctime = isOpen || (isAbove && isAfter(now, barrier)) ? NO_TIME : (now?.ctime ?? NO_TIME);
    found.set(path, {
      ...lowerFacts(parent, name, facts),
      ...(isAbove && { kept: { ino: now.ino, ctime } }),
    });
  }
  const landed = new Set([top]);
  record.forget((path) => nearest(landed, path) !== undefined);
  for (const [path, facts] of found) record.set(path, facts);
  using folder = found.get(top)?.kind === "directory" ? upper.openBelowIfThere(top) : undefined;
  if (folder !== undefined) close(folder, marks);
}

/** Hides the lower folder from a later mount too: in a folder of their own, programs leave no whiteouts. */
function close(folder: Folder, marks: Layers["marks"]): void {
  if (!marks.isClosed(folder)) writeXattrs(CLOSE, folder, ROOT_PATH, marks.opaque, {});
}
