import { UsageError } from "../errors/errors.ts";
import { displayPath, ROOT_PATH } from "../paths/byte-path.ts";

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

const LONGEST_NAME = 255;

/**
 * A path inside a resource that a strategy may use: relative, below the root, without empty, `.` or `..`
 * names. Refuses any other. System calls check whether links lead out.
 */
export function assertResourcePath(path: string): string {
  if (path === ROOT_PATH) return path;
  const trimmed = path.startsWith("./") ? path.slice(2) : path;
  if (trimmed === "") throw refuse(path, "is empty");
  if (trimmed.startsWith("/")) throw refuse(path, "is absolute");
  if (trimmed.includes("\0")) throw refuse(path, "holds a NUL byte");
  for (const name of trimmed.split("/")) {
    if (name === "..") throw refuse(path, "leads out of the resource");
    if (name === "" || name === ".") throw refuse(path, "has an empty or '.' part");
    if (name.length > LONGEST_NAME) throw refuse(path, "has a name of more than 255 bytes");
  }
  return trimmed;
}

function refuse(path: string, why: string): UsageError {
  const shown = path.length > 100 ? `${path.slice(0, 100)}…` : path;
  return new UsageError(`The path '${displayPath(shown)}' ${why}.`, {
    hint: "Give a path relative to the resource, like src/app.ts.",
    code: "BAD_PATH",
  });
}
