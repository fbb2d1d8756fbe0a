import type { Conflict } from "../../core/errors/errors.ts";
import type { Resolution } from "../../core/values/merge.ts";
import type { PlanView } from "../plan-views.ts";

/** A path of a plan. */
export interface UpdatedPath {
  readonly resource: string;
  readonly path: string;
}

/** What an update did with the paths that the plan and other writers changed. */
export interface UpdateResult {
  readonly planId: string;
  /** The plan has both changes now, and they land. */
  readonly merged: readonly UpdatedPath[];
  /** The plan has both changes, with conflict markers where they touch. They land once these are gone. */
  readonly marked: readonly UpdatedPath[];
  /** What could not be merged, and why. `resolve` settles it. */
  readonly unmerged: readonly (UpdatedPath & Pick<Conflict, "why">)[];
  /** Resources whose strategy can't merge. */
  readonly unsupported: readonly { readonly resource: string; readonly strategy: string }[];
  /** The checkpoint that takes the update back; absent if nothing changed. */
  readonly checkpoint?: string;
}

/** A path to settle, and how. */
export interface ResolveOptions {
  /** Default: the only resource. */
  readonly resource?: string;
  readonly path: string;
  readonly how: Resolution;
}

export interface ResolveResult extends UpdatedPath {
  readonly planId: string;
  readonly how: Resolution;
  /** The path of the plan's version, if both were kept. */
  readonly beside?: string;
  /** The checkpoint that takes it back. */
  readonly checkpoint: string;
}

/** Which changes go; without any choice, all of them. */
export interface RollbackOptions {
  /** Only these paths, [RESOURCE:]PATTERN each. */
  readonly only?: readonly string[];
  /** Only what votes reject: changes, and hunks of text files. */
  readonly rejected?: boolean;
}

/** Changes that were taken out of a plan. */
export interface RolledBackPart {
  readonly changes: number;
  /** The checkpoint that brings them back. */
  readonly checkpoint: string;
}

export interface RollbackResult extends PlanView {
  /** If only some changes were taken out. */
  readonly part?: RolledBackPart;
}
