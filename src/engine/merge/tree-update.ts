import type { Conflict } from "../../core/errors/errors.ts";
import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import type { UpdateReport } from "../../core/values/merge.ts";
import type { Git } from "../../system/process/git.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import { isUnchanged, type OriginalEntry, originalEntry } from "../base/original-entry.ts";
import type { OpenSandbox } from "../sandbox/sandbox-reference.ts";
import type { SandboxTree } from "../sandbox/sandbox-tree.ts";
import { readFileBelow } from "../sandbox/writing.ts";
import { isBinary } from "../show/text-diff.ts";
import { type Metadata, metadataOf, setMetadata } from "../tree/metadata.ts";
import { readEntry } from "../tree/open-parent.ts";
import type { BaseContents } from "./base-contents.ts";
import { type ConflictingEntry, conflictingEntries } from "./conflicting-entries.ts";
import { joinFolders } from "./folder-join.ts";
import type { MergeRecord } from "./merge-record.ts";
import { type MergedMetadata, mergeMetadata } from "./metadata-merge.ts";
import { hasMarkers, mergeText } from "./text-merge.ts";

/**
 * Brings into a sandbox what another writer changed at the paths that the plan changes too. Every file is
 * merged on its own:
 *
 * | the plan          | the original                   | the sandbox gets                                   |
 * |-------------------|--------------------------------|----------------------------------------------------|
 * | modifies a text   | other lines changed            | both changes                                       |
 * |                   | the same lines changed         | both versions of these lines, between markers      |
 * | adds a text       | another text is there now      | the same, with an empty file as the base           |
 * | modifies a text   | mode, owner or attributes      | its own text, and the other writer's metadata      |
 * | mode or attributes| a text changed                 | the other writer's text, and its own metadata      |
 * | both              | the same part of the metadata  | nothing: it is named as unmerged                   |
 * | makes a folder    | another folder came there      | one folder with what is in both (folder-join.ts)   |
 * | anything else     | changed, gone or of other kind | nothing: it is named as unmerged                   |
 *
 * A merged path has the original's present entry as its base, so that it lands. The caller has made a
 * checkpoint, to which a failure or a crash leads back. Order: folders come first; then all files are
 * written, and their base moves once, so a base never says more than its file has.
 */
export interface MergeTools {
  readonly git: Git;
  /** Larger files are not merged. */
  readonly mostBytes: number;
  readonly record: MergeRecord;
  readonly kept: BaseContents;
  /** The content of a file when the sandbox began; undefined if it was not kept. */
  readonly baseContent: (path: string, base: BaseFacts) => Buffer | undefined;
}

type Merging = OpenSandbox<SandboxTree>;

/** How one path was merged. */
interface MergedPath {
  readonly theirs: OriginalEntry;
  readonly how: "merged" | "marked" | "theirs";
}

const TRIES_WHILE_CHANGING = 3;

export async function updateTree(sandbox: Merging, tools: MergeTools): Promise<UpdateReport> {
  const folders = await joinFolders(sandbox, tools.record);
  const done: MergedPath[] = [];
  const unmerged: Conflict[] = [];
  for (const entry of conflictingEntries(sandbox)) {
    const result = await mergeEntry(sandbox, entry, tools);
    if (typeof result === "string") unmerged.push({ path: entry.path, why: result });
    else done.push(result);
  }
  const pathsOf = (...how: MergedPath["how"][]) =>
    done.filter((item) => how.includes(item.how)).map(({ theirs }) => theirs.path);
  const marked = pathsOf("marked");
  if (done.length > 0) {
    tools.record.note(marked);
    const base = await sandbox.tree.base();
    base.adopt(
      sandbox.original,
      done.filter(({ how }) => how !== "theirs").map(({ theirs }) => theirs),
    );
    base.takeOriginals(sandbox.original, pathsOf("theirs"));
  }
  return { merged: [...folders, ...pathsOf("merged", "theirs")], marked, unmerged };
}

/** Merges one path in the sandbox, or says why it can't. */
async function mergeEntry(
  sandbox: Merging,
  entry: ConflictingEntry,
  tools: MergeTools,
): Promise<MergedPath | string> {
  const { path, before } = entry;
  if (entry.isBelow) return entry.why;
  if (entry.operation === "delete") return `${entry.why}, and the plan deletes it`;
  const theirs = readTheirs(sandbox, path, tools.mostBytes);
  if (typeof theirs === "string") return theirs;
  const why = whyNot(entry, theirs.entry);
  if (why !== undefined) return why;
  const base = before === undefined ? NOTHING : tools.baseContent(path, before);
  if (base === undefined) return `${entry.why}, and its earlier content was not kept`;
  const ours = sandbox.tree.read(sandbox.original, sandbox.own, path);
  if (ours.length > tools.mostBytes) return TOO_LARGE;
  if ([base, ours, theirs.bytes].some(isBinary)) return `${entry.why}, and it is binary`;
  if (hasMarkers(ours)) return "it still has the conflict markers of an update";
  const metadata = metadataFor(sandbox, path, before && tools.kept.factsOf(path, before), theirs.entry);
  if ("clash" in metadata) return `its ${metadata.clash} changed in the original too`;
  const { bytes, isMarked } = await mergeText(tools.git, sandbox.workspace, {
    ours,
    base,
    theirs: theirs.bytes,
  });
  if (!isMarked && bytes.equals(theirs.bytes) && isTheirs(metadata.wanted, theirs.entry))
    return { theirs: theirs.entry, how: "theirs" };
  if (isMarked) tools.record.keepOurs(path, ours);
  putMerged(sandbox, path, bytes, metadata);
  return { theirs: theirs.entry, how: isMarked ? "marked" : "merged" };
}

const NOTHING = Buffer.alloc(0);
const TOO_LARGE = "it is too large to be merged";

/** The other writer's version, read at one instant; or why it can't be merged. */
function readTheirs(
  { original }: Merging,
  path: string,
  mostBytes: number,
): { readonly entry: OriginalEntry; readonly bytes: Buffer } | string {
  for (let tries = 0; tries < TRIES_WHILE_CHANGING; tries += 1) {
    const entry = originalEntry(original, path);
    if (entry.there === undefined) return "deleted in the original";
    const { kind, size } = entry.there.facts;
    if (kind !== "file") return `the original has a ${kind === "directory" ? "folder" : kind} there`;
    if (size > mostBytes) return TOO_LARGE;
    const bytes = readFileBelow(original, path);
    if (isUnchanged(original, entry)) return { entry, bytes };
  }
  return "it is being changed in the original just now";
}

function whyNot({ before, kind, names, why }: ConflictingEntry, { there }: OriginalEntry) {
  if (kind !== "file" || (before !== undefined && before.kind !== "file"))
    return `${why}, and it is not a file on both sides`;
  if (names > 1 || (before?.nlink ?? 1) > 1 || (there?.facts.nlink ?? 1) > 1)
    return `${why}, and it has several names`;
  return undefined;
}

function metadataFor(
  sandbox: Merging,
  path: string,
  before: BaseFacts | undefined,
  { there }: OriginalEntry,
): MergedMetadata {
  const ours = metadataIn(sandbox, path);
  const theirs = there === undefined ? undefined : { ...there.facts, xattrs: there.xattrs };
  return mergeMetadata(before, ours, theirs ?? ours);
}

function metadataIn({ own }: Merging, path: string): Metadata {
  const found = readEntry(own, path, metadataOf);
  if (found === undefined) throw new Error(`${path} is not in the sandbox's own tree.`);
  return found;
}

function isTheirs(wanted: Metadata, { there }: OriginalEntry): boolean {
  if (there === undefined) return false;
  const isOwner =
    process.geteuid?.() !== 0 || (wanted.uid === there.facts.uid && wanted.gid === there.facts.gid);
  return (
    isOwner &&
    wanted.mode === there.facts.mode &&
    JSON.stringify(wanted.xattrs) === JSON.stringify(there.xattrs)
  );
}

function putMerged(
  { tree, original, own }: Merging,
  path: string,
  bytes: Buffer,
  { wanted, parts }: Extract<MergedMetadata, { readonly wanted: Metadata }>,
): void {
  tree.write(original, own, path, bytes);
  if (parts.length === 0) return;
  using parent = own.openBelow(parentPath(path));
  setMetadata({ folder: parent, name: baseName(path) }, wanted, parts, false);
}
