import {
  hintOf,
  messageOf,
  SandboxCommitError,
  SandboxCreationError,
  SandboxRollbackError,
  SandboxStateError,
  UsageError,
} from "../../core/errors/errors.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import { failedWith } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { FolderCache } from "../../system/calls/folder-cache.ts";
import type { ChangeSet } from "../changes/change-set.ts";
import { withoutExcluded } from "../changes/exclusions.ts";
import type { Steps } from "../work/pace.ts";
import { OpenWorkspace } from "../workspace/sandbox-door.ts";
import { repositoriesFrom, type Scope, withoutFrom } from "../workspace/scope.ts";
import { openWorkspace, type Placement, type WorkspacePlace } from "../workspace/workspace.ts";
import type { SandboxTree } from "./sandbox-tree.ts";

/** A sandbox with all its folders open, because comparing and staging use them a dozen times. */
export class OpenSandbox<Tree extends SandboxTree> {
  readonly scope: Scope;
  readonly workspace: Folder;
  readonly original: Folder;
  readonly tree: Tree;
  /** The sandbox's own tree: the copy, or the upper layer. */
  readonly own: Folder;

  constructor(scope: Scope, workspace: Folder, original: Folder, tree: Tree) {
    this.scope = scope;
    this.workspace = workspace;
    this.original = new FolderCache(original);
    this.tree = tree;
    this.own = new FolderCache(tree.openOwn());
  }

  /** The differences from the original, without excluded paths. */
  *changes(): Steps<ChangeSet> {
    return withoutExcluded(yield* this.tree.diff(this.original, this.own), this.scope);
  }

  [Symbol.dispose](): void {
    for (const folder of [this.own, this.original, this.workspace]) folder.close();
  }
}

/** Opens the original, which may have gone away. */
export function openOriginal(scope: Scope): Folder {
  try {
    return Folder.open(scope.root);
  } catch (thrown) {
    if (!failedWith(thrown, "ENOENT", "ENOTDIR", "ELOOP")) throw thrown;
    throw new UsageError(`The original ${scope.root} is gone, or is no longer a folder.`, {
      hint: "Bring it back, or cancel the plan.",
      cause: thrown,
    });
  }
}

/** The reference to a sandbox of a resource; `path` is where programs find it. */
export function newReference(
  made: Pick<SandboxRef, "sandboxId" | "planId" | "resourceId" | "strategyName">,
  place: WorkspacePlace,
  scope: Scope,
  path: string,
): SandboxRef {
  const { root, only, without, repository, submodules } = scope;
  const metadata = {
    workspace: place.path,
    placement: place.placement,
    root,
    path,
    ...(only !== undefined && { only }),
    ...(without !== undefined && { without }),
    ...(repository !== undefined && { repository }),
    ...(submodules !== undefined && { submodules: submodules.map((each) => ({ ...each })) }),
  };
  return { ...made, metadata };
}

/** The place of the workspace, from the reference. */
export function placeOf(ref: SandboxRef): WorkspacePlace {
  return {
    path: String(ref.metadata["workspace"]),
    placement: String(ref.metadata["placement"]) as Placement,
  };
}

/** The scope of the resource, from the reference. */
export function scopeFrom(ref: SandboxRef): Scope {
  const { root, only } = ref.metadata;
  return {
    root: String(root),
    ...(typeof only === "string" && { only }),
    ...withoutFrom(ref.metadata),
    ...repositoriesFrom(ref.metadata),
  };
}

/** Opens the workspace and its door (sandbox-door.ts), which closes with it. */
export function openPlaceIfThere(ref: SandboxRef): Folder | undefined {
  const workspace = openWorkspace(placeOf(ref).path);
  return workspace === undefined ? undefined : new OpenWorkspace(workspace, scopeFrom(ref).root);
}

/** Opens the workspace and its door, or throws if the workspace is gone. */
export function openPlaceOf(ref: SandboxRef): Folder {
  const { path } = placeOf(ref);
  const workspace = openPlaceIfThere(ref);
  if (workspace !== undefined) return workspace;
  throw new SandboxStateError(`The workspace ${path} of sandbox ${ref.sandboxId} is gone.`, {
    from: "ACTIVE",
    to: "ACTIVE",
    hint: "Another process removed it. Cancel the plan and make a new one.",
  });
}

/** The error of a failed creation. */
export function notCreated(location: string, cause: unknown): SandboxCreationError {
  const hint = hintOf(cause) ?? "Nothing was changed. Mend the cause and try again.";
  return new SandboxCreationError(`No sandbox of ${location} could be made: ${messageOf(cause)}`, {
    cause,
    hint,
  });
}

/** The error of a failed rollback. The original may be restored although the sandbox is not. */
export function notRolledBack(root: string, isRestored: boolean, cause: unknown): SandboxRollbackError {
  const what = isRestored
    ? `${root} is as it was before, but its sandbox could not be reset`
    : `The sandbox of ${root} could not be rolled back`;
  const hint = hintOf(cause) ?? "Mend the cause and try again.";
  return new SandboxRollbackError(`${what}: ${messageOf(cause)}`, { cause, hint });
}

/** Refuses to land after a restart of the machine: unflushed work in the sandbox may be missing. */
export function assertSameBoot(tree: Pick<SandboxTree, "isFromEarlierBoot">): void {
  if (!tree.isFromEarlierBoot) return;
  throw new SandboxCommitError(
    "The machine was restarted since this sandbox was made, so work in it that was not yet on disk may be missing.",
    { code: "RESTARTED" },
  );
}
