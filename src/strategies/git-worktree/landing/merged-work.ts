import { type Conflict, SandboxConflictError } from "../../../core/errors/errors.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { branchName, type Head } from "../checkout/checkout.ts";
import { messagesOf, subjectsOf } from "../repository/made-commits.ts";
import { splitNul } from "../repository/repository-config.ts";
import { DURABLE } from "../repository/store-tree.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { type CommitText, commitTree, descends, type WorkCommit } from "../worktree/work-commit.ts";

const MERGE = failpoint("git.merge-tree");

interface Merge {
  readonly record: SandboxRecord;
  /** The commit that is checked out now. */
  readonly now: Head;
  readonly work: Pick<WorkCommit, "commit" | "tree">;
  readonly text: CommitText;
  readonly fastForward: boolean;
  /** One commit takes the place of those that the plan made. */
  readonly squash?: boolean | undefined;
}

/**
 * Merges a commit of the plan into the commit that is checked out now, as objects only. Returns a merge
 * commit, or with `fastForward` the plan's commit if the branch has not moved, or with `squash` one commit on
 * top. Throws a
 * `SandboxConflictError` with every path in conflict.
 */
export async function mergeWork(parts: SandboxParts, merge: Merge): Promise<string> {
  const { record, now, text, fastForward, squash = false } = merge;
  const { commit: work, tree: workTree } = merge.work;
  const context = parts.onCheckout();
  if (work === record.head) return now.commit;
  if (!(await descends(parts, context, record.head, now.commit))) throw rewritten(record, now);
  if (now.commit === record.head && fastForward && !squash) return work;
  const tree = now.commit === record.head ? workTree : await mergedTree(parts, now, work);
  if (squash) {
    const does = await messagesOf(parts, record.base, work);
    return await commitTree(parts, context, { tree, parents: [now.commit], does }, text);
  }
  const does = (await subjectsOf(parts, [record.base], work)).replace(
    /^(.*?commits?)/,
    (count) => `Merge ${count} into ${branchName(now.ref)}`,
  );
  return await commitTree(parts, context, { tree, parents: [now.commit, work], does }, text);
}

async function mergedTree(parts: SandboxParts, now: Head, work: string): Promise<string> {
  const args = ["merge-tree", "--write-tree", "-z", now.commit, work];
  const { code, stdout } = await parts.git.change(MERGE, parts.onCheckout(), args, {
    answers: [1],
    settings: DURABLE,
  });
  const said = splitNul(stdout);
  const [tree = ""] = said;
  if (code === 0) return tree;
  throw new SandboxConflictError(conflictsIn(said.slice(1), branchName(now.ref)));
}

/**
 * Parses lines `MODE ID STAGE`, a tab and a path, up to an empty line. Stage 1 is the common ancestor, 2 the
 * branch, 3 the plan.
 */
export function conflictsIn(said: readonly string[], branch: string): Conflict[] {
  const stages = new Map<string, Set<string>>();
  for (const line of said.slice(0, said.indexOf(""))) {
    const tab = line.indexOf("\t");
    const path = line.slice(tab + 1);
    const stage = line.slice(0, tab).split(" ")[2] ?? "";
    stages.set(path, (stages.get(path) ?? new Set()).add(stage));
  }
  return [...stages].map(([path, found]) => ({ path, why: sides(found, branch) }));
}

function sides(stages: ReadonlySet<string>, branch: string): string {
  const was = stages.has("1");
  const verb = (isThere: boolean) => (isThere ? (was ? "changed" : "added") : "deleted");
  const [theirs, ours] = [verb(stages.has("2")), verb(stages.has("3"))];
  return theirs === ours
    ? `${ours} on ${branch} and in the plan`
    : `${theirs} on ${branch}, ${ours} in the plan`;
}

function rewritten({ head, ref }: SandboxRecord, now: Head): SandboxConflictError {
  const why = `${branchName(ref)} was rewritten: ${head.slice(0, 12)}, which the sandbox was made from, is no longer part of it`;
  return new SandboxConflictError([{ path: ".", why }], {
    message: `The original changed meanwhile: ${why}.`,
    hint: `It is at ${displayPath(now.commit.slice(0, 12))} now. Make a new plan, or bring the branch back to a history with that commit.`,
  });
}
