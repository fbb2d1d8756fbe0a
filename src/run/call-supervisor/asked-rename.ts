import { baseName, parentPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { type Facts, factsAt } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { AT_FDCWD, RENAME_NOREPLACE } from "../../system/calls/native.ts";
import type { CallNotice, CallNotices } from "../../system/launch/call-notices.ts";
import { numberOf } from "../../system/launch/seccomp-filter.ts";
import { openAsAsked } from "../../system/launch/view-root.ts";

/** A path as a program gave it: relative to a folder of its own, or from its root. */
interface AskedPath {
  /** The program's descriptor, or AT_FDCWD. */
  readonly folder: number;
  readonly path: string;
}

/** What a program asked for, as it was in its memory at one moment. Nothing is read from there again. */
export interface AskedRename {
  readonly from: AskedPath;
  readonly to: AskedPath;
  /** Whether an entry at the new name is an error. */
  readonly mayReplace: boolean;
}

/** A name in an open folder. */
export interface OpenName {
  readonly folder: Folder;
  readonly name: string;
}

/**
 * The rename of a folder that a program asks for; undefined for anything else. This is the fast path: one
 * look at the program's memory and one at the entry.
 */
export function askedFolder(notices: CallNotices, notice: CallNotice): AskedRename | undefined {
  const { number, args } = notice;
  const [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n] = args;
  const isShort = number === numberOf("rename");
  const flags = number === numberOf("renameat2") ? Number(e & 0xffff_ffffn) : 0;
  // An exchange of two folders can't be put together from smaller steps.
  if ((flags & ~RENAME_NOREPLACE) !== 0) return undefined;
  const from = pathAt(notices, notice, isShort ? BigInt(AT_FDCWD) : a, isShort ? a : b);
  if (from === undefined || !isFolder(notice, from)) return undefined;
  const to = pathAt(notices, notice, isShort ? BigInt(AT_FDCWD) : c, isShort ? b : d);
  return to && { from, to, mayReplace: flags === 0 };
}

function pathAt(
  notices: CallNotices,
  notice: CallNotice,
  folder: bigint,
  address: bigint,
): AskedPath | undefined {
  const bytes = notices.readPath(notice, address);
  if (bytes === undefined || bytes.length === 0) return undefined;
  return { folder: Number(BigInt.asIntN(32, folder)), path: pathFromBytes(bytes) };
}

/** Only a guess, by which most calls are let go: what is done later looks again. */
function isFolder({ thread }: CallNotice, { folder, path }: AskedPath): boolean {
  const start = path.startsWith("/") ? `/proc/${thread}/root` : `${startOf(thread, folder)}/`;
  return factsAt(AT_FDCWD, start + path, path)?.kind === "directory";
}

function startOf(thread: number, folder: number): string {
  return folder === AT_FDCWD ? `/proc/${thread}/cwd` : `/proc/${thread}/fd/${folder}`;
}

/**
 * Both names, in folders that are open. Names are resolved as the kernel would for the program, in its view
 * and with its rights, but through no link of /proc: such a link would be followed as ours. Undefined if the
 * program has another root than its view, or a name is none that can be moved.
 */
export function openNames(
  { thread }: CallNotice,
  { from, to }: AskedRename,
  opened: DisposableStack,
): { readonly from: OpenName; readonly to: OpenName } | undefined {
  const root = opened.use(openAsAsked(AT_FDCWD, `/proc/${thread}/root`, "any"));
  const own = opened.use(openAsAsked(AT_FDCWD, "/", "any"));
  if (!isSame(root.ownFacts(), own.ownFacts())) return undefined;
  const [source, target] = [from, to].map(({ folder, path }): OpenName | undefined => {
    const bare = path.replace(/\/+$/, "");
    const name = baseName(bare);
    if (name === "" || name === "." || name === "..") return undefined;
    const isFromRoot = path.startsWith("/");
    const start = isFromRoot ? root : opened.use(openAsAsked(AT_FDCWD, startOf(thread, folder), "any"));
    return { folder: opened.use(openAsAsked(start.fd, parentPath(bare), "not-of-proc")), name };
  });
  return source && target && { from: source, to: target };
}

function isSame(one: Facts, other: Facts): boolean {
  return one.ino === other.ino && one.mountId === other.mountId;
}
