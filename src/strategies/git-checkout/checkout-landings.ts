import { SandboxCommitError, SandboxConflictError } from "../../core/errors/errors.ts";
import type { PreparedCommit, Transaction } from "../../core/strategy.ts";
import { Folder } from "../../system/calls/folder.ts";
import { branchName } from "../git-worktree/checkout/checkout.ts";
import { stagedConflicts } from "../git-worktree/checkout/checkout-state.ts";
import { copyIndex } from "../git-worktree/checkout/index-files.ts";
import { setEntries } from "../git-worktree/landing/landing-plan.ts";
import { LandingFolder } from "../git-worktree/landing/landing-record.ts";
import { mergeWork } from "../git-worktree/landing/merged-work.ts";
import { commitsOf, type LogMove, type RefMove } from "../git-worktree/landing/ref-moves.ts";
import { RepositoryLandings, type RepositoryMeans } from "../git-worktree/landing/repository-landings.ts";
import { targetOf } from "../git-worktree/repository/ref-files.ts";
import { logText } from "../git-worktree/repository/ref-log.ts";
import {
  type Identity,
  identityFrom,
  logsRefs,
  readConfig,
} from "../git-worktree/repository/repository-config.ts";
import { bringObjects } from "../git-worktree/repository/repository-refs.ts";
import type { SandboxParts } from "../git-worktree/sandbox-parts.ts";
import { commitTree, descends, treeOf } from "../git-worktree/worktree/work-commit.ts";
import { pathIn, type RepositoryFolders } from "./layout.ts";
import { isNested, nestedObjects } from "./nested-worktrees.ts";
import { OpenRepository, type RepositoryState } from "./open-repository.ts";
import { STASH } from "./pinned-repository.ts";
import { type Reconciled, reconcile } from "./reconciled-refs.ts";
import { assertWhole, type RepositoryChanges } from "./repository-changes.ts";

const INDEX = "index";
const KEEPS = "Objects that a plan of Drydock is about to land";
const HEAD = "HEAD";
/** More names of commits are not compared: they are arguments, and there is a limit to those. */
const MOST_TIPS = 500;

/**
 * The landings of a checkout at its own path in the user's repository. The files land beside them, by the
 * exchange that all folders land with. git-worktree/landing/landing-record.ts has the order of writes.
 */
export class CheckoutLandings extends RepositoryLandings {
  readonly #means: RepositoryMeans;

  constructor(parts: SandboxParts, means: RepositoryMeans) {
    super(parts, means);
    this.#means = means;
  }

  /** Does everything that can fail. `repository` is the sandbox's, in the upper layer. */
  async prepare(
    transaction: Transaction,
    changes: RepositoryChanges,
    repository: OpenRepository,
  ): Promise<PreparedCommit> {
    const { git, checkout } = this.parts;
    assertWhole(changes, repository);
    const config = await readConfig(git, checkout);
    const identity = identityFrom(config);
    using user = new OpenRepository(this.parts.openGitDir(), Folder.open(checkout.commonDir));
    // Without locks, for conflicts that are there already: some leave no room for a lock.
    await this.#reconcile(changes, user.state());
    using landing = LandingFolder.make(this.parts.workspace, transaction.id);
    const stash = changes.isStashRewritten ? [{ ref: STASH, to: "" }] : [];
    const locks = await this.lock(landing, distinct([...stash, ...changes.refs]), config);
    const theirs = user.state();
    const found = await this.#moves(transaction, changes, theirs, identity);
    const moves = this.#withLogs(found, changes, {
      repository,
      user,
      identity,
      isWanted: logsRefs(config),
    });
    await this.#bring(moves, changes, repository, identity);
    await this.#changeIndex(user.own, landing.folder, changes);
    const head = moves.find(({ ref }) => ref === HEAD);
    const isHere = changes.index.length > 0 || head !== undefined;
    const digest = await this.record(landing, {
      version: 2,
      transaction: transaction.id,
      moves,
      ...(isHere && { head: { from: theirs.head, to: head?.to ?? theirs.head } }),
      changes: changes.index,
      files: changes.index.filter(({ after }) => after !== undefined).map(({ path }) => path),
      ...this.packRefs(landing, moves),
      locks,
    });
    const moved = moves.filter(({ from, to }) => from !== to).length;
    return { changes: Math.max(moved, 1), data: { landing: transaction.id, digest } };
  }

  protected override follows(worktree: string): boolean {
    return isNested(worktree, this.parts);
  }

  /** Where each ref goes, HEAD last. */
  async #moves(
    transaction: Transaction,
    changes: RepositoryChanges,
    theirs: RepositoryState,
    identity: Identity,
  ): Promise<readonly RefMove[]> {
    const reconciled = await this.#reconcile(changes, theirs);
    const found = transaction.squash === true ? toSquash(reconciled, changes) : reconciled;
    const all = [...found.moves, ...(await this.#merged(transaction, changes.place, found, identity))];
    const refs = all.filter(({ ref }) => ref !== HEAD);
    const head = all.find(({ ref }) => ref === HEAD)?.to ?? theirs.head;
    const after = new Map(theirs.refs);
    for (const { ref, to } of refs) if (to !== undefined) after.set(ref, to);
    const [from, to] = [commitAt(theirs.refs, theirs.head), commitAt(after, head)];
    if (head === theirs.head && from === to) return refs;
    const commits = from === undefined || to === undefined ? {} : { commits: { from, to } };
    return [...refs, { ref: HEAD, from: theirs.head, to: head, ...commits }];
  }

  async #reconcile(changes: RepositoryChanges, theirs: RepositoryState): Promise<Reconciled> {
    const found = await reconcile(changes, theirs, (ancestor, commit) =>
      descends(this.parts, this.parts.onCheckout(), ancestor, commit),
    );
    if (found.conflicts.length > 0) throw new SandboxConflictError(found.conflicts);
    return found;
  }

  /** The branch with the commits of both, if both have made some. */
  async #merged(
    transaction: Transaction,
    place: RepositoryFolders,
    { merge }: Reconciled,
    identity: Identity,
  ): Promise<RefMove[]> {
    if (merge === undefined) return [];
    const { ref, from: base, to: mine, theirs } = merge;
    const context = this.parts.onCheckout();
    if (!(await descends(this.parts, context, base, mine)))
      throw theirs === base ? notToSquash(ref) : rewrittenInPlan(place, ref);
    const message = async (described: string) => transaction.message ?? described;
    const to = await mergeWork(this.parts, {
      record: { base, head: base, ref, bootId: "" },
      now: { commit: theirs, ref },
      work: { commit: mine, tree: await treeOf(this.parts, context, mine) },
      text: { identity, message },
      fastForward: true,
      squash: transaction.squash,
    });
    return [{ ref, from: theirs, to }];
  }

  /** Adds to each move what becomes of its log: the lines of the sandbox, if they fit, or one of ours. */
  #withLogs(moves: readonly RefMove[], changes: RepositoryChanges, logs: Logs): RefMove[] {
    const { base, isStashRewritten } = changes;
    const { repository, user, identity, isWanted } = logs;
    const logged = moves.map((move): RefMove => {
      const { ref, to } = move;
      if (to === undefined) return { ...move, log: withoutUndefined("before", user.log(ref)) };
      const made = repository.log(ref)?.slice(base.logs[ref] ?? 0) ?? "";
      const commits = commitsOf(move);
      const isFit = fits(made, commits);
      // The log of the stash is its list, from which an undo takes lines away.
      if (isFit && ref === STASH) return { ...move, log: stashLog(user, made) };
      if (isFit) return { ...move, log: { lines: made, isWanted: true } };
      const lines = logText(this.logLine(identity, commits, "drydock: land the work of a plan"));
      return { ...move, log: { lines, isWanted: isWanted && LOGGED.test(ref) } };
    });
    return isStashRewritten
      ? [stashMove(logged, changes, logs), ...logged.filter(({ ref }) => ref !== STASH)]
      : logged;
  }

  /**
   * Brings everything that refs, logs and the index will name into the user's repository. What belongs to no
   * single commit is kept together by a commit of ours until it has landed.
   */
  async #bring(
    moves: readonly RefMove[],
    changes: RepositoryChanges,
    repository: OpenRepository,
    identity: Identity,
  ): Promise<void> {
    const context = this.parts.onCheckout();
    const text = { identity, message: async (does: string) => does };
    const nested = await nestedObjects(this.parts, repository);
    const staged = await this.#stagedTree(changes);
    const types = await this.#typesOf(namesOfObjects([...objectsIn(moves), ...nested.objects]));
    const commits = await this.#tipsOf([...types].flatMap(([id, type]) => (type === "commit" ? [id] : [])));
    const others = [...types].flatMap(([id, type]) => (type === "commit" ? [] : [id]));
    for (const indexed of nested.trees)
      others.push(await commitTree(this.parts, context, { tree: indexed, parents: [], does: KEEPS }, text));
    const [first] = commits;
    const tree = staged ?? (first === undefined ? undefined : await treeOf(this.parts, context, first));
    const isWhole = commits.length === 1 && staged === undefined;
    const kept =
      isWhole || tree === undefined
        ? commits
        : [await commitTree(this.parts, context, { tree, parents: commits, does: KEEPS }, text)];
    const objects = [...kept, ...others];
    if (objects.length > 0) await bringObjects(this.parts, this.#means.refs, objects, this.#means.signal);
  }

  /** The tree of the index, if it is not that of the commit that is checked out. */
  async #stagedTree({ indexTree, now }: RepositoryChanges): Promise<string | undefined> {
    const commit = commitAt(now.refs, now.head);
    if (indexTree === undefined || commit === undefined) return indexTree;
    return (await treeOf(this.parts, this.parts.onCheckout(), commit)) === indexTree ? undefined : indexTree;
  }

  /** Those of these commits that are not in the history of another. */
  async #tipsOf(commits: readonly string[]): Promise<readonly string[]> {
    if (commits.length < 2) return commits;
    const { stdout } = await this.parts.git.look(this.parts.onCheckout(), [
      "merge-base",
      "--independent",
      ...commits.slice(0, MOST_TIPS),
    ]);
    return [...stdout.toString().trimEnd().split("\n"), ...commits.slice(MOST_TIPS)];
  }

  /** The types of objects. Refuses if one is missing. */
  async #typesOf(objects: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (objects.length === 0) return new Map();
    const { stdout } = await this.parts.git.look(
      this.parts.onCheckout(),
      ["cat-file", "--batch-check=%(objectname) %(objecttype)"],
      { input: Buffer.from(`${objects.join("\n")}\n`) },
    );
    const lines = stdout.toString().trimEnd().split("\n");
    const types = new Map(lines.map((line) => line.split(" ") as [string, string]));
    const missing = [...types].find(([, type]) => type === "missing")?.[0];
    if (missing === undefined) return types;
    throw new SandboxCommitError(`The repository in the sandbox lacks the object ${missing.slice(0, 12)}.`, {
      hint: "See what 'git fsck' says there.",
    });
  }

  /** Makes the index as it will be. Refuses if the user has staged changes of the same paths meanwhile. */
  async #changeIndex(gitDir: Folder, folder: Folder, { index }: RepositoryChanges): Promise<void> {
    copyIndex(gitDir, INDEX, folder, INDEX);
    if (index.length === 0) return;
    const path = folder.label(INDEX);
    const conflicts = await stagedConflicts(this.parts, this.parts.onCheckout(path), index);
    if (conflicts.length > 0) throw new SandboxConflictError(conflicts);
    await setEntries(this.parts, path, index);
  }
}

/** Where the logs of a landing come from, and whether new ones are wanted. */
interface Logs {
  readonly repository: OpenRepository;
  readonly user: OpenRepository;
  readonly identity: Identity;
  readonly isWanted: boolean;
}

/** Refs whose log git begins by itself. */
const LOGGED = /^(?:HEAD$|refs\/(?:heads|remotes|notes)\/)/;
const LOG_LINE = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^<]*<[^>]*> \d+ [+-]\d{4}(?:\t.*)?$/;

/** Whether lines of a log are whole, and lead from one commit to the other. */
function fits(lines: string, { from, to }: Pick<RefMove, "from" | "to">): boolean {
  const each = lines
    .trimEnd()
    .split("\n")
    .map((line) => LOG_LINE.exec(line));
  const isFrom = from === undefined ? /^0+$/.test(each[0]?.[1] ?? "") : each[0]?.[1] === from;
  return isFrom && each.at(-1)?.[2] === to && each.every((line) => line !== null) && lines.endsWith("\n");
}

function stashLog(user: OpenRepository, made: string): LogMove {
  const known = user.log(STASH);
  return { ...withoutUndefined("before", known), after: `${known ?? ""}${made}` };
}

/** The stash lists its changes by its log, so both are replaced together. */
function stashMove(
  moves: readonly RefMove[],
  { place, base: { stash, refs } }: RepositoryChanges,
  { repository, user }: Logs,
): RefMove {
  const [known, after] = [user.log(STASH), repository.log(STASH)];
  if (known !== stash)
    throw new SandboxConflictError([
      { path: pathIn(place, STASH), why: "stashes came or went in the original and in the plan" },
    ]);
  const value = refs.get(STASH);
  const same = value === undefined ? {} : { from: value, to: value };
  const move = moves.find(({ ref }) => ref === STASH) ?? { ref: STASH, ...same };
  return { ...move, log: { ...withoutUndefined("before", known), ...withoutUndefined("after", after) } };
}

function withoutUndefined<Key extends string>(
  key: Key,
  value: string | undefined,
): { [key in Key]?: string } {
  return (value === undefined ? {} : { [key]: value }) as { [key in Key]?: string };
}

/** The objects that refs and their logs will name. */
function objectsIn(moves: readonly RefMove[]): readonly string[] {
  return moves.flatMap(({ to, log }) => {
    const lines = log === undefined ? "" : "lines" in log ? log.lines : (log.after ?? "");
    return [to ?? "", ...lines.split("\n").map((line) => LOG_LINE.exec(line)?.[2] ?? "")];
  });
}

function namesOfObjects(named: readonly string[]): readonly string[] {
  return [...new Set(named)].filter((id) => /^[0-9a-f]+$/.test(id) && !/^0+$/.test(id));
}

function commitAt(refs: RepositoryState["refs"], head: string): string | undefined {
  const branch = targetOf(head);
  return branch === undefined ? head : refs.get(branch);
}

function distinct(moves: readonly Pick<RefMove, "ref" | "to">[]): Pick<RefMove, "ref" | "to">[] {
  return [...new Map(moves.map((move) => [move.ref, move])).values()];
}

/** The commits of the branch that is checked out become one, so they are merged even if no other is there. */
function toSquash(
  { moves, merge, conflicts }: Reconciled,
  { base, isSwitched }: RepositoryChanges,
): Reconciled {
  const branch = targetOf(base.head) ?? HEAD;
  if (isSwitched) throw notToSquash(branch);
  const move = moves.find(({ ref }) => ref === branch);
  if (merge !== undefined || move?.from === undefined || move.to === undefined)
    return { moves, conflicts, ...(merge && { merge }) };
  const { from, to } = move;
  return {
    conflicts,
    moves: moves.filter((other) => other !== move),
    merge: { ref: branch, from, to, theirs: from },
  };
}

function notToSquash(ref: string): SandboxCommitError {
  return new SandboxCommitError(
    `The plan did not only add commits to ${branchName(ref)}, so these can't become one.`,
    { hint: "Land them as they are." },
  );
}

function rewrittenInPlan(place: RepositoryFolders, ref: string): SandboxConflictError {
  const why = "commits were added in the original, and replaced in the plan";
  return new SandboxConflictError([{ path: pathIn(place, ref), why }]);
}
