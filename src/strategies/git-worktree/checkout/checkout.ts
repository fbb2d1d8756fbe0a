import { GitError, UnsupportedError } from "../../../core/errors/errors.ts";
import { displayPath, pathFromBytes } from "../../../core/paths/byte-path.ts";
import { isThere } from "../../../system/data/existence.ts";
import { realPathOf } from "../../../system/data/locations.ts";
import type { Git, GitContext } from "../../../system/process/git.ts";
import { bothSettled } from "../both-settled.ts";
import { type ConfigEntry, readConfig } from "../repository/repository-config.ts";

/**
 * A checkout of the user's: the paths of its files and its repository. Plain data, part of a sandbox's
 * reference.
 */
export interface Checkout {
  readonly root: string;
  /** The git directory of this checkout alone: HEAD, index. */
  readonly gitDir: string;
  /**
   * The git directory that all worktrees of the repository share: objects, refs. Equal to `gitDir`, unless
   * the checkout is a linked worktree.
   */
  readonly commonDir: string;
  readonly objectFormat: string;
}

/** The commit and branch that are checked out. */
export interface Head {
  readonly commit: string;
  /** The branch, `refs/heads/…`, or "HEAD" if none is checked out. */
  readonly ref: string;
}

/** Names in the git directory that exist during an operation, which the user has to finish first. */
const UNDER_WAY: { readonly [name: string]: string } = {
  MERGE_HEAD: "a merge",
  CHERRY_PICK_HEAD: "a cherry-pick",
  REVERT_HEAD: "a revert",
  "rebase-merge": "a rebase",
  "rebase-apply": "a rebase",
  sequencer: "a cherry-pick or revert",
};
const OLDEST_GIT = [2, 38] as const;

/** The context of git commands on a checkout. */
export function contextOfCheckout({ root, gitDir }: Checkout, index?: string): GitContext {
  return { gitDir, workTree: root, ...(index !== undefined && { index }) };
}

/** A checkout as `findCheckout` found it. */
export interface FoundCheckout {
  readonly checkout: Checkout;
  readonly head: Head;
  readonly config: readonly ConfigEntry[];
}

/**
 * Examines a folder that should be a checkout. Fails by `UnsupportedError` with the reason why git can't work
 * on it.
 */
export async function findCheckout(
  git: Git,
  root: string,
  { mayBeSparse = false }: { readonly mayBeSparse?: boolean } = {},
): Promise<FoundCheckout> {
  assertPlainPath(root);
  const [, around] = await bothSettled(gitVersion(git, root), lookAround(git, root));
  const [isInside, objectFormat = "", top = "", gitDir = "", commonDir = "", ...more] = around;
  if (isInside !== "true") throw refused(root, IN_GIT_DIRECTORY);
  if (more.length > 0) throw refused(root, "has a line break in its path, which git can't say");
  if (realPathOf(top) !== root)
    throw refused(root, `is not the top folder of a checkout; ${displayPath(top)} is`);
  const checkout = { root, gitDir: realDir(gitDir), commonDir: realDir(commonDir), objectFormat };
  const [config, head] = await bothSettled(readConfig(git, checkout), headOf(git, checkout));
  assertSuitable(checkout, config);
  if (!mayBeSparse && settingOf(config, "core.sparsecheckout") === "true")
    throw refused(root, "is a sparse checkout, of which git shows only a part");
  return { checkout, head, config };
}

const FACTS = ["--is-inside-work-tree", "--show-object-format"];
const PLACES = ["--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"];
const IN_GIT_DIRECTORY = "is inside a git directory";

/**
 * Asks everything in one command, because each process takes its time. A bare repository has no top folder,
 * and then a second question finds out why.
 */
async function lookAround(git: Git, root: string): Promise<string[]> {
  try {
    return await said(git, root, [...FACTS, ...PLACES]);
  } catch (thrown) {
    if (!(thrown instanceof GitError) || !thrown.said.includes("must be run in a work tree")) throw thrown;
    const [isBare] = await said(git, root, ["--is-bare-repository"]);
    throw refused(
      root,
      isBare === "true" ? "is a bare repository, without files that could be worked on" : IN_GIT_DIRECTORY,
    );
  }
}

/** The commit and branch that are checked out now. */
export async function headOf(git: Git, checkout: Checkout): Promise<Head> {
  try {
    const args = ["rev-parse", "HEAD^{commit}", "--symbolic-full-name", "HEAD"];
    const { stdout } = await git.look(contextOfCheckout(checkout), args);
    const [commit = "", ref = ""] = pathFromBytes(stdout).split("\n");
    return { commit, ref };
  } catch (thrown) {
    if (thrown instanceof GitError && /unknown revision/.test(thrown.said))
      throw refused(checkout.root, "has no commit yet");
    throw thrown;
  }
}

/** The name of a branch, for people. */
export function branchName(ref: string): string {
  return ref === "HEAD" ? "the checkout" : displayPath(ref.replace(/^refs\/heads\//, ""));
}

/** The operation that is under way in a repository and has to be finished first, such as "a merge". */
export function underWay(gitDir: string): string | undefined {
  const name = Object.keys(UNDER_WAY).find((candidate) => isThere(`${gitDir}/${candidate}`));
  return name === undefined ? undefined : UNDER_WAY[name];
}

function assertSuitable({ root, gitDir, commonDir }: Checkout, config: readonly ConfigEntry[]): void {
  const storage = settingOf(config, "extensions.refstorage");
  if (isThere(`${commonDir}/reftable`) || storage?.startsWith("reftable") === true)
    throw refused(root, "keeps its refs in a reftable, whose locks can't be held across a crash");
  if (config.some(({ key }) => key === "extensions.partialclone" || /^remote\..*\.promisor$/.test(key)))
    throw refused(root, "is a partial clone, whose objects are not all there");
  const busy = underWay(gitDir);
  if (busy !== undefined) throw refused(root, `is in the middle of ${busy}`);
}

function settingOf(config: readonly ConfigEntry[], key: string): string | undefined {
  return config.findLast((entry) => entry.key === key)?.value;
}

async function said(git: Git, root: string, args: readonly string[]): Promise<string[]> {
  try {
    const { stdout } = await git.discover(root, ["rev-parse", ...args]);
    return pathFromBytes(stdout).replace(/\n$/, "").split("\n");
  } catch (thrown) {
    if (!(thrown instanceof GitError)) throw thrown;
    if (thrown.said.includes("dubious ownership"))
      throw new UnsupportedError(
        `${displayPath(root)} is a repository of another user, which could run programs as you.`,
        {
          cause: thrown,
          hint: `If you trust it: git config --global --add safe.directory '${displayPath(root)}'`,
          code: "FOREIGN_REPOSITORY",
        },
      );
    if (thrown.said.includes("not a git repository")) throw refused(root, "is not a git repository");
    throw thrown;
  }
}

function realDir(path: string): string {
  return realPathOf(path) ?? path;
}

/** Node can't pass other bytes to a program. */
export function assertPlainPath(path: string): void {
  if (/^\P{Surrogate}*$/u.test(path)) return;
  throw refused(path, "has a path that is not UTF-8, which can't be given to git");
}

/** The version of git. Refuses one that is too old. */
export async function gitVersion(git: Git, folder: string): Promise<string> {
  const text = (await git.version(folder)).replace(/^git version /, "");
  const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(text) ?? []).slice(1).map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_GIT;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return text;
  throw new UnsupportedError(`git ${major}.${minor} is too old: it can't merge without a worktree.`, {
    hint: `Install git ${OLDEST_GIT.join(".")} or later.`,
  });
}

function refused(root: string, why: string): UnsupportedError {
  return new UnsupportedError(`${displayPath(root)} ${why}.`, {
    hint: "Use another strategy, such as overlay, which works on the files.",
    code: "UNSUITABLE_CHECKOUT",
  });
}
