import type { Facts, Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { BaseFacts } from "../base/baseline.ts";
import type { ChangeSet, TreeEntry } from "../changes/change-set.ts";
import type { LandingRules } from "../checks/landing-policy.ts";

/** What staging a landing needs to know. */
export interface StagingInput {
  readonly original: Folder;
  readonly sandbox: Folder;
  /** Whether the sandbox is a layer of an overlay, with marks that must not land. */
  readonly isLayer: boolean;
  /**
   * Not all that the sandbox holds is to land: what lands stays in it too, so that it goes on showing what it
   * shows. Default: no.
   */
  readonly isPart?: boolean;
  /**
   * What somebody changes after it was prepared stays as it is, and is reported, instead of what was
   * prepared. Default: no.
   */
  readonly leavesRivals?: boolean;
  /** Empty, and where a rename into the original works. */
  readonly landing: Folder;
  readonly transaction: string;
  readonly changes: ChangeSet;
  /** T0 of the sandbox. */
  readonly barrier: Time;
  readonly baseOf: (path: string) => BaseFacts | undefined;
  /** The facts of an original with the change time that counts; see restored-times.ts. */
  readonly asBefore: (facts: Facts) => Facts;
  /** What may land, and how. */
  readonly rules: LandingRules;
  /** Called after each entry; throws to stop. */
  readonly tick: () => void;
}

/** Whether something new comes into the original. */
export function comesIn(entry: TreeEntry): boolean {
  return entry.operation === "add" || entry.operation === "replace";
}
