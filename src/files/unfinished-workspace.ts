import { SandboxStateError } from "../core/errors.ts";
import type { Folder } from "../system/folder.ts";
import { findPlace, openWorkspace, removeWorkspace } from "./workspace.ts";

/** Removes what an earlier creation of this sandbox left when it was cut off; refuses to if the sandbox is there, or what took it back is. */
export function removeUnfinished(stateDir: string, sandboxId: string, isInUse: (workspace: Folder) => boolean): void {
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
