import { SandboxStateError } from "../../core/errors/errors.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { Failpoint } from "../../system/failpoints.ts";
import { removeTree } from "../tree/remove-tree.ts";
import { findPlace, openWorkspace, removeWorkspace } from "./workspace.ts";

/**
 * Removes the remains of an earlier, interrupted creation of this sandbox. Refuses if the sandbox is
 * complete, or if it has a landing.
 */
export function removeUnfinished(
  stateDir: string,
  sandboxId: string,
  isInUse: (workspace: Folder) => boolean,
): void {
  const earlier = findPlace(stateDir, sandboxId);
  if (earlier === undefined) return;
  using workspace = openWorkspace(earlier.path);
  if (workspace !== undefined && isInUse(workspace)) {
    throw new SandboxStateError(`Sandbox ${sandboxId} has been created already.`, {
      from: "CREATED",
      to: "PENDING",
      hint: "Use the sandbox that is there, or clean it up first.",
    });
  }
  removeWorkspace(stateDir, sandboxId, earlier);
}

/** Removes everything in a workspace but these names. */
export function removeAllBut(point: Failpoint, workspace: Folder, kept: readonly string[]): void {
  for (const name of workspace.names()) if (!kept.includes(name)) removeTree(point, workspace, name);
}
