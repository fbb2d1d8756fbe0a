import type { StrategyContext } from "../../core/strategy.ts";
import { builtInStrength } from "../../core/strategy-names.ts";
import { CopyingStrategy } from "../folder/copying-strategy.ts";

/**
 * A full copy of the original. It takes the time and room of the copy, works on every file system that can
 * exchange files, and shares nothing with the original, not even blocks.
 */
export class FilesystemCopyStrategy extends CopyingStrategy {
  constructor(context: StrategyContext) {
    super(context, {
      name: "filesystem_copy",
      data: "copy",
      capabilities: {
        commit: "two-phase",
        undo: true,
        partial: true,
        whileRunning: ["checkpoint", "restore", "apply"],
        checkpoint: true,
        isolation: "copy",
        strength: builtInStrength("filesystem_copy"),
        resourceTypes: ["fs-directory", "fs-file", "fs-mount", "git-checkout"],
        leavesOut: true,
      },
    });
  }
}
