import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Attention } from "drydock-sandbox/strategy";
import type { KeyState } from "./key-history.ts";
import { namesIn, readJson, replaceFile } from "./local-files.ts";
import type { SandboxFolder } from "./sandbox-folder.ts";

/** An object that is to land: what prepare says to commitPrepared. */
export type StagedObject = {
  readonly path: string;
  /** What the bucket held there when it was prepared. */
  readonly before: KeyState;
  /** The ETags of the parts, and of the object that is made of them. */
  readonly digests: readonly string[];
  readonly etag: string;
  readonly uploadId: string;
};

/** What is known on this machine of an upload, from before it is begun. */
export interface LandingRecord extends Omit<StagedObject, "uploadId"> {
  /** Null while it is not known whether it has begun. */
  readonly uploadId: string | null;
  readonly begunAt: string;
  /** The uploads to that key that were under way before, and so are others'. */
  readonly others: readonly string[];
  /** The version that came of it. */
  readonly landed?: string;
  /**
   * From before it is asked to become an object: that may have happened, or happen still, whatever became of
   * the process that asked.
   */
  readonly isCompleting?: true;
  /** From before the version that came of it is deleted by an undo. */
  readonly isUndoing?: true;
  /** What was said when that version was taken back. */
  readonly takenBack?: readonly Attention[];
}

export function saveRecord(folder: SandboxFolder, landingId: string, record: LandingRecord): void {
  replaceFile(folder.recordFile(landingId, record.path), JSON.stringify(record));
}

export function recordOf(folder: SandboxFolder, landingId: string, path: string): LandingRecord | undefined {
  const file = folder.recordFile(landingId, path);
  return existsSync(file) ? readJson(file) : undefined;
}

export function recordsOf(folder: SandboxFolder, landingId: string): LandingRecord[] {
  const landing = folder.landing(landingId);
  return namesIn(landing)
    .filter((name) => name.endsWith(".json"))
    .map((name) => readJson(join(landing, name)));
}
