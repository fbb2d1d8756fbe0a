import { SandboxCommitError } from "../../../core/errors/errors.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { readWhole } from "../../../system/data/whole-file.ts";
import type { ConfigEntry } from "../repository/repository-config.ts";
import { branchName, type Checkout } from "./checkout.ts";

/**
 * Refuses a branch that another worktree has checked out too: that worktree would not follow, and every
 * landed change would look reverted there. Git keeps a folder `worktrees/NAME` for each linked worktree, with
 * its HEAD and, in `gitdir`, the path of its `.git`.
 */
export function assertOnlyHere(
  checkout: Checkout,
  ref: string,
  config: readonly ConfigEntry[],
  follows: (worktree: string) => boolean,
): void {
  const others = ref === "HEAD" ? [] : othersOn(checkout, ref, config);
  const other = others.find((worktree) => !follows(worktree));
  if (other === undefined) return;
  throw new SandboxCommitError(
    `${branchName(ref)} is also checked out in ${displayPath(other)}, which would not follow it.`,
    {
      hint: "Check another branch out there, or remove that worktree, and try again.",
      code: "CHECKED_OUT_TWICE",
    },
  );
}

function othersOn({ gitDir, commonDir }: Checkout, ref: string, config: readonly ConfigEntry[]): string[] {
  using common = Folder.open(commonDir);
  const isBare = config.findLast(({ key }) => key === "core.bare")?.value === "true";
  const main =
    gitDir !== commonDir && !isBare && isOn(common, ref) ? [commonDir.replace(/\/\.git$/, "")] : [];
  using worktrees = common.openBelowIfThere("worktrees");
  const linked = (worktrees?.names() ?? []).flatMap((name) => {
    using worktree = worktrees?.openBelowIfThere(name);
    const isOther = worktree !== undefined && worktree.path !== gitDir && isOn(worktree, ref);
    return isOther
      ? [
          readWhole(worktree, "gitdir")
            ?.toString()
            .trim()
            .replace(/\/\.git$/, "") ?? name,
        ]
      : [];
  });
  return [...main, ...linked];
}

function isOn(gitDir: Folder, ref: string): boolean {
  return readWhole(gitDir, "HEAD")?.toString().trim() === `ref: ${ref}`;
}
