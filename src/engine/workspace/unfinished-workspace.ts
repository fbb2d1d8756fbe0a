import { SandboxStateError } from "../../core/errors/errors.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { removeTree } from "../tree/remove-tree.ts";
import { findPlace, openWorkspace, removeWorkspace } from "./workspace.ts";

const TRIM = failpoint("cleanup.remove");

/**
 * Removes what an earlier creation of this sandbox left when it was cut off; refuses to if the sandbox is
 * there, or what took it back is.
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

/**
 * What an undo needs, or is kept for somebody else, and the change times that it goes by (sandbox-door.ts).
 */
const KEPT: readonly string[] = ["landings", "closed"];

/** Removes a sandbox, but not that. */
export function removeAllButLandings(workspace: Folder): void {
  for (const name of workspace.names()) if (!KEPT.includes(name)) removeTree(TRIM, workspace, name);
}
