/** The types of resource that Drydock knows without a plug-in. */
export const BUILT_IN_RESOURCE_TYPES = [
  "fs-directory",
  "fs-file",
  "fs-mount",
  "git-checkout",
  "sqlite-database",
  "postgres-database",
  "mysql-database",
] as const;

/** A value that survives JSON, and that a durable record may hold. */
export type PlainData =
  | null
  | boolean
  | number
  | string
  | readonly PlainData[]
  | { readonly [key: string]: PlainData };

/**
 * A record of plain data. A strategy declares its own record as a `type`: TypeScript treats an `interface` as
 * open.
 */
export type PlainRecord = { readonly [key: string]: PlainData };

/** A real thing that a plan may change. */
export interface Resource {
  /** Unique within Drydock's state. */
  readonly id: string;
  /** The user's name for it; unique within its plan. */
  readonly name: string;
  /** A built-in type, or one from a plug-in. */
  readonly type: string;
  /** An absolute, real path (see byte-path.ts) or a URL. */
  readonly location: string;
  /** The type and those that it extends, nearest first. Absent: only the type. */
  readonly lineage?: readonly string[];
  /** The resource of the plan that contains this one, or that the config names as its parent. */
  readonly parentId?: string;
  /**
   * Further facts. `without` lists paths in a folder that are not part of it, because a resource of its own
   * is there; a strategy that can exclude them declares `capabilities.leavesOut`.
   */
  readonly properties: PlainRecord;
}

/** Whether a resource is of this type, or of one that extends it. */
export function isOfType(
  { type, lineage = [type] }: Pick<Resource, "type" | "lineage">,
  wanted: string,
): boolean {
  return lineage.includes(wanted);
}
