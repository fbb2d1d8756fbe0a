import { constants } from "node:os";
import type { Errno } from "../../core/errors/error-codes.ts";
import { SystemCallError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";

const nameByNumber = new Map(
  Object.entries(constants.errno).map(([name, number]) => [number, name as Errno]),
);

const DESCRIPTIONS: { readonly [errno: string]: string } = {
  EACCES: "permission denied",
  EAGAIN: "resource busy",
  EBUSY: "in use",
  EDQUOT: "disk quota exceeded",
  EEXIST: "already there",
  EINVAL: "not supported in this form",
  EIO: "input/output error",
  EISDIR: "is a folder",
  ELOOP: "a symbolic link where none may be",
  EMFILE: "too many open files",
  ENAMETOOLONG: "name too long",
  ENOENT: "no such file or folder",
  ENOSPC: "no space left on device",
  ENOSYS: "not known to this kernel",
  ENOTDIR: "not a folder",
  ENOTEMPTY: "folder not empty",
  ENOTSUP: "not supported by this file system",
  EOPNOTSUPP: "not supported by this file system",
  EPERM: "operation not permitted",
  EROFS: "read-only file system",
  ETXTBSY: "program is running",
  EWOULDBLOCK: "resource busy",
  EXDEV: "across file systems",
};

/** The error for a failed call, from its errno. */
export function systemCallError(errno: number, call: string, path: string): SystemCallError {
  const name: Errno = nameByNumber.get(errno) ?? `E${errno}`;
  return new SystemCallError(name, call, displayPath(path), DESCRIPTIONS[name] ?? "failed");
}

/** Whether the thrown value is a failed system call, ours or Node's, with one of these codes. */
export function failedWith(thrown: unknown, ...codes: readonly string[]): boolean {
  return (
    thrown instanceof Error &&
    "code" in thrown &&
    typeof thrown.code === "string" &&
    codes.includes(thrown.code)
  );
}

/** Turns Node's error for a failed system call into ours; returns any other value unchanged. */
export function translated(thrown: unknown, call: string, path: string): unknown {
  const isFailedCall = thrown instanceof Error && "errno" in thrown && typeof thrown.errno === "number";
  return isFailedCall ? systemCallError(-(thrown.errno as number), call, path) : thrown;
}

/** Calls Node's file system, and throws our error if that fails. */
export function guarded<T>(call: string, path: string, action: () => T): T {
  try {
    return action();
  } catch (thrown) {
    throw translated(thrown, call, path);
  }
}

/** The codes that mean: nothing is at this path. */
export const MISSING: readonly string[] = ["ENOENT", "ENOTDIR"];

/** Runs an action; undefined if it fails with one of these codes. */
export function unlessFailed<T>(codes: readonly string[], action: () => T): T | undefined {
  try {
    return action();
  } catch (thrown) {
    if (failedWith(thrown, ...codes)) return undefined;
    throw thrown;
  }
}

/** Whether a rename failed because the file system knows none of this kind. */
export function isRenameUnknown(thrown: unknown): boolean {
  return failedWith(thrown, "EINVAL", "ENOSYS", "EOPNOTSUPP", "ENOTSUP");
}
