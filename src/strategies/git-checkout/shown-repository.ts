import { createHash } from "node:crypto";
import type { Change } from "../../core/change.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { NO_COMMIT, subjectOf, subjectsOf } from "../git-worktree/repository/made-commits.ts";
import { targetOf } from "../git-worktree/repository/ref-files.ts";
import { treeChanges } from "../git-worktree/repository/tree-changes.ts";
import type { SandboxParts } from "../git-worktree/sandbox-parts.ts";
import { descends, treeOf } from "../git-worktree/worktree/work-commit.ts";
import { pathIn, type RepositoryFolders } from "./layout.ts";
import { STASH } from "./pinned-repository.ts";
import type { RefChange, RepositoryChanges } from "./repository-changes.ts";

const CHECKOUT = "the checkout";
/** More names of commits are not compared: they are arguments. */
const MOST_KNOWN = 500;
const BRANCH = /^refs\/(?:heads|remotes)\//;

/** The changes of a repository as people see them: a line for each ref, for HEAD and for the index. */
export async function shownRepository(parts: SandboxParts, changes: RepositoryChanges): Promise<Change[]> {
  const shown: Change[] = [];
  const { place } = changes;
  for (const change of changes.refs) shown.push(await shownRef(parts, changes, change));
  const { base, now, isSwitched, isStashRewritten, refs } = changes;
  if (isStashRewritten && !refs.some(({ ref }) => ref === STASH))
    shown.push(object(place, STASH, "modified", "stashes dropped"));
  if (isSwitched)
    shown.push(
      object(place, "HEAD", "modified", `checks out ${headName(now.head)} instead of ${headName(base.head)}`),
    );
  const { obstacle } = changes;
  if (obstacle !== undefined)
    shown.push(object(place, obstacle.name, "modified", `does not land: ${displayPath(obstacle.why)}`));
  const staged = await stagedOf(parts, changes);
  return staged === undefined ? shown : [...shown, staged];
}

async function shownRef(
  parts: SandboxParts,
  changes: RepositoryChanges,
  { ref, from, to }: RefChange,
): Promise<Change> {
  const operation = from === undefined ? "added" : to === undefined ? "deleted" : "modified";
  return {
    ...object(
      changes.place,
      ref,
      operation,
      await noteOn(parts, changes, {
        ref,
        ...(from !== undefined && { from }),
        ...(to !== undefined && { to }),
      }),
    ),
    ...(from !== undefined && { before: { object: from } }),
    ...(to !== undefined && { after: { object: to } }),
  };
}

async function noteOn(
  parts: SandboxParts,
  changes: RepositoryChanges,
  { ref, from, to }: RefChange,
): Promise<string> {
  const name = nameOf(ref);
  if (to === undefined) return `${name} deleted, was at ${short(from)}`;
  if (targetOf(to) !== undefined) return `${name} leads to ${displayPath(targetOf(to) ?? "")}`;
  if (from === undefined && ref.startsWith("refs/heads/")) {
    const made = await subjectsOf(parts, knownCommits(changes), to);
    if (made !== NO_COMMIT) return onBranch(`new ${name}`, made);
  }
  if (from === undefined || targetOf(from) !== undefined || ref === STASH)
    return `${from === undefined ? "new " : ""}${name} at ${short(to)}: ${await subjectOf(parts, to)}`;
  const context = parts.onCheckout();
  if (await descends(parts, context, from, to)) return onBranch(name, await subjectsOf(parts, [from], to));
  if (await descends(parts, context, to, from))
    return `${name} goes back to ${short(to)}, without ${await subjectsOf(parts, [to], from)}`;
  return `${onBranch(name, await subjectsOf(parts, [from], to))}; instead of ${await subjectsOf(parts, [to], from)}`;
}

/** The commits that a new branch need not name: those of other branches, which are known or named there. */
function knownCommits({ base, refs }: RepositoryChanges): readonly string[] {
  const branches = [...base.refs].flatMap(([ref, at]) => (BRANCH.test(ref) ? [at] : []));
  const moved = refs.flatMap(({ from, to, ref }) =>
    from !== undefined && BRANCH.test(ref) ? [to ?? from] : [],
  );
  const all = [base.head, ...moved, ...branches].filter(
    (value) => value !== "" && targetOf(value) === undefined,
  );
  return [...new Set(all)].slice(0, MOST_KNOWN);
}

/** "2 commits on main: fix a; add b". */
function onBranch(name: string, subjects: string): string {
  const where = name === CHECKOUT ? "no branch" : name.replace(/^branch /, "");
  return subjects.replace(/^(\S+(?: or more)? commits?)/, (count) => `${count} on ${where}`);
}

/** What is staged and not committed, if the plan staged it. */
async function stagedOf(
  parts: SandboxParts,
  { place, index, indexTree, now }: RepositoryChanges,
): Promise<Change | undefined> {
  if (indexTree === undefined) return undefined;
  const branch = targetOf(now.head);
  const commit = branch === undefined ? now.head : now.refs.get(branch);
  const context = parts.onCheckout();
  const open =
    commit === undefined
      ? index
      : await treeChanges(parts.git, context, {
          from: await treeOf(parts, context, commit),
          to: indexTree,
          renames: false,
        });
  const changed = new Set(index.map(({ path }) => path));
  const staged = open.filter(({ path }) => changed.has(path));
  if (staged.length === 0) return undefined;
  const note = `${staged.length} ${staged.length === 1 ? "path" : "paths"} staged and not committed`;
  const digest = createHash("sha256").update(JSON.stringify(staged)).digest("hex");
  return { ...object(place, "index", "modified", note), after: { digest } };
}

function object(
  place: RepositoryFolders,
  name: string,
  operation: Change["operation"],
  note: string,
): Change {
  return { path: pathIn(place, name), operation, kind: "object", note };
}

function nameOf(ref: string): string {
  if (ref === "HEAD") return CHECKOUT;
  if (ref === STASH) return "stash";
  const kinds: [RegExp, string][] = [
    [/^refs\/heads\//, "branch "],
    [/^refs\/tags\//, "tag "],
    [/^refs\/remotes\//, "remote branch "],
  ];
  const [pattern, kind] = kinds.find(([known]) => known.test(ref)) ?? [/^/, ""];
  return `${kind}${displayPath(ref.replace(pattern, ""))}`;
}

function headName(head: string): string {
  const branch = targetOf(head);
  return branch === undefined ? short(head) : displayPath(branch.replace(/^refs\/heads\//, ""));
}

function short(object: string | undefined): string {
  return (object ?? "").slice(0, 10);
}
