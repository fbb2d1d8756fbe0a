import { isRenameUnknown } from "../../system/calls/errno.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { failpoint } from "../../system/failpoints.ts";
import { isOnOverlay } from "../../system/mount/file-system.ts";

/**
 * What a landing on the file system of a workspace can't promise. A file `in-steps` in the workspace says
 * that two names can't be exchanged there.
 */
const POINTS = {
  probe: failpoint("workspace.probe"),
  note: failpoint("workspace.note-steps"),
};
const IN_STEPS = "in-steps";

/** Tries to swap two files, and notes it if that does not work. */
export function noteWhetherExchangeWorks(workspace: Folder): void {
  if (canExchange(workspace) || workspace.facts(IN_STEPS) !== undefined) return;
  closeFile(workspace.createFile(POINTS.note, IN_STEPS, 0o600));
}

function canExchange(workspace: Folder): boolean {
  const names = ["probe-a", "probe-b"] as const;
  try {
    for (const name of names)
      if (workspace.facts(name) === undefined) closeFile(workspace.createFile(POINTS.probe, name, 0o600));
    workspace.exchange(POINTS.probe, names[0], workspace, names[1]);
    return true;
  } catch (thrown) {
    if (isRenameUnknown(thrown)) return false;
    throw thrown;
  } finally {
    for (const name of names)
      if (workspace.facts(name) !== undefined) workspace.removeFile(POINTS.probe, name);
  }
}

/** The weaker promises of a landing from this workspace, as notes for the user. */
export function weakerPromises(workspace: Folder): string[] {
  return [
    ...(workspace.facts(IN_STEPS) === undefined ? [] : [WITHOUT_EXCHANGE]),
    ...(isOnOverlay(workspace) ? [ON_OVERLAY] : []),
  ];
}

const WITHOUT_EXCHANGE =
  "its file system can't exchange two names in one step: while the plan lands, a path that changes is missing for a moment, and after a crash until the next command";
const ON_OVERLAY =
  "it is on an overlay, like the root of a container: a folder of a lower layer goes entry by entry while the plan lands, and a file of a lower layer with several names becomes one file for each";
