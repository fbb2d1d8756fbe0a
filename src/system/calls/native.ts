import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import type koffi from "koffi";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { systemCallError } from "./errno.ts";

/**
 * The system calls that Node lacks, through koffi, and nothing more: numbers and pointers in, numbers out,
 * errors thrown.
 *
 * Calls are synchronous: one costs 0.3 µs more than the system call itself, an asynchronous one 22 µs or
 * more. Only calls that may block for long (syncfs, umount) are asynchronous. Pointers are plain numbers into
 * buffers that live as long as the process, which spares koffi a check of each argument.
 */
export const AT_FDCWD = -100;
export const AT_SYMLINK_NOFOLLOW = 0x100;
export const AT_REMOVEDIR = 0x200;
export const AT_EMPTY_PATH = 0x1000;
export const RENAME_NOREPLACE = 1;
export const RENAME_EXCHANGE = 2;
const RESOLVE_NO_MAGICLINKS = 0x02;
const RESOLVE_NO_SYMLINKS = 0x04;
const RESOLVE_BENEATH = 0x08;
const SYS_OPENAT2 = 437;

type Call = (...args: readonly (number | Buffer | null)[]) => number;

interface Native {
  readonly koffi: typeof koffi;
  readonly function: (prototype: string) => NativeFunction;
}

type NativeFunction = Call & { readonly async: (...args: readonly unknown[]) => void };

let loaded: Native | undefined;

/** Loads koffi on first use, so that only commands that need it pay for it. */
function native(): Native {
  if (loaded === undefined) {
    const library = loadKoffi();
    const program = library.load(null);
    loaded = {
      koffi: library,
      function: (prototype) => program.func(prototype) as unknown as NativeFunction,
    };
  }
  return loaded;
}

/**
 * koffi reads Node's executable to choose its binary, which takes 15 to 40 ms. Usually the right one is that
 * for this processor and glibc, which loads in 1 ms. If that does not load, koffi chooses.
 */
function loadKoffi(): typeof koffi {
  const module: { exports: unknown } = { exports: {} };
  try {
    const binary = `@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`;
    process.dlopen(module, `${packagesWithKoffi()}/${binary}`);
    return module.exports as typeof koffi;
  } catch {
    return createRequire(import.meta.url)("koffi") as typeof koffi;
  }
}

/** The nearest folder of packages with koffi in it: what Node would find, but Node takes 2 ms to look. */
function packagesWithKoffi(): string {
  const here = import.meta.dirname;
  for (let folder = here; folder !== "/"; folder = dirname(folder))
    if (existsSync(`${folder}/node_modules/koffi/package.json`))
      return dirname(realpathSync(`${folder}/node_modules/koffi`));
  throw new Error(`There is no koffi above ${here}.`);
}

/**
 * Ends the process, if koffi is loaded. Node would end its threads, V8 and OpenSSL first, piece by piece,
 * which takes a tenth of a bare start.
 */
export function leaveAtOnce(code: number): void {
  loaded?.function("void _exit(int code)")(code);
}

/** Binds a C function on its first use. */
function lazy(prototype: string): Call {
  let bound: Call | undefined;
  return (...args) => {
    bound ??= native().function(prototype);
    return bound(...args);
  };
}

/**
 * Binds each of many C functions on its first use. The bound function replaces its lazy one, so later calls
 * are direct.
 */
export function lazyCalls<Name extends string>(
  prototypes: { readonly [name in Name]: string },
): { readonly [name in Name]: Call } {
  const bound = {} as { [name in Name]: Call };
  const names = Object.keys(prototypes) as Name[];
  for (const name of names) {
    bound[name] = (...args) => {
      const call = native().function(prototypes[name]);
      bound[name] = call;
      return call(...args);
    };
  }
  binders.set(bound, () => {
    for (const name of names) bound[name] = native().function(prototypes[name]);
  });
  return bound;
}

const binders = new WeakMap<object, () => void>();

/** Binds all of them now, for a process that has time now and none later. */
export function bindAll(bound: object): void {
  binders.get(bound)?.();
}

/** A buffer that never moves and is never freed, with its address. */
export class PinnedBuffer {
  readonly bytes: Buffer;
  readonly address: number;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafeSlow(size);
    this.address = Number(native().koffi.address(this.bytes));
  }
}

/** The 32-bit words of a pinned buffer. */
export function wordsOf(buffer: PinnedBuffer): Uint32Array {
  return new Uint32Array(buffer.bytes.buffer, buffer.bytes.byteOffset, buffer.bytes.length >> 2);
}

/** Throws the error of errno if the call failed. */
export function check(result: number, call: string, path: string): number {
  if (result < 0) throw systemCallError(native().koffi.errno(), call, path);
  return result;
}

/** The errno of the last call. */
export function lastErrno(): number {
  return native().koffi.errno();
}

const PATH_BYTES = 8192;
let pathBuffers: readonly [PinnedBuffer, PinnedBuffer] | undefined;

/** Copies a path to where a call can read it. `slot` 0 and 1 are for calls with two paths. */
export function pathPointer(path: string, slot: 0 | 1 = 0): number {
  pathBuffers ??= [new PinnedBuffer(PATH_BYTES), new PinnedBuffer(PATH_BYTES)];
  const target = pathBuffers[slot];
  if (!writeAscii(path, target.bytes)) writeAnyPath(path, target.bytes);
  return target.address;
}

/** Runs an action that uses path buffers while a caller still needs a path in them, and restores them. */
export function keepingPaths<T>(action: () => T): T {
  const kept = pathBuffers?.map(({ bytes }) => Buffer.from(bytes));
  try {
    return action();
  } finally {
    for (const [slot, bytes] of kept?.entries() ?? []) pathBuffers?.[slot]?.bytes.set(bytes);
  }
}

/**
 * Most paths are short and ASCII; copying those byte by byte takes a tenth of the time of encoding them.
 * Returns false for other paths.
 */
function writeAscii(path: string, target: Buffer): boolean {
  const { length } = path;
  if (length >= PATH_BYTES) return false;
  for (let at = 0; at < length; at += 1) {
    const code = path.charCodeAt(at);
    if (code === 0 || code > 0x7f) return false;
    target[at] = code;
  }
  target[length] = 0;
  return true;
}

function writeAnyPath(path: string, target: Buffer): void {
  const bytes = bytesFromPath(path);
  if (bytes.length >= PATH_BYTES || bytes.includes(0))
    throw systemCallError(bytes.includes(0) ? 22 : 36, "open", path.slice(0, 80));
  bytes.copy(target);
  target[bytes.length] = 0;
}

const openat2Call = lazy("long syscall(long number, int folder, uintptr_t path, uintptr_t how, size_t size)");
let openHow: { readonly address: number; readonly words: Uint32Array } | undefined;

/**
 * Opens a path below a folder: no `..` that leads out, no absolute path, no symbolic link anywhere, the last
 * name included. Returns the descriptor, or -1 with errno.
 */
export function openBeneath(folder: number, path: string, flags: number, mode: number): number {
  openHow ??= newOpenHow();
  // struct open_how: three 64-bit numbers, of which we need the lower halves.
  openHow.words[0] = flags;
  openHow.words[2] = mode;
  return openat2Call(SYS_OPENAT2, folder, pathPointer(path), openHow.address, 24);
}

function newOpenHow(): { readonly address: number; readonly words: Uint32Array } {
  const buffer = new PinnedBuffer(24);
  const words = wordsOf(buffer).fill(0);
  words[4] = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return { address: buffer.address, words };
}

export const calls = lazyCalls({
  openat: "int openat(int folder, uintptr_t path, int flags, int mode)",
  close: "int close(int fd)",
  statx: "int statx(int folder, uintptr_t path, int flags, uint32_t mask, uintptr_t out)",
  getdents64: "long getdents64(int fd, uintptr_t buffer, size_t size)",
  readlinkat: "long readlinkat(int folder, uintptr_t path, uintptr_t buffer, size_t size)",
  renameat2: "int renameat2(int from, uintptr_t name, int to, uintptr_t toName, uint32_t flags)",
  linkat: "int linkat(int from, uintptr_t name, int to, uintptr_t toName, int flags)",
  symlinkat: "int symlinkat(uintptr_t target, int folder, uintptr_t name)",
  mkdirat: "int mkdirat(int folder, uintptr_t name, uint32_t mode)",
  mknodat: "int mknodat(int folder, uintptr_t name, uint32_t mode, uint64_t device)",
  unlinkat: "int unlinkat(int folder, uintptr_t name, int flags)",
  faccessat: "int faccessat(int folder, uintptr_t name, int mode, int flags)",
  fchownat: "int fchownat(int folder, uintptr_t name, uint32_t uid, uint32_t gid, int flags)",
  chmod: "int chmod(uintptr_t path, uint32_t mode)",
  utimensat: "int utimensat(int folder, uintptr_t name, uintptr_t times, int flags)",
  llistxattr: "long llistxattr(uintptr_t path, uintptr_t list, size_t size)",
  flistxattr: "long flistxattr(int fd, uintptr_t list, size_t size)",
  lgetxattr: "long lgetxattr(uintptr_t path, uintptr_t name, uintptr_t value, size_t size)",
  listxattrat:
    "long syscall(long number, int folder, uintptr_t path, uint32_t flags, uintptr_t list, size_t size)",
  getxattrat:
    "long syscall(long number, int folder, uintptr_t path, uint32_t flags, uintptr_t name, uintptr_t arguments, size_t size)",
  lsetxattr: "int lsetxattr(uintptr_t path, uintptr_t name, void *value, size_t size, int flags)",
  fsetxattr: "int fsetxattr(int fd, uintptr_t name, void *value, size_t size, int flags)",
  lremovexattr: "int lremovexattr(uintptr_t path, uintptr_t name)",
  ioctlBuffer: "int ioctl(int fd, uint64_t request, void *argument)",
  ioctlNumber: "int ioctl(int fd, uint64_t request, int64_t value)",
  read: "long read(int fd, uintptr_t buffer, size_t size)",
  pread: "long pread(int fd, uintptr_t buffer, size_t size, int64_t offset)",
  write: "long write(int fd, uintptr_t buffer, size_t size)",
  copyFileRange:
    "long copy_file_range(int from, uintptr_t fromAt, int to, uintptr_t toAt, size_t size, uint32_t flags)",
  lseek: "int64_t lseek(int fd, int64_t offset, int whence)",
  ftruncate: "int ftruncate(int fd, int64_t size)",
  fallocate: "int fallocate(int fd, int mode, int64_t offset, int64_t size)",
  syncFileRange: "int sync_file_range(int fd, int64_t offset, int64_t size, uint32_t flags)",
  flock: "int flock(int fd, int operation)",
  fcntl: "int fcntl(int fd, int command, int64_t argument)",
  nameToHandleAt:
    "int name_to_handle_at(int folder, uintptr_t name, uintptr_t handle, uintptr_t mountId, int flags)",
  openByHandleAt: "int open_by_handle_at(int mount, uintptr_t handle, int flags)",
  fsopen: "long syscall(long number, const void *type, uint32_t flags)",
  fsconfig:
    "long syscall(long number, int fd, uint32_t command, const void *key, const void *value, int64_t extra)",
  fsmount: "long syscall(long number, int fd, uint32_t flags, uint32_t attributes)",
  moveMount:
    "long syscall(long number, int from, const void *name, int to, const void *toName, uint32_t flags)",
  mount:
    "int mount(const void *source, const void *target, const void *type, uint64_t flags, const void *data)",
  umount2: "int umount2(const void *target, int flags)",
});

/** Binds a C function that may block for long: it runs in a thread and does not hold up the process. */
function lazyBlocking(
  prototype: string,
  name: string,
): (label: string, ...args: readonly unknown[]) => Promise<void> {
  let bound: NativeFunction | undefined;
  return (label, ...args) =>
    new Promise((resolve, reject) => {
      bound ??= native().function(prototype);
      bound.async(...args, (error: Error | null, result: number) => {
        // errno is only valid here, inside the callback.
        if (error !== null) reject(error);
        else if (result < 0) reject(systemCallError(native().koffi.errno(), name, label));
        else resolve();
      });
    });
}

const syncfsCall = lazyBlocking("int syncfs(int fd)", "syncfs");
const umountCall = lazyBlocking("int umount2(const void *target, int flags)", "unmount");

/** Flushes a whole file system. */
export function syncfs(fd: number, label: string): Promise<void> {
  return syncfsCall(label, fd);
}

/** Unmounts a path, given as bytes that end with NUL and do not change meanwhile. */
export function umountBlocking(path: Buffer, flags: number, label: string): Promise<void> {
  return umountCall(label, path, flags);
}

const waitCall = lazyBlocking("int waitpid(int pid, void *status, int options)", "waitpid");

/** Waits for a child of ours that Node does not know. Resolves to its status, as in waitpid(2). */
export async function waitForChild(pid: number): Promise<number> {
  const status = Buffer.alloc(4);
  await waitCall(`process ${pid}`, pid, status, 0);
  return status.readInt32LE(0);
}

/** The bytes of a path or word, NUL-terminated for C. */
export function cString(text: string): Buffer {
  return Buffer.concat([bytesFromPath(text), Buffer.of(0)]);
}
