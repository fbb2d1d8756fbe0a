import { Folder } from "../../../system/calls/folder.ts";
import { isThere } from "../../../system/data/existence.ts";
import { writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { Git, GitContext } from "../../../system/process/git.ts";
import { type Checkout, contextOfCheckout } from "../checkout/checkout.ts";
import { REPOSITORY } from "../layout.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import { DURABLE } from "./store-tree.ts";

/**
 * The refs that a sandbox has in the user's repository, all below one name of its own: `base` keeps the
 * commit alive that the worktree began with, `landing` what is landing, which the branch has once it has
 * landed. They are gone after cleanup.
 */
const POINTS = {
  keep: failpoint("git.keep-ref"),
  name: failpoint("git.name-landing"),
  fetch: failpoint("git.fetch"),
  drop: failpoint("git.drop-refs"),
  unlock: failpoint("git.drop-ref-lock"),
};

export function refsOf(planId: string, resourceId: string): string {
  return `refs/drydock/${planId}/${resourceId}`;
}

/** Keeps a commit alive. */
export async function keepBase(git: Git, checkout: Checkout, refs: string, commit: string): Promise<void> {
  await git.change(POINTS.keep, contextOfCheckout(checkout), ["update-ref", `${refs}/base`, commit], {
    settings: DURABLE,
  });
}

/**
 * Brings a commit of our repository, with all that is new in it, to the user's. What programs made is checked
 * by git on the way: objects are named by their content again, and nothing that could write into the
 * repository itself is let in.
 */
export async function bring(
  parts: SandboxParts,
  refs: string,
  commit: string,
  signal: AbortSignal,
): Promise<void> {
  const { git, workspace } = parts;
  using heads = workspace.openBelow(`${REPOSITORY}/refs/heads`);
  writeWhole(POINTS.name, heads, "landing", Buffer.from(`${commit}\n`));
  const args = [
    "fetch",
    "--no-write-fetch-head",
    "--no-tags",
    "--no-auto-maintenance",
    "--update-shallow",
    "--progress",
  ];
  const from = [workspace.label(REPOSITORY), `+refs/heads/landing:${refs}/landing`];
  const settings = { ...DURABLE, "transfer.fsckObjects": "true", "fetch.fsckObjects": "true" };
  await git.change(POINTS.fetch, parts.theirs(), [...args, ...from], { settings, signal });
}

/** Removes refs of a sandbox: all, or only what keeps a landing alive. */
export async function dropRefs(
  git: Git,
  checkout: Checkout,
  refs: string,
  which: "all" | "landing",
): Promise<void> {
  // A repository that is gone has no refs.
  if (!isThere(checkout.commonDir)) return;
  const context: GitContext = { gitDir: checkout.commonDir };
  removeOwnLocks(checkout, refs);
  const names = which === "all" ? ["base", "landing"] : ["landing"];
  // Somebody may have packed them. Where there is none, nothing of the user's is locked for it.
  const isLoose = names.some((name) => isThere(`${checkout.commonDir}/${refs}/${name}`));
  if (!isLoose && !(await areThere(git, context, `${refs}/${which === "all" ? "" : "landing"}`))) return;
  const input = Buffer.from(names.map((name) => `delete ${refs}/${name}\n`).join(""));
  await git.change(POINTS.drop, context, ["update-ref", "--stdin"], { input, settings: DURABLE });
}

async function areThere(git: Git, context: GitContext, prefix: string): Promise<boolean> {
  return (await git.look(context, ["for-each-ref", prefix])).stdout.length > 0;
}

/** Nobody else has refs there, so a lock that is left is from a git of ours that was killed. */
function removeOwnLocks({ commonDir }: Checkout, refs: string): void {
  using common = Folder.open(commonDir);
  using folder = common.openBelowIfThere(refs);
  for (const name of folder?.names() ?? [])
    if (name.endsWith(".lock")) folder?.removeFile(POINTS.unlock, name);
}
