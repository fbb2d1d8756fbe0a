import type { Attention } from "../../core/strategy.ts";
import type { Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";

/** The file `landed` in the folder of a landing, written when everything is in place. */
export interface LandedRecord {
  /** A change at or after this moment is another writer's. */
  readonly barrier: Time;
  readonly attention: readonly Attention[];
  /** Slots that hold another writer's version: we never remove them. */
  readonly keptSlots: readonly number[];
}

const RECORD = failpoint("land.record");
export const LANDED = "landed";

/** The record of a finished landing, or undefined if it did not finish. */
export function readLanded(landing: Folder): LandedRecord | undefined {
  const bytes = readWhole(landing, LANDED);
  return bytes === undefined ? undefined : parsed<LandedRecord>(bytes);
}

export function writeLanded(landing: Folder, record: LandedRecord): void {
  writeWhole(RECORD, landing, LANDED, Buffer.from(JSON.stringify(record)));
}
