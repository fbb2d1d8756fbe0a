import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fastFolder } from "./fast-folder.ts";
import { TestRepository } from "./test-repository.ts";
import type { TreeSnapshot } from "./tree-snapshot.ts";

const SUBMODULE = "submodule";
const LOCAL = ["-c", "protocol.file.allow=always"];
/** For what is checked by processes of their own, though there is none of it. */
const NOTHING_DERIVED = ["-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false"];
const built = new Map<(root: string) => void, string>();
const knownSnapshots = new Map<string, { readonly facts: string; readonly snapshot: TreeSnapshot }>();

/**
 * A checkout in the middle of somebody's own work: dirty, staged, untracked, ignored and stashed things that
 * no plan may touch.
 */
export function buildRepository(root: string): void {
  copyBuilt(buildWithGit, root);
}

/** Made once for each process, and copied: that is one git instead of a dozen. */
function copyBuilt(build: (root: string) => void, root: string): void {
  let template = built.get(build);
  if (template === undefined) {
    const folder = mkdtempSync(join(fastFolder(), "drydock-repository-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    build(folder);
    built.set(build, folder);
    template = folder;
  }
  cpSync(template, root, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  // The index knows the files that it was made with; now it knows these.
  for (const path of checkoutsIn(root)) new TestRepository(path).git("status", "--porcelain");
}

/** The checkout, and its submodule if it has one. */
function checkoutsIn(root: string): readonly string[] {
  const submodule = join(root, SUBMODULE);
  return existsSync(submodule) ? [root, submodule] : [root];
}

function buildWithGit(root: string): void {
  const repository = new TestRepository(root);
  repository.git("init", "-q", "-b", "main");
  for (const name of [
    "same",
    "changes",
    "goes",
    "folder/changes",
    "folder/only/goes",
    "dirty",
    "staged",
    "becomes-link",
  ])
    write(root, name, `${name}\n`);
  symlinkSync("same", join(root, "link"));
  write(root, ".gitignore", "*.log\n");
  write(root, "script", "#!/bin/sh\n");
  repository.commitAll("begin");
  write(root, "stashed", "stashed\n");
  repository.git("add", "stashed");
  repository.git("stash", "push", "-q");
  write(root, "dirty", "dirty, of the user\n");
  write(root, "staged", "staged, of the user\n");
  repository.git("add", "staged");
  write(root, "untracked", "untracked, of the user\n");
  write(root, "ignored.log", "ignored, of the user\n");
}

/** What a plan does in it: some of it committed, as a program does, the last of it not. */
export function changeRepository(root: string): void {
  const repository = new TestRepository(root);
  write(root, "changes", "changed\n");
  rmSync(join(root, "goes"));
  rmSync(join(root, "folder/only"), { recursive: true });
  repository.git("add", "-A", "changes", "goes", "folder/only");
  repository.git("commit", "-q", "-m", "first", "--", "changes", "goes", "folder/only");
  write(root, "folder/changes", "changed\n");
  write(root, "new/deep/file", "new\n");
  rmSync(join(root, "link"));
  symlinkSync("changes", join(root, "link"));
  rmSync(join(root, "becomes-link"));
  symlinkSync("same", join(root, "becomes-link"));
  chmodSync(join(root, "script"), 0o755);
}

/** The same checkout, with a branch that has no file of its own, and with a submodule. */
export function buildInPlace(root: string): void {
  copyBuilt(buildMoreWithGit, root);
}

function buildMoreWithGit(root: string): void {
  buildWithGit(root);
  const repository = new TestRepository(root);
  repository.git(...LOCAL, "submodule", "--quiet", "add", root, SUBMODULE);
  repository.git("commit", "-q", "-m", "add a submodule", "--", ".gitmodules", SUBMODULE);
  repository.git("branch", "goes");
  repository.git("pack-refs", "--all");
}

/**
 * What a plan does in it at its own path: besides, a branch and a tag come, a branch goes, stashes come and
 * go, and there is a commit in the submodule.
 */
export function changeInPlace(root: string): void {
  changeRepository(root);
  const repository = new TestRepository(root);
  repository.git("branch", "-q", "-D", "goes");
  repository.git("branch", "deep/new");
  repository.git("tag", "-a", "-m", "tagged", "v1");
  write(root, "same", "stashed inside\n");
  repository.git("stash", "push", "-q", "--", "same");
  repository.git("stash", "drop", "-q", "stash@{1}");
  write(root, "other.log", "ignored, of the plan\n");
  write(root, `${SUBMODULE}/changes`, "changed\n");
  new TestRepository(join(root, SUBMODULE)).git("commit", "-q", "-a", "-m", "in the submodule");
}

/** The same as a user does it himself, in the checkout that it lands in. */
export function changeCheckout(root: string): void {
  changeRepository(root);
  const repository = new TestRepository(root);
  const paths = ["folder/changes", "new", "link", "becomes-link", "script"];
  repository.git("add", "-A", ...paths);
  repository.git("commit", "-q", "-m", "second", "--", ...paths);
}

/**
 * Everything of a checkout that a user relies on, but for the names of commits. Where nothing has changed
 * since it was last looked at, git is not asked again.
 */
export function snapshotRepository(root: string): TreeSnapshot {
  const before = factsBelow(root);
  const known = knownSnapshots.get(root);
  if (known?.facts === before) return known.snapshot;
  const snapshot = snapshotByGit(root);
  if (factsBelow(root) === before) knownSnapshots.set(root, { facts: before, snapshot });
  return snapshot;
}

/** What changes whenever anything below this folder does. */
function factsBelow(root: string): string {
  const names = readdirSync(root, { recursive: true, encoding: "utf8" }).sort();
  const facts = names.map((name) => {
    const { ino, mode, size, ctimeNs } = lstatSync(join(root, name), { bigint: true });
    return `${name} ${ino} ${mode} ${size} ${ctimeNs}`;
  });
  return facts.join("\n");
}

function snapshotByGit(root: string): TreeSnapshot {
  const repository = new TestRepository(root);
  const lines = new Map<string, string>();
  lines.set("trees", repository.git("rev-parse", "HEAD^{tree}", "stash^{tree}", "stash^2^{tree}"));
  lines.set("index", repository.git("ls-files", "--stage"));
  lines.set("status", repository.git("--no-optional-locks", "status", "--porcelain", "--ignored"));
  lines.set("fsck", repository.git(...NOTHING_DERIVED, "fsck", "--strict", "--no-dangling"));
  // With a star at the one that HEAD is on.
  const format = "--format=%(HEAD)%(refname) %(objecttype)";
  lines.set("stashes", repository.git("stash", "list").replace(/ [0-9a-f]{7,} /g, " ID "));
  lines.set("branches", repository.git("for-each-ref", format, "refs/heads", "refs/tags", "refs/remotes"));
  for (const name of [
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REBASE_HEAD",
    "ORIG_HEAD.lock",
    "HEAD.lock",
    "index.lock",
    "packed-refs.lock",
  ])
    lines.set(name, String(existsSync(join(root, ".git", name))));
  lines.set("locks", ["refs", "modules"].flatMap((folder) => locksIn(join(root, ".git", folder))).join());
  for (const path of checkoutsIn(root).slice(1)) {
    const submodule = new TestRepository(path);
    const facts = ["HEAD^{tree}", "--symbolic-full-name", "HEAD"];
    lines.set("tree of the submodule", submodule.git("rev-parse", ...facts));
    lines.set(
      "fsck of the submodule",
      submodule.git(...NOTHING_DERIVED, "fsck", "--strict", "--no-dangling"),
    );
  }
  for (const name of readdirSync(root, { recursive: true, encoding: "utf8" }).sort())
    if (name !== ".git" && !name.startsWith(".git/")) lines.set(name, entry(join(root, name)));
  return lines;
}

function locksIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.lock$|(?:^|\/)drydock-/.test(name));
}

function entry(path: string): string {
  const facts = lstatSync(path);
  if (facts.isDirectory()) return "folder";
  if (facts.isSymbolicLink()) return `link to ${readlinkSync(path)}`;
  return `${(facts.mode & 0o100) === 0 ? "file" : "program"}: ${readFileSync(path, "utf8")}`;
}

function write(root: string, name: string, text: string): void {
  mkdirSync(join(root, name, ".."), { recursive: true });
  writeFileSync(join(root, name), text);
}
