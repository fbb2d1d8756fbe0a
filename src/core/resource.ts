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
export type PlainData = null | boolean | number | string | readonly PlainData[] | { readonly [key: string]: PlainData };

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
  /** The resource that contains this one, if it was declared. */
  readonly parentId?: string;
  readonly properties: { readonly [key: string]: PlainData };
}
