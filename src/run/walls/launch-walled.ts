import { failedWith } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { AT_FDCWD, check, cString } from "../../system/calls/native.ts";
import { O_PATH } from "../../system/calls/open-flags.ts";
import { become, limitOpenFiles } from "../../system/launch/become.ts";
import { launchCalls } from "../../system/launch/calls.ts";
import { replaceLink } from "../../system/launch/entries.ts";
import { dieWithParent, filterCalls, keepOnly } from "../../system/launch/privileges.ts";
import { reopenByDescriptor } from "../../system/launch/read-only-input.ts";
import { openPath } from "../../system/launch/view-root.ts";
import { readLinkIfThere } from "../../system/process/processes.ts";
import { landlockVersion, raiseWalls } from "../../system/walls/landlock.ts";
import { SINCE_TRUNCATE } from "../../system/walls/landlock-rights.ts";
import { connectStreams, ROOT_KEEPS } from "../launch/launch-command.ts";
import { DESCRIPTORS, type WalledSpec } from "../launch/launch-spec.ts";

/** Devices that every program may use. */
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"].map((name) => `/dev/${name}`);
const TERMINALS = "/dev/ptmx";

/**
 * Becomes a command on the machine as it is, in one thread and in this order:
 *
 * 1. Connect the terminal and the standard streams.
 * 2. Give up all privileges.
 * 3. Put up the walls around files, and install the filter of system calls.
 * 4. Load the shell that starts the command.
 *
 * Any failure is thrown; then no command has started.
 */
export function launchWalled(spec: WalledSpec): never {
  const { walls, links, shell, environment, cwd } = spec;
  for (const { at, to } of links) replaceLink({ folderIfThere }, at, to);
  const input = spec.inputFile === undefined ? undefined : reopenByDescriptor(0, spec.inputFile);
  const terminal = connectStreams(openTerminals, spec, input);
  if (spec.openFiles !== undefined) limitOpenFiles(spec.openFiles);
  if (walls === undefined) dieWithParent();
  else {
    const own = terminal === undefined ? [] : pathsOfTerminal(terminal.inner);
    keepOnly(ROOT_KEEPS);
    raiseWalls({ ...walls, devices: [...DEVICES, ...own] });
    const noTruncate = landlockVersion() < SINCE_TRUNCATE;
    filterCalls({ mayNestUsers: false, noNetwork: !walls.network, noTruncate });
  }
  become({ ...shell, environment, cwd, descriptors: [DESCRIPTORS.control] });
}

function openTerminals(flags: number): number {
  return check(launchCalls.open(cString(TERMINALS), flags, 0), "open", TERMINALS);
}

/** The name of the command's own terminal. Those of others are not the command's to write to. */
function pathsOfTerminal(fd: number): readonly string[] {
  return [readLinkIfThere(`/proc/self/fd/${fd}`)].filter((path) => path !== undefined);
}

/** A folder on a path without links; undefined if there is none. */
function folderIfThere(path: string): Folder | undefined {
  try {
    return new Folder(openPath(AT_FDCWD, path, O_PATH, path), path);
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT", "ENOTDIR", "ELOOP")) return undefined;
    throw thrown;
  }
}
