import { readdirSync } from "node:fs";
import { bytesFromPath, isAtOrBelow, pathFromBytes } from "../../core/paths/byte-path.ts";
import { failedWith } from "../calls/errno.ts";
import { factsOfOpen } from "../calls/facts.ts";
import { calls, check, lazyCalls } from "../calls/native.ts";
import { O_PATH } from "../calls/open-flags.ts";
import { LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF, launchCalls } from "../launch/calls.ts";
import { openPath } from "../launch/view-root.ts";
import { type Access, type LandlockVersion, rightsOf, ruleset } from "./landlock-rights.ts";

const LANDLOCK_ADD_RULE = 445;
const RULE_PATH_BENEATH = 1;
const VERSION = 1;
const SELF = "this process";
const AT_FDCWD = -100;

const landlockCalls = lazyCalls({
  addRule: "long syscall(long number, int ruleset, int type, const void *attributes, uint32_t flags)",
});

/** What a command may do to files. It can list everything, and read what is not hidden. */
export interface FileWalls {
  /** Folders and files that it may change. */
  readonly writable: readonly string[];
  /** Devices that it may write to and control. */
  readonly devices: readonly string[];
  /** Paths that it may read although they are hidden. */
  readonly readable: readonly string[];
  /** Paths whose files it may not read. */
  readonly hidden: readonly string[];
}

/** The version of Landlock in this kernel; 0 if it has none, or it is not switched on. */
export function landlockVersion(): LandlockVersion {
  return Math.max(0, launchCalls.landlockCreate(LANDLOCK_CREATE_RULESET, null, 0, VERSION));
}

/**
 * Puts the walls around this process and everything that it starts; they can't be taken down. Needs
 * no_new_privs. Landlock allows what a rule names, with everything below it, and refuses the rest.
 */
export function raiseWalls(walls: FileWalls): void {
  const version = landlockVersion();
  const attributes = ruleset(version);
  const created = launchCalls.landlockCreate(LANDLOCK_CREATE_RULESET, attributes, attributes.length, 0);
  const rules = check(created, "landlock", SELF);
  const allow = (access: Access, paths: readonly string[]) => {
    for (const path of paths) addRule(rules, path, access, version);
  };
  allow("read", readableAround("/", walls.hidden));
  allow("read", walls.readable);
  allow("device", walls.devices);
  allow("write", walls.writable);
  check(launchCalls.landlockRestrict(LANDLOCK_RESTRICT_SELF, rules, 0), "landlock", SELF);
  calls.close(rules);
}

/** The paths that together hold everything below a folder but the hidden paths. */
function readableAround(folder: string, hidden: readonly string[]): readonly string[] {
  const below = folder === "/" ? hidden : hidden.filter((path) => isAtOrBelow(path, folder));
  if (below.length === 0) return [folder];
  if (below.includes(folder)) return [];
  return childrenOf(folder).flatMap((path) => readableAround(path, below));
}

/** Links count for nothing: what they lead to has a path of its own. */
function childrenOf(folder: string): readonly string[] {
  const top = folder === "/" ? "" : folder;
  try {
    return readdirSync(bytesFromPath(folder), { withFileTypes: true, encoding: "buffer" })
      .filter((entry) => !entry.isSymbolicLink())
      .map(({ name }) => `${top}/${pathFromBytes(name)}`);
  } catch (thrown) {
    // What this user may not list, or is gone, it may not read either.
    if (failedWith(thrown, "EACCES", "ENOENT", "ENOTDIR")) return [];
    throw thrown;
  }
}

/** Does nothing for a path that is gone. */
function addRule(rules: number, path: string, access: Access, version: LandlockVersion): void {
  let fd: number;
  try {
    fd = openPath(AT_FDCWD, path, O_PATH, path);
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT", "EACCES", "ENOTDIR", "ELOOP")) return;
    throw thrown;
  }
  try {
    const isFolder = factsOfOpen(fd, path).kind === "directory";
    // struct landlock_path_beneath_attr, packed: the rights, then the descriptor.
    const attributes = Buffer.alloc(12);
    attributes.writeBigUInt64LE(rightsOf(access, isFolder, version), 0);
    attributes.writeInt32LE(fd, 8);
    const added = landlockCalls.addRule(LANDLOCK_ADD_RULE, rules, RULE_PATH_BENEATH, attributes, 0);
    check(added, "landlock", path);
  } finally {
    calls.close(fd);
  }
}
