import type { Conflict } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { branchName } from "../git-worktree/checkout/checkout.ts";
import type { RefMove } from "../git-worktree/landing/ref-moves.ts";
import { targetOf } from "../git-worktree/repository/ref-files.ts";
import { pathIn, type RepositoryFolders } from "./layout.ts";
import type { RepositoryState } from "./open-repository.ts";
import type { RefChange, RepositoryChanges } from "./repository-changes.ts";

/**
 * Brings the refs of a sandbox together with those of the user, who may have moved some meanwhile:
 *
 * | the plan                        | the user meanwhile           | lands as                             |
 * |---------------------------------|------------------------------|--------------------------------------|
 * | moves, makes or deletes a ref   | did not touch it             | the same: a branch fast-forwards     |
 * |                                 | did the same                 | nothing                              |
 * | commits on the branch that is   | committed on it too          | a merge commit, or a conflict        |
 * | checked out                     |                              |                                      |
 * | moves another ref               | moved it, in the same line   | the later of both                    |
 * |                                 | moved, made or deleted it    | a conflict                           |
 * | checks another branch out       | committed, or did so too     | a conflict                           |
 * | rewrites the list of the stash  | stashed, or dropped a stash  | a conflict                           |
 *
 * A conflict is named after the file of the ref.
 */
export interface Reconciled {
  /** HEAD last. */
  readonly moves: readonly RefMove[];
  /** The branch whose commits have to be merged: those of the plan and those of the user. */
  readonly merge?: Required<RefChange> & { readonly theirs: string };
  readonly conflicts: readonly Conflict[];
}

/** Whether a commit has another in its history, or is the same. */
export type Descends = (ancestor: string, commit: string) => Promise<boolean>;

export async function reconcile(
  changes: RepositoryChanges,
  theirs: RepositoryState,
  descends: Descends,
): Promise<Reconciled> {
  const { place, base, now, isSwitched } = changes;
  // HEAD itself, if it leads to no branch.
  const branch = targetOf(base.head) ?? "HEAD";
  const [moves, conflicts]: [RefMove[], Conflict[]] = [[], []];
  let merge: Reconciled["merge"];
  for (const change of changes.refs) {
    const at = change.ref === "HEAD" ? theirs.head : theirs.refs.get(change.ref);
    const verdict = await judge(change, at, change.ref === branch && !isSwitched, descends);
    if (verdict === "conflict") conflicts.push(conflict(place, change.ref, sides(change, at)));
    else if (verdict === "merge") merge = { ...(change as Required<RefChange>), theirs: at ?? "" };
    else if (verdict !== "nothing") moves.push(verdict);
  }
  conflicts.push(...namesInTheWay(place, moves, theirs.refs));
  const isHere =
    isSwitched || changes.index.length > 0 || merge !== undefined || moves.some(({ ref }) => ref === branch);
  const head = isHere ? headConflict(changes, theirs, branch) : undefined;
  if (head !== undefined) conflicts.push(conflict(place, "HEAD", head));
  else if (isSwitched && theirs.head !== now.head)
    moves.push({ ref: "HEAD", from: theirs.head, to: now.head });
  return { moves, conflicts, ...(merge !== undefined && { merge }) };
}

/** What becomes of one ref. `at` is where the user has it now. */
async function judge(
  change: RefChange,
  at: string | undefined,
  mayMerge: boolean,
  descends: Descends,
): Promise<RefMove | "nothing" | "merge" | "conflict"> {
  const { ref, from, to } = change;
  if (at === to) return "nothing";
  if (at === from) return change;
  if (!isCommit(from) || !isCommit(to) || !isCommit(at)) return "conflict";
  if (mayMerge) return "merge";
  if (await descends(at, to)) return { ref, from: at, to };
  return (await descends(to, at)) ? "nothing" : "conflict";
}

/** Why the user's HEAD does not let the work land. */
function headConflict(
  { base, now, isSwitched }: RepositoryChanges,
  theirs: RepositoryState,
  branch: string,
): string | undefined {
  // A HEAD without a branch was compared like a ref.
  const isCompared = branch === "HEAD" && !isSwitched;
  if (!isCompared && theirs.head !== base.head && theirs.head !== now.head)
    return `${headName(base.head)} was checked out when the sandbox was made, and now ${headName(theirs.head)} is`;
  if (isSwitched && branch !== "HEAD" && theirs.refs.get(branch) !== base.refs.get(branch))
    return `${branchName(branch)} moved meanwhile, and the plan checked out ${headName(now.head)}`;
  return undefined;
}

/** New refs for whose file there is no room, because another ref has a part of their name. */
function namesInTheWay(
  place: RepositoryFolders,
  moves: readonly RefMove[],
  theirs: RepositoryState["refs"],
): Conflict[] {
  return moves.flatMap(({ ref, from, to }) => {
    if (from !== undefined || to === undefined) return [];
    const other = [...theirs.keys()].find((name) => name.startsWith(`${ref}/`) || ref.startsWith(`${name}/`));
    return other === undefined
      ? []
      : [conflict(place, ref, `${displayPath(other)} is in the way of this name`)];
  });
}

function isCommit(value: string | undefined): value is string {
  return value !== undefined && value !== "" && targetOf(value) === undefined;
}

function headName(head: string): string {
  return branchName(targetOf(head) ?? "HEAD");
}

function sides({ from, to }: RefChange, at: string | undefined): string {
  const verb = (value: string | undefined) =>
    value === undefined ? "deleted" : from === undefined ? "made" : "moved";
  const [theirs, mine] = [verb(at), verb(to)];
  return theirs === mine
    ? `${mine} in the original and in the plan`
    : `${theirs} in the original, ${mine} in the plan`;
}

function conflict(place: RepositoryFolders, ref: string, why: string): Conflict {
  return { path: pathIn(place, ref), why };
}
