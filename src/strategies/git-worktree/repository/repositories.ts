import { bytesFromPath, parentPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { readWhole, writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { Git } from "../../../system/process/git.ts";
import { type Checkout, contextOfCheckout } from "../checkout/checkout.ts";
import { DOT_GIT, REPOSITORY, WORKTREE } from "../layout.ts";
import { type ConfigEntry, configText, takenOver } from "./repository-config.ts";

/**
 * Makes the two repositories of a sandbox (layout.ts) by writing the few files that a repository consists of.
 */
const POINTS = { folder: failpoint("git.create-folder"), file: failpoint("git.write-file") };

/** Programs find copies of these refs in the worktree, under the same names. */
const COPIED_REFS = ["refs/heads", "refs/tags", "refs/remotes"];

/** The branch that programs in the worktree are on. */
export function workBranch(planId: string): string {
  return `refs/heads/drydock/${planId}`;
}

/**
 * Makes our own repository, or brings its files up to date. `programs` is the folder with the objects that
 * programs made, if there is one.
 */
export function makeOwnRepository(
  workspace: Folder,
  checkout: Checkout,
  config: readonly ConfigEntry[],
  { head, programs }: { readonly head: string; readonly programs?: string },
): void {
  using repository = workspace.ensureFolder(POINTS.folder, REPOSITORY);
  const theirs = `${checkout.commonDir}/objects`;
  fill(repository, {
    config: configText([...foundation(checkout), ...settingsFor(checkout, config)]),
    "objects/info/alternates": alternates(programs === undefined ? [theirs] : [theirs, programs]),
    "refs/heads/": "",
    HEAD: `${head}\n`,
  });
  copyShared(checkout, repository);
}

/**
 * Makes the folder for the objects of programs: git warns about a missing folder of borrowed objects. Returns
 * its path.
 */
export function makeObjectsFolder(workspace: Folder): string {
  const path = `${WORKTREE}/${DOT_GIT}/objects`;
  put(workspace, `${path}/`, Buffer.alloc(0));
  return workspace.label(path);
}

/** Makes the repository that programs find in the worktree, on the plan's branch at this commit. */
export function makeWorkRepository(
  workspace: Folder,
  checkout: Checkout,
  config: readonly ConfigEntry[],
  { branch, commit, refs }: { readonly branch: string; readonly commit: string; readonly refs: Uint8Array },
): void {
  using worktree = workspace.ensureFolder(POINTS.folder, WORKTREE);
  worktree.setMode(POINTS.folder, ROOT_PATH, 0o777 & ~process.umask());
  using repository = worktree.ensureFolder(POINTS.folder, DOT_GIT);
  const logging = { key: "core.logallrefupdates", value: "true" };
  fill(repository, {
    config: configText([...foundation(checkout), logging, ...settingsFor(checkout, config)]),
    "objects/info/alternates": alternates([`${checkout.commonDir}/objects`]),
    "objects/pack/": "",
    "hooks/": "",
    "packed-refs": refs,
    [branch]: `${commit}\n`,
    HEAD: `ref: ${branch}\n`,
  });
  copyShared(checkout, repository);
}

/** The repository that checkpoints are stored in. */
export const SAVES = "saves";

/** Makes it, unless it exists. Its attributes override all others, so that every byte is stored as it is. */
export function makeSavesRepository(workspace: Folder, checkout: Checkout): void {
  using repository = workspace.ensureFolder(POINTS.folder, SAVES);
  if (repository.facts("HEAD") !== undefined) return;
  const exactly = [
    { key: "core.autocrlf", value: "false" },
    { key: "core.safecrlf", value: "false" },
    { key: "core.symlinks", value: "true" },
    { key: "core.filemode", value: "true" },
    { key: "core.ignorecase", value: "false" },
    { key: "core.precomposeunicode", value: "false" },
    { key: "core.protecthfs", value: "false" },
    { key: "core.protectntfs", value: "false" },
  ];
  fill(repository, {
    config: configText([...foundation(checkout), ...exactly]),
    "info/attributes": "* -text -ident !eol !filter !working-tree-encoding\n",
    "objects/info/alternates": alternates([`${checkout.commonDir}/objects`]),
    "refs/heads/": "",
    HEAD: "ref: refs/heads/none\n",
  });
}

function foundation({ objectFormat }: Checkout): ConfigEntry[] {
  const isDefault = objectFormat === "sha1";
  return [
    { key: "core.repositoryformatversion", value: isDefault ? "0" : "1" },
    { key: "core.bare", value: "false" },
    ...(isDefault ? [] : [{ key: "extensions.objectformat", value: objectFormat }]),
  ];
}

/**
 * Large files that a filter keeps outside of git live in the user's repository, and new ones go there too.
 */
function settingsFor(checkout: Checkout, config: readonly ConfigEntry[]): ConfigEntry[] {
  const taken = takenOver(config);
  const usesLfs = taken.some(({ key }) => key.startsWith("filter.lfs."));
  const hasStorage = taken.some(({ key }) => key === "lfs.storage");
  return [
    ...taken,
    ...(usesLfs && !hasStorage ? [{ key: "lfs.storage", value: `${checkout.commonDir}/lfs` }] : []),
  ];
}

/**
 * The user's branches, tags and remote branches as a file of packed refs, without `refs/heads/drydock`, which
 * our branch needs as a folder.
 */
export async function copiedRefs(git: Git, checkout: Checkout): Promise<Buffer> {
  const format = "--format=%(objectname) %(refname)";
  const { stdout } = await git.look(contextOfCheckout(checkout), [
    "for-each-ref",
    "--sort=refname",
    format,
    ...COPIED_REFS,
  ]);
  const lines = stdout
    .toString("latin1")
    .split("\n")
    .filter((line) => line !== "" && !line.endsWith(" refs/heads/drydock"));
  return Buffer.from(["# pack-refs with: sorted ", ...lines, ""].join("\n"), "latin1");
}

/** Copies the rules for ignored files, the attributes, and the limits of a shallow history. */
function copyShared({ commonDir }: Checkout, repository: Folder): void {
  using common = Folder.open(commonDir);
  using info = common.openBelowIfThere("info");
  for (const name of ["exclude", "attributes"]) {
    const bytes = info === undefined ? undefined : readWhole(info, name);
    if (bytes !== undefined) put(repository, `info/${name}`, bytes);
  }
  const shallow = readWhole(common, "shallow");
  if (shallow !== undefined) put(repository, "shallow", shallow);
}

/** One line for each folder of objects, quoted, because a path may hold any byte. */
function alternates(paths: readonly string[]): string {
  const quoted = paths.map((path) => `"${path.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"`);
  return `${quoted.join("\n")}\n`;
}

/** Makes files. A name that ends in a slash is a folder. */
function fill(folder: Folder, files: { readonly [path: string]: string | Uint8Array }): void {
  for (const [path, content] of Object.entries(files))
    put(folder, path, typeof content === "string" ? bytesFromPath(content) : content);
}

function put(folder: Folder, path: string, bytes: Uint8Array): void {
  const isFolder = path.endsWith("/");
  const parent = isFolder ? path.slice(0, -1) : parentPath(path);
  if (parent !== ROOT_PATH) makeFolders(folder, parent);
  if (isFolder) return;
  using into = folder.openBelow(parent);
  writeWhole(POINTS.file, into, path.slice(path.lastIndexOf("/") + 1), bytes);
}

function makeFolders(folder: Folder, path: string): void {
  let at = folder.duplicate();
  for (const name of path.split("/")) {
    using parent = at;
    at = parent.ensureFolder(POINTS.folder, name);
  }
  at.close();
}
