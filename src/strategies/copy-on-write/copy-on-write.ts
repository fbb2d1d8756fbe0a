import { SandboxCreationError } from "../../core/errors/errors.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { StrategyContext } from "../../core/strategy.ts";
import type { ProbeResult } from "../../core/strategy-abilities.ts";
import { builtInStrength } from "../../core/strategy-names.ts";
import { canShareBlocks } from "../../engine/workspace/reflink-probe.ts";
import { scopeOf } from "../../engine/workspace/scope.ts";
import { CopyingStrategy } from "../folder/copying-strategy.ts";

/**
 * A copy that shares blocks with the original until either changes them (reflink). It takes hardly any room,
 * and the time of making the names. It needs a file system with reflinks: btrfs, xfs, bcachefs.
 */
export class CopyOnWriteStrategy extends CopyingStrategy {
  constructor(context: StrategyContext) {
    super(context, {
      name: "copy_on_write",
      data: "share",
      capabilities: {
        commit: "two-phase",
        undo: true,
        partial: true,
        whileRunning: ["checkpoint", "restore", "apply"],
        checkpoint: true,
        isolation: "copy",
        strength: builtInStrength("copy_on_write"),
        resourceTypes: ["fs-directory", "fs-file", "fs-mount", "git-checkout"],
        leavesOut: true,
      },
    });
  }

  override async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const probed = await this.probe(resource);
    if (!probed.works)
      throw new SandboxCreationError(`copy_on_write does not work here: ${probed.reason}.`, {
        hint: "Use filesystem_copy.",
      });
    return await super.create(planId, resource);
  }

  override async probe(resource: Resource): Promise<ProbeResult> {
    const scope = scopeOf(resource);
    if (canShareBlocks(this.context.stateDir, scope)) return { works: true };
    return {
      works: false,
      reason: `the file system of ${scope.root} can't share blocks between files (no reflink)`,
      instead: "filesystem_copy",
    };
  }
}
