import { SandboxStateError } from "../../core/errors/errors.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { removeTree } from "../tree/remove-tree.ts";
import { findPlace, openWorkspace, removeWorkspace } from "./workspace.ts";

const TRIM = failpoint("cleanup.remove");

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

/**
 * `landings` holds undo records, and entries kept for another writer; `closed` holds the change times that an
 * undo goes by (sandbox-door.ts).
 */
const KEPT: readonly string[] = ["landings", "closed"];

/** Removes a sandbox but keeps its landings. */
export function removeAllButLandings(workspace: Folder): void {
  for (const name of workspace.names()) if (!KEPT.includes(name)) removeTree(TRIM, workspace, name);
}
