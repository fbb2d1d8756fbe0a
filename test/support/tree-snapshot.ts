import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { closeSync, constants, lstatSync, openSync, readdirSync, readlinkSync, readSync } from "node:fs";
import { bytesFromPath, joinPath, pathFromBytes, ROOT_PATH } from "../../src/core/paths/byte-path.ts";
import { Folder } from "../../src/system/calls/folder.ts";
import { calls } from "../../src/system/calls/native.ts";
import { readXattrs } from "../../src/system/calls/xattrs.ts";

/**
 * An exact picture of a tree, the root included: one line of text for each path, with everything that a user
 * could tell apart: kind, content, mode, owner, modification time to the nanosecond, extended attributes
 * (ACLs too), which names are one file, where the holes are, link targets, device numbers. Not in it: inode
 * numbers and change times, which nobody can keep.
 */
export type TreeSnapshot = ReadonlyMap<string, string>;

export interface SnapshotOptions {
  /** Paths that are left out, with all that is below them. */
  readonly ignore?: (path: string) => boolean;
}

/** Takes the picture. Paths are as in src/core/paths/byte-path.ts. */
export function snapshotTree(root: string, options: SnapshotOptions = {}): TreeSnapshot {
  const snapshot = new Map<string, string>();
  const firstNames = new Map<string, string>();
  const ignore = options.ignore ?? (() => false);
  using folder = Folder.open(root);
  snapshot.set(ROOT_PATH, describeEntry(root, ROOT_PATH, folder, ROOT_PATH, firstNames));
  visit(root, ROOT_PATH, folder);
  return snapshot;

  function visit(fullPath: string, path: string, parent: Folder): void {
    const names = readdirSync(bytesFromPath(fullPath), { encoding: "buffer" }).map(pathFromBytes).sort();
    for (const name of names) {
      const inner = joinPath(path, name);
      if (ignore(inner)) continue;
      const full = `${fullPath}/${name}`;
      snapshot.set(inner, describeEntry(full, inner, parent, name, firstNames));
      if (!lstatSync(bytesFromPath(full)).isDirectory()) continue;
      using child = parent.openChild(name);
      visit(full, inner, child);
    }
  }
}

/** What differs, as readable lines; empty if nothing does. */
export function treeDifferences(actual: TreeSnapshot, expected: TreeSnapshot): string[] {
  const lines: string[] = [];
  for (const [path, line] of expected) {
    const found = actual.get(path);
    if (found === undefined) lines.push(`missing: ${JSON.stringify(path)} (${line})`);
    else if (found !== line)
      lines.push(`differs: ${JSON.stringify(path)}\n    is     ${found}\n    should ${line}`);
  }
  for (const [path, line] of actual)
    if (!expected.has(path)) lines.push(`too much: ${JSON.stringify(path)} (${line})`);
  return lines;
}

export function assertSameTree(actual: TreeSnapshot, expected: TreeSnapshot, what: string): void {
  const differences = treeDifferences(actual, expected);
  assert.equal(differences.length, 0, `${what}:\n  ${differences.join("\n  ")}`);
}

function describeEntry(
  fullPath: string,
  path: string,
  parent: Folder,
  name: string,
  firstNames: Map<string, string>,
): string {
  const bytes = bytesFromPath(fullPath);
  const stats = lstatSync(bytes, { bigint: true });
  const parts = [
    kindOf(Number(stats.mode)),
    `mode=${(Number(stats.mode) & 0o7777).toString(8)}`,
    `owner=${stats.uid}:${stats.gid}`,
    `mtime=${stats.mtimeNs}`,
  ];
  if (stats.isFile()) parts.push(`size=${stats.size}`, describeContent(bytes, Number(stats.size)));
  if (stats.isSymbolicLink())
    parts.push(`to=${JSON.stringify(pathFromBytes(readlinkSync(bytes, "buffer")))}`);
  if (stats.isCharacterDevice() || stats.isBlockDevice()) parts.push(`device=${stats.rdev}`);
  if (!stats.isDirectory() && stats.nlink > 1n) {
    const identity = `${stats.dev}:${stats.ino}`;
    const first = firstNames.get(identity);
    if (first === undefined) firstNames.set(identity, path);
    else parts.push(`same-file-as=${JSON.stringify(first)}`);
  }
  const xattrs = readXattrs(parent, name);
  if (Object.keys(xattrs).length > 0) parts.push(`xattrs=${JSON.stringify(xattrs)}`);
  return parts.join(" ");
}

const KINDS: { readonly [type: number]: string } = {
  [constants.S_IFREG]: "file",
  [constants.S_IFDIR]: "folder",
  [constants.S_IFLNK]: "link",
  [constants.S_IFIFO]: "fifo",
  [constants.S_IFSOCK]: "socket",
  [constants.S_IFCHR]: "device",
  [constants.S_IFBLK]: "block-device",
};

function kindOf(mode: number): string {
  return KINDS[mode & constants.S_IFMT] ?? "unknown";
}

const SEEK_DATA = 3;
const SEEK_HOLE = 4;

/** The digest of the content and, where a large file has holes, where its data is. */
function describeContent(path: Buffer, size: number): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const hash = createHash("sha256");
    const buffer = Buffer.alloc(64 * 1024);
    for (let length = readSync(fd, buffer); length > 0; length = readSync(fd, buffer))
      hash.update(buffer.subarray(0, length));
    return `sha256=${hash.digest("hex").slice(0, 24)}${describeHoles(fd, size)}`;
  } finally {
    closeSync(fd);
  }
}

function describeHoles(fd: number, size: number): string {
  if (size < 64 * 1024) return "";
  const extents: string[] = [];
  for (let at = 0; at < size; ) {
    const data = calls.lseek(fd, at, SEEK_DATA);
    if (data < 0) break;
    const hole = Math.min(calls.lseek(fd, data, SEEK_HOLE), size);
    extents.push(`${data}-${hole}`);
    at = hole;
  }
  const isWhole = extents.length === 1 && extents[0] === `0-${size}`;
  return isWhole ? "" : ` data=${extents.join(",")}`;
}
