/** The types of resource that Drydock knows without any plug-in. */
export const BUILT_IN_RESOURCE_TYPES = [
  "fs-directory",
  "fs-file",
  "fs-mount",
  "git-checkout",
  "sqlite-database",
  "postgres-database",
  "mysql-database",
] as const;

/** A value that survives JSON: what a durable record may hold. */
export type PlainData =
  | null
  | boolean
  | number
  | string
  | readonly PlainData[]
  | { readonly [key: string]: PlainData };

/**
 * A record of such values. A strategy's own record is a `type`: TypeScript takes an `interface` for an open
 * one.
 */
export type PlainRecord = { readonly [key: string]: PlainData };

/** A real thing that a plan may change. */
export interface Resource {
  /** Unique within Drydock's state. */
  readonly id: string;
  /** What the user calls it; unique within its plan. */
  readonly name: string;
  /** A built-in type, or one from a plug-in. */
  readonly type: string;
  /** An absolute, real path (see byte-path.ts) or a URL. */
  readonly location: string;
  /** What its type is made out of: itself, what it extends, and so on. Absent: nothing else. */
  readonly lineage?: readonly string[];
  /** The resource of the plan that contains this one, or that the config names as its parent. */
  readonly parentId?: string;
  /**
   * What else is to be known of it. `without` are paths in a folder that are no part of it, because a
   * resource of their own is there; a strategy that can leave them out says so by `capabilities.leavesOut`.
   */
  readonly properties: PlainRecord;
}

/** Whether a resource is of this type, or of one that is made out of it. */
export function isOfType(
  { type, lineage = [type] }: Pick<Resource, "type" | "lineage">,
  wanted: string,
): boolean {
  return lineage.includes(wanted);
}
