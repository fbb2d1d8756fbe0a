import { constants } from "node:fs";
import { failedWith } from "../calls/errno.ts";
import { Folder } from "../calls/folder.ts";
import { calls, check, cString } from "../calls/native.ts";
import { O_CLOEXEC, O_PATH } from "../calls/open-flags.ts";
import { launchCalls, OPENAT2 } from "./calls.ts";
import { fillMemory, type MemoryEntry } from "./memory-entries.ts";
import { attachMount, copyMount, type MountFlags, newMount, setMountFlags } from "./new-mount.ts";

const AT_FDCWD = -100;
const RESOLVE_NO_MAGICLINKS = 0x02;
const RESOLVE_NO_SYMLINKS = 0x04;
const RESOLVE_IN_ROOT = 0x10;
const CLONE_NEWNS = 0x20000;
const CLONE_FS = 0x200;
const MS_REC_PRIVATE = 0x4000 | (1 << 18);
const MNT_DETACH = 2;
/** This one has a number of its own on each processor. */
const PIVOT_ROOT = process.arch === "arm64" ? 41 : 155;

/**
 * Gives this process mounts of its own. Of a program with threads only the calling one moves, and execve
 * keeps just that one.
 */
export function ownMounts(): void {
  check(launchCalls.unshare(CLONE_NEWNS), "unshare", "/");
  // What is mounted from here on must not appear on the host, nor what the host mounts here.
  check(calls.mount(null, cString("/"), null, MS_REC_PRIVATE, null), "mount", "/");
}

/** Moves this process to the mounts of another one. */
export function joinMounts(pid: number): void {
  const path = `/proc/${pid}/ns/mnt`;
  const fd = check(launchCalls.open(cString(path), O_CLOEXEC, 0), "open", path);
  // A thread that shares its root and working folder with others can't be moved.
  check(launchCalls.unshare(CLONE_FS), "unshare", path);
  check(launchCalls.setns(fd, CLONE_NEWNS), "setns", path);
  calls.close(fd);
}

/**
 * The root that a command sees, while it is put together.
 *
 * Every place in it is found from one descriptor of its top, beneath that and through no link (openat2), and
 * is mounted on by descriptor. What an earlier command left in a layer can keep something from being mounted,
 * but never have it mounted somewhere else.
 */
export class ViewRoot {
  readonly #top: number;

  private constructor(top: number) {
    this.#top = top;
  }

  /** A new root that shows what "/" shows now, with or without what is mounted in it. */
  static of(withMounts: boolean, flags: MountFlags): ViewRoot {
    const slash = check(launchCalls.open(cString("/"), O_PATH | O_CLOEXEC, 0), "open", "/");
    const top = copyMount(slash, "/", withMounts);
    setMountFlags(top, flags, "/", withMounts);
    // Nothing can be mounted on what hangs nowhere before Linux 6.15, so it hangs on "/" at once, where no
    // path of this process leads to it.
    attachMount(top, slash, "/");
    calls.close(slash);
    return new ViewRoot(top);
  }

  /** Shows something of the host. `from` is a path without links as this process sees it. */
  bind(from: string, at: string, flags: MountFlags): void {
    this.#copy(openPath(AT_FDCWD, from, O_PATH, from), at, flags);
  }

  /**
   * Mounts what is there once more in its own place: it can't be moved or removed then, and has flags of its
   * own.
   */
  bindToItself(at: string, flags: MountFlags): void {
    this.#copy(this.open(at), at, flags);
  }

  #copy(source: number, at: string, flags: MountFlags): void {
    try {
      const mount = copyMount(source, at, false);
      setMountFlags(mount, flags, at, false);
      this.#hang(mount, at);
    } finally {
      calls.close(source);
    }
  }

  /** Mounts a file system of the kernel's own, such as `proc`. */
  system(
    type: string,
    at: string,
    settings: readonly (readonly [string, string])[],
    flags: MountFlags,
  ): void {
    this.#hang(newMount(type, settings, flags), at);
  }

  /** Shows these entries, which nobody can change, and nothing else. */
  memory(at: string, entries: readonly MemoryEntry[]): void {
    const mount = newMount("tmpfs", [["mode", "0755"]], { noSetid: true });
    fillMemory(mount, entries, at);
    setMountFlags(mount, { readOnly: true }, at, false);
    this.#hang(mount, at);
  }

  /** A handle on what is at a path of the new root. A link on the way is an error. */
  open(at: string): number {
    return this.openFile(at, O_PATH);
  }

  openFile(at: string, flags: number): number {
    return openPath(this.#top, at, flags, at);
  }

  /** A folder of the new root; undefined if it is not there. */
  folderIfThere(at: string): Folder | undefined {
    try {
      return new Folder(this.openFile(at, O_PATH | constants.O_DIRECTORY), at);
    } catch (thrown) {
      if (failedWith(thrown, "ENOENT", "ENOTDIR", "ELOOP")) return undefined;
      throw thrown;
    }
  }

  /** Makes this the root of this process. The root before it goes, with all that is mounted in it. */
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

function openPath(folder: number, path: string, flags: number, label: string): number {
  // struct open_how: flags, mode, how names are resolved. Without "in root", an absolute path starts at the
  // root of this process.
  const how = Buffer.alloc(24);
  const inRoot = folder === AT_FDCWD ? 0 : RESOLVE_IN_ROOT;
  how.writeBigUInt64LE(BigInt(flags | O_CLOEXEC), 0);
  how.writeBigUInt64LE(BigInt(inRoot | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS), 16);
  return check(launchCalls.openat2(OPENAT2, folder, cString(path), how, how.length), "open", label);
}
