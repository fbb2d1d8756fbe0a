import { constants } from "node:fs";
import { failedWith, unlessFailed } from "../calls/errno.ts";
import { kindOfOpen } from "../calls/facts.ts";
import { Folder } from "../calls/folder.ts";
import { calls, check, cString } from "../calls/native.ts";
import { O_CLOEXEC, O_PATH } from "../calls/open-flags.ts";
import { launchCalls, OPENAT2 } from "./calls.ts";
import { fillMemory, listenIn, type MemoryEntry } from "./memory-entries.ts";
import { attachMount, copyMount, type MountFlags, newMount, setMountFlags } from "./new-mount.ts";

const AT_FDCWD = -100;
/** What is shown, or is to be covered, has just been unmounted or removed. */
export const GONE: readonly string[] = ["ENOENT", "ENOTDIR", "ESTALE", "ENOTCONN"];
export const GONE_OR_BEHIND_A_LINK: readonly string[] = [...GONE, "ELOOP"];
const MOST_TRIES = 10;
/** Reads as an empty file. */
const EMPTY_FILE = "/dev/null";
const RESOLVE_NO_MAGICLINKS = 0x02;
const RESOLVE_NO_SYMLINKS = 0x04;
const RESOLVE_IN_ROOT = 0x10;
const CLONE_NEWNS = 0x20000;
const CLONE_FS = 0x200;
const MS_REC_PRIVATE = 0x4000 | (1 << 18);
const MNT_DETACH = 2;
/** Its number depends on the processor. */
const PIVOT_ROOT = process.arch === "arm64" ? 41 : 155;

/**
 * Gives this process its own mount namespace. Only the calling thread moves, and execve keeps only that
 * thread.
 */
export function ownMounts(): void {
  check(launchCalls.unshare(CLONE_NEWNS), "unshare", "/");
  // New mounts must not appear on the host, nor the host's here.
  check(calls.mount(null, cString("/"), null, MS_REC_PRIVATE, null), "mount", "/");
}

/** Joins the mount namespace of another process. */
export function joinMounts(pid: number): void {
  const path = `/proc/${pid}/ns/mnt`;
  const fd = check(launchCalls.open(cString(path), O_CLOEXEC, 0), "open", path);
  // The kernel refuses a thread that shares its root and working folder.
  check(launchCalls.unshare(CLONE_FS), "unshare", path);
  check(launchCalls.setns(fd, CLONE_NEWNS), "setns", path);
  calls.close(fd);
}

/**
 * The root that a command sees, while it is being built.
 *
 * Every path in it is resolved from one descriptor of its top, beneath that and through no link (openat2),
 * and mounted on by descriptor. A leftover of an earlier command in a layer can make a mount fail, but never
 * redirect it.
 */
export class ViewRoot {
  readonly #top: number;

  private constructor(top: number) {
    this.#top = top;
  }

  /** A new root that shows the current "/", with or without the mounts in it. */
  static of(withMounts: boolean, flags: MountFlags): ViewRoot {
    const slash = check(launchCalls.open(cString("/"), O_PATH | O_CLOEXEC, 0), "open", "/");
    const top = copyMount(slash, "/", withMounts);
    setMountFlags(top, flags, "/", withMounts);
    // Before Linux 6.15 nothing can be mounted on a detached mount. So it is attached to "/" at once, where
    // no path of this process leads to it.
    attachMount(top, slash, "/");
    calls.close(slash);
    return new ViewRoot(top);
  }

  /** Shows a path of the host. `from` is a path without links as this process sees it. */
  bind(from: string, at: string, flags: MountFlags): void {
    this.#copy(openPath(AT_FDCWD, from, O_PATH, from), at, flags);
  }

  /** Binds a path to itself: then it can't be moved or removed, and has its own flags. */
  bindToItself(at: string, flags: MountFlags): void {
    this.#copy(this.open(at), at, flags);
  }

  /** Shows a path of the host with everything that is mounted in it, without its being read-only. */
  bindWithMounts(path: string, flags: MountFlags): void {
    this.#copy(openPath(AT_FDCWD, path, O_PATH, path), path, flags, true);
  }

  #copy(source: number, at: string, flags: MountFlags, withMounts = false): void {
    try {
      const mount = copyMount(source, at, withMounts);
      setMountFlags(mount, flags, at, false);
      this.#hang(mount, at);
    } finally {
      calls.close(source);
    }
  }

  /** Mounts a file system of the kernel, such as `proc`. */
  system(
    type: string,
    at: string,
    settings: readonly (readonly [string, string])[],
    flags: MountFlags,
  ): void {
    this.#hang(newMount(type, settings, flags), at);
  }

  /** Shows exactly these entries, read-only. */
  memory(at: string, entries: readonly MemoryEntry[]): void {
    this.#hang(memoryMount(entries, at), at);
  }

  /**
   * Covers what is at a path, whatever it is: a folder with these entries, anything else with an empty
   * file. The entry is looked at and covered by one descriptor. Does nothing if nothing is there, or a link
   * on the way. Whatever else fails is thrown: what can't be covered must not be seen.
   */
  cover(at: string, entries: readonly MemoryEntry[]): void {
    for (let tries = 1; ; tries += 1) {
      const target = unlessFailed(GONE_OR_BEHIND_A_LINK, () => this.open(at));
      if (target === undefined) return;
      try {
        const isFolder = kindOfOpen(target, at) === "directory";
        const mount = isFolder ? memoryMount(entries, at) : emptyFileMount(at);
        try {
          attachMount(mount, target, at);
          return;
        } finally {
          calls.close(mount);
        }
      } catch (thrown) {
        // Another process has just put another entry there.
        if (tries === MOST_TRIES || !failedWith(thrown, "ENOENT", "ESTALE")) throw thrown;
      } finally {
        calls.close(target);
      }
    }
  }

  /** Shows a folder with nothing but a socket in it, read-only. Returns the descriptor that listens there. */
  socket(at: string, name: string): number {
    const mount = newMount("tmpfs", [["mode", "0755"]], { noSetid: true, noDevices: true, noPrograms: true });
    const listener = listenIn(mount, name, at);
    setMountFlags(mount, { readOnly: true }, at, false);
    this.#hang(mount, at);
    return listener;
  }

  /** A handle on a path of the new root. A link on the way is an error. */
  open(at: string): number {
    return this.openFile(at, O_PATH);
  }

  openFile(at: string, flags: number): number {
    return openPath(this.#top, at, flags, at);
  }

  /** A folder of the new root; undefined if it is missing. */
  folderIfThere(at: string): Folder | undefined {
    try {
      return new Folder(this.openFile(at, O_PATH | constants.O_DIRECTORY), at);
    } catch (thrown) {
      if (failedWith(thrown, "ENOENT", "ENOTDIR", "ELOOP")) return undefined;
      throw thrown;
    }
  }

  /** Makes this the root of this process. Unmounts the old root with everything in it. */
  enter(): void {
    const here = cString(".");
    check(launchCalls.fchdir(this.#top), "chdir", "/");
    check(launchCalls.pivotRoot(PIVOT_ROOT, here, here), "pivot_root", "/");
    check(calls.umount2(here, MNT_DETACH), "unmount", "/");
    check(launchCalls.chdir(cString("/")), "chdir", "/");
    calls.close(this.#top);
  }

  #hang(mount: number, at: string): void {
    const target = this.open(at);
    attachMount(mount, target, at);
    calls.close(target);
    calls.close(mount);
  }
}

function memoryMount(entries: readonly MemoryEntry[], at: string): number {
  const mount = newMount("tmpfs", [["mode", "0755"]], { noSetid: true });
  fillMemory(mount, entries, at);
  setMountFlags(mount, { readOnly: true }, at, false);
  return mount;
}

function emptyFileMount(at: string): number {
  const source = openPath(AT_FDCWD, EMPTY_FILE, O_PATH, EMPTY_FILE);
  const mount = copyMount(source, at, false);
  calls.close(source);
  setMountFlags(mount, { readOnly: true }, at, false);
  return mount;
}

/**
 * Opens a folder by a path that a program gave, through links as the program would, and as a handle (O_PATH).
 * `not-of-proc` refuses links that the kernel follows as those of the calling process.
 */
export function openAsAsked(start: number, path: string, links: "any" | "not-of-proc"): Folder {
  const how = openHow(O_PATH | constants.O_DIRECTORY, links === "any" ? 0 : RESOLVE_NO_MAGICLINKS);
  const fd = launchCalls.openat2(OPENAT2, start, cString(path), how, how.length);
  return new Folder(check(fd, "open", path), path);
}

/** Opens a path through no link: beneath a folder, or with AT_FDCWD as this process sees it. */
export function openPath(folder: number, path: string, flags: number, label: string): number {
  // Without "in root", an absolute path starts at the root of this process.
  const inRoot = folder === AT_FDCWD ? 0 : RESOLVE_IN_ROOT;
  const how = openHow(flags, inRoot | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
  return check(launchCalls.openat2(OPENAT2, folder, cString(path), how, how.length), "open", label);
}

/** struct open_how: flags, mode, how to resolve names. */
function openHow(flags: number, resolve: number): Buffer {
  const how = Buffer.alloc(24);
  how.writeBigUInt64LE(BigInt(flags | O_CLOEXEC), 0);
  how.writeBigUInt64LE(BigInt(resolve), 16);
  return how;
}
