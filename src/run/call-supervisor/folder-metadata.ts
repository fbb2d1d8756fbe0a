import { SystemCallError } from "../../core/errors/errors.ts";
import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { calls, check, pathPointer } from "../../system/calls/native.ts";
import { setTimesAt } from "../../system/calls/set-times.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";

/** Labels of the system are given by the system. */
const LABEL = /^security\./;

/**
 * Gives a new folder the metadata of the one that it replaces, once it is filled: attributes, then the mode,
 * which may forbid setting them, then the times, which every other step moves. Throws if they can't be the
 * same.
 */
export function giveFolderMetadata(copy: Folder, from: Folder, facts: Facts): void {
  const made = copy.ownFacts();
  if (made.uid !== facts.uid || made.gid !== facts.gid)
    throw new SystemCallError("EXDEV", "rename", from.path, "has another owner or group");
  giveXattrs(copy, from);
  // An attribute of access control changes the mode too.
  check(calls.chmod(pathPointer(within(copy)), facts.mode), "chmod", copy.path);
  check(setTimesAt(copy.fd, ROOT_PATH, facts), "utimensat", copy.path);
}

function giveXattrs(copy: Folder, from: Folder): void {
  const [wanted, present] = [readXattrs(from, ROOT_PATH), readXattrs(copy, ROOT_PATH)];
  for (const [key, text] of Object.entries(wanted)) {
    if (present[key] === text || LABEL.test(key)) continue;
    const value = Buffer.from(text, "base64");
    check(calls.fsetxattr(copy.fd, pathPointer(key), value, value.length, 0), "setxattr", copy.path);
  }
  // A default of the folder above may have given it some.
  for (const key of Object.keys(present))
    if (!(key in wanted) && !LABEL.test(key))
      check(calls.lremovexattr(pathPointer(within(copy)), pathPointer(key, 1)), "removexattr", copy.path);
}

function within({ fd }: Folder): string {
  return `/proc/self/fd/${fd}/.`;
}
