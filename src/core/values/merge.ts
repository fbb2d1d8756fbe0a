import type { Conflict } from "../errors/errors.ts";

/**
 * How a path that the plan and another writer changed is settled:
 * - `ours`: the plan's version stays, and takes the place of the other one when it lands.
 * - `theirs`: the plan's version goes, and the plan no longer changes the path.
 * - `keep-both`: the path gets the other writer's version, and the plan's stays beside it under another name.
 */
export const RESOLUTIONS = ["ours", "theirs", "keep-both"] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/** What an update did with the paths of a sandbox that another writer changed too. */
export interface UpdateReport {
  /** The sandbox has both changes now. */
  readonly merged: readonly string[];
  /** The sandbox has both changes, with conflict markers where they touch. It can't land like that. */
  readonly marked: readonly string[];
  /** The sandbox is as it was, because these can't be merged. */
  readonly unmerged: readonly Conflict[];
}

/** A settled path. */
export interface ResolveReport {
  readonly path: string;
  /** The path of the plan's version, if both were kept. */
  readonly beside?: string;
}

/** How much the content of one file may be to be kept and merged. */
export interface MergePolicy {
  readonly keepBytes: number;
}

export const DEFAULT_MERGE_POLICY: MergePolicy = { keepBytes: 2 ** 20 };
