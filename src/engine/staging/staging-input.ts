import type { Folder } from "../../system/calls/folder.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import type { Age } from "../base/own-touches.ts";
import type { ChangeSet, TreeEntry } from "../changes/change-set.ts";
import type { ChosenContent } from "../checks/chosen-part.ts";
import type { LandingRules } from "../checks/landing-policy.ts";
import type { RenamedPaths } from "../manifest/renamed-paths.ts";
import type { LongWork } from "../work/long-work.ts";

/** The input of the staging of a landing. */
export interface StagingInput {
  readonly original: Folder;
  readonly sandbox: Folder;
  /** Whether the sandbox is a layer of an overlay, with marks that must not land. */
  readonly isLayer: boolean;
  /**
   * Only a part of the work lands: the landed entries also stay in the sandbox, which shows the same content
   * as before. Default: no.
   */
  readonly isPart?: boolean;
  /** For a part: what lands of files that do not land as the sandbox has them. */
  readonly contents?: ReadonlyMap<string, ChosenContent>;
  /**
   * An entry that another writer changes after the prepare stays, and is reported, instead of being replaced.
   * Default: no.
   */
  readonly leavesOthers?: boolean;
  /** An empty folder from which renames into the original work. */
  readonly landing: Folder;
  readonly transaction: string;
  readonly changes: ChangeSet;
  /** Since T0 of the sandbox. */
  readonly age: Age;
  readonly baseOf: (path: string) => BaseFacts | undefined;
  /** The rules for what may land, and how. */
  readonly rules: LandingRules;
  /** Shows how far each pass is, and stops it when the user interrupts. */
  readonly work: Pick<LongWork, "run">;
}

/** The same, once renamed folders are found (renamed-folders.ts). */
export interface RenamingInput extends StagingInput {
  readonly renames: RenamedPaths;
}

/** Whether the entry brings something new into the original. */
export function comesIn(entry: TreeEntry): boolean {
  return entry.operation === "add" || entry.operation === "replace";
}
