import { type Facts, identityKey } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";

/** `write-back` in the plan's folder: the files that commands may replace for good, as JSON. */
const RECORD = "write-back";
const POINTS = { note: failpoint("run.write-back-note") };

/** One of these files. */
export interface WriteBackNote {
  readonly path: string;
  /** The version of the user's file that commands began with; absent if there was none. */
  readonly base?: string;
  /** The version of the copy that commands find in a home of the plan's own. */
  readonly copied?: string;
  /** The identity of the new file, from before it takes the place of the old one. */
  readonly fresh?: string;
}

/** The version of a file: another one has another identity, size or time. A rename keeps it. */
export function versionOf(facts: Facts): string {
  return `${identityKey(facts)} ${facts.size} ${facts.mtime[0]}.${facts.mtime[1]}`;
}

export function hasNotes(plan: Folder): boolean {
  return plan.facts(RECORD) !== undefined;
}

export function readNotes(plan: Folder): readonly WriteBackNote[] {
  const bytes = readWhole(plan, RECORD);
  return (bytes && parsed<readonly WriteBackNote[]>(bytes)) ?? [];
}

export function saveNotes(plan: Folder, notes: readonly WriteBackNote[]): void {
  writeWhole(POINTS.note, plan, RECORD, Buffer.from(JSON.stringify(notes)), "flushed");
}
