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
 * The refs of a sandbox in the user's repository, all below one name. Cleanup removes them.
 *
 * - `base` keeps the commit alive that the worktree began with.
 * - `landing`, `landing-1` and so on keep the objects alive that are about to land, until other refs have
 *   them.
 */
const LANDING = "landing";
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

/** Protects the base from git's garbage collection. */
export async function keepBase(git: Git, checkout: Checkout, refs: string, commit: string): Promise<void> {
  await git.change(POINTS.keep, contextOfCheckout(checkout), ["update-ref", `${refs}/base`, commit], {
    settings: DURABLE,
  });
}

/**
 * Copies objects of our repository, with all that are new in them, to the user's. Git checks everything that
 * programs made: it names each object by its content again, and rejects what could write into the repository
 * itself.
 */
export async function bringObjects(
  parts: SandboxParts,
  refs: string,
  objects: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { git, workspace } = parts;
  const names = objects.map((_, at) => (at === 0 ? LANDING : `${LANDING}-${at}`));
  using heads = workspace.openBelow(`${REPOSITORY}/refs/heads`);
  for (const [at, name] of names.entries())
    writeWhole(POINTS.name, heads, name, Buffer.from(`${objects[at]}\n`));
  const args = [
    "fetch",
    "--no-write-fetch-head",
    "--no-tags",
    "--no-auto-maintenance",
    "--update-shallow",
    "--progress",
  ];
  const from = [workspace.label(REPOSITORY), ...names.map((name) => `+refs/heads/${name}:${refs}/${name}`)];
  const settings = { ...DURABLE, "transfer.fsckObjects": "true", "fetch.fsckObjects": "true" };
  await git.change(POINTS.fetch, parts.theirs(), [...args, ...from], { settings, signal });
}

/** Removes refs of a sandbox: all of them, or only those of a landing. */
export async function dropRefs(
  git: Git,
  checkout: Checkout,
  refs: string,
  which: "all" | "landing",
): Promise<void> {
  // A removed repository has no refs.
  if (!isThere(checkout.commonDir)) return;
  const context: GitContext = { gitDir: checkout.commonDir };
  removeOwnLocks(checkout, refs);
  const { stdout } = await git.look(context, ["for-each-ref", "--format=%(refname)", `${refs}/`]);
  const names = stdout
    .toString()
    .split("\n")
    .filter((name) => name.startsWith(which === "all" ? `${refs}/` : `${refs}/${LANDING}`));
  // Without any ref there is nothing to delete, and the user's repository is not locked.
  if (names.length === 0) return;
  const input = Buffer.from(names.map((name) => `delete ${name}\n`).join(""));
  await git.change(POINTS.drop, context, ["update-ref", "--stdin"], { input, settings: DURABLE });
}

/** Only Drydock has refs there, so a remaining lock comes from a git process of ours that was killed. */
function removeOwnLocks({ commonDir }: Checkout, refs: string): void {
  using common = Folder.open(commonDir);
  using folder = common.openBelowIfThere(refs);
  for (const name of folder?.names() ?? [])
    if (name.endsWith(".lock")) folder?.removeFile(POINTS.unlock, name);
}
