import { constants } from "node:fs";
import { baseName, parentPath, pathFromBytes, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { type Failpoint, failpoint, passFailpoint } from "../failpoints.ts";
import { setTrueMode } from "./closed-entries.ts";
import { failedWith, isRenameUnknown, systemCallError, unlessFailed } from "./errno.ts";
import { type Facts, factsAt, forgetDevices, lastFacts, statInto } from "./facts.ts";
import { readNames } from "./listing.ts";
import {
  AT_EMPTY_PATH,
  AT_FDCWD,
  AT_REMOVEDIR,
  AT_SYMLINK_NOFOLLOW,
  calls,
  check,
  lastErrno,
  openBeneath,
  PinnedBuffer,
  pathPointer,
  RENAME_EXCHANGE,
  RENAME_NOREPLACE,
} from "./native.ts";
import { O_CLOEXEC, O_PATH, O_TMPFILE } from "./open-flags.ts";
import { type NewTimes, setTimesAt } from "./set-times.ts";
import { opensUp } from "./shown-modes.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const LONGEST_STEP = 1000;
/** The answers of file systems without hard links. */
const NO_LINKS = ["EPERM", "EOPNOTSUPP", "ENOTSUP", "ENOSYS", "EMLINK"];
const DROP_OLD = failpoint("move.drop-old");

/**
 * An open folder, and the operations on names directly in it. Drydock reaches every file this way: from an
 * open folder, one name at a time or beneath it, never through a link. So no process can redirect an
 * operation by swapping a folder for a link.
 *
 * Every method that changes something takes its failpoint first. `path` is only for messages.
 */
export class Folder {
  readonly fd: number;
  readonly path: string;
  #open = true;
  #isListed = false;

  constructor(fd: number, path: string) {
    this.fd = fd;
    this.path = path;
  }

  /**
   * Opens a folder by its absolute path. The last name must not be a link; the caller has resolved the ones
   * before.
   */
  static open(path: string): Folder {
    forgetDevices();
    const fd = allowed(AT_FDCWD, path, () =>
      calls.openat(AT_FDCWD, pathPointer(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0),
    );
    return new Folder(check(fd, "open", path), path);
  }

  /** Opens the folder at this path below, and refuses links and `..` on the way. */
  openBelow(path: string): Folder {
    if (path.length > LONGEST_STEP && path.includes("/")) return this.#openInSteps(path);
    const label = this.label(path);
    const fd = allowed(this.fd, path, () =>
      openBeneath(this.fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0),
    );
    return new Folder(check(fd, "open", label), label);
  }

  /** Like `openBelow`; undefined if the folder is gone, or a name on the way is no longer a folder. */
  openBelowIfThere(path: string): Folder | undefined {
    return unlessFailed(["ENOENT", "ENOTDIR", "ELOOP", "EXDEV"], () => this.openBelow(path));
  }

  /** The kernel accepts paths up to 4,096 bytes, but trees may be deeper. */
  #openInSteps(path: string): Folder {
    const cut = path.lastIndexOf("/", LONGEST_STEP);
    const end = cut > 0 ? cut : path.indexOf("/");
    using first = this.openBelow(path.slice(0, end));
    return first.openBelow(path.slice(end + 1));
  }

  /** Opens a folder directly in this one. */
  openChild(name: string): Folder {
    const fd = allowed(this.fd, name, () =>
      calls.openat(this.fd, pathPointer(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0),
    );
    return new Folder(check(fd, "open", this.label(name)), this.label(name));
  }

  /** Another handle on the same folder. */
  duplicate(): Folder {
    return this.openBelow(ROOT_PATH);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    calls.close(this.fd);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  label(name: string): string {
    return name === ROOT_PATH ? this.path : `${this.path}/${name}`;
  }

  /** The facts of a name directly in this folder, or undefined if there is nothing. */
  facts(name: string): Facts | undefined {
    return factsAt(this.fd, name, this.label(name));
  }

  /** The facts of the entry at this path below; undefined if it, or a folder on the way, is gone. */
  factsBelow(path: string): Facts | undefined {
    if (path === ROOT_PATH) return this.ownFacts();
    if (!path.includes("/")) return this.facts(path);
    using parent = this.openBelowIfThere(parentPath(path));
    return parent?.facts(baseName(path));
  }

  /** The facts of the folder itself. */
  ownFacts(): Facts {
    check(statInto(this.fd, pathPointer(""), AT_EMPTY_PATH), "stat", this.path);
    return lastFacts();
  }

  /** Call this before reading names: a listing continues where the last one through the same handle ended. */
  beginListing(): void {
    if (this.#isListed) check(calls.lseek(this.fd, 0, 0), "seek", this.path);
    this.#isListed = true;
  }

  /** The names in this folder, in the order the file system gives them. */
  names(): string[] {
    const names: string[] = [];
    readNames(this, (name) => names.push(name));
    return names;
  }

  /** Opens a file for reading. Does not follow a link, and never blocks on a fifo or device. */
  openFile(name: string): number {
    const flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    const fd = allowed(this.fd, name, () => calls.openat(this.fd, pathPointer(name), flags, 0));
    return check(fd, "open", this.label(name));
  }

  /** Opens a handle (O_PATH) that only names an entry, whatever its kind and permissions. */
  openHandle(name: string): number {
    const open = () => calls.openat(this.fd, pathPointer(name), O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
    return check(allowed(this.fd, undefined, open), "open", this.label(name));
  }

  readLink(name: string): string {
    const buffer = linkBuffer();
    const read = () => calls.readlinkat(this.fd, pathPointer(name), buffer.address, buffer.bytes.length);
    const length = allowed(this.fd, undefined, read);
    return pathFromBytes(buffer.bytes.subarray(0, check(length, "readlink", this.label(name))));
  }

  /** Whether this process may make and remove names here. */
  isWritable(): boolean {
    const W_OK_AND_X_OK = 3;
    const AT_EACCESS = 0x200;
    return calls.faccessat(this.fd, pathPointer(ROOT_PATH), W_OK_AND_X_OK, AT_EACCESS) === 0;
  }

  createFolder(point: Failpoint, name: string, mode: number): void {
    passFailpoint(point);
    this.#act("mkdir", name, () => calls.mkdirat(this.fd, pathPointer(name), mode));
  }

  /** Makes a folder with mode 0700 if it is missing, and opens it. */
  ensureFolder(point: Failpoint, name: string): Folder {
    unlessFailed(["EEXIST"], () => this.createFolder(point, name, 0o700));
    return this.openChild(name);
  }

  /** Creates a new file; fails if the name exists. Returns its descriptor, for writing. */
  createFile(point: Failpoint, name: string, mode: number): number {
    passFailpoint(point);
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    return this.#act("create", name, () => calls.openat(this.fd, pathPointer(name), flags, mode));
  }

  /** Creates a file without a name. Closing it removes it, unless `nameFile` named it. */
  createNameless(point: Failpoint, mode = 0o600): number {
    passFailpoint(point);
    return check(
      calls.openat(this.fd, pathPointer(ROOT_PATH), constants.O_RDWR | O_TMPFILE | O_CLOEXEC, mode),
      "create",
      this.path,
    );
  }

  /** Names a file that has no name. Fails if the name exists. */
  nameFile(point: Failpoint, fd: number, name: string): void {
    passFailpoint(point);
    const AT_SYMLINK_FOLLOW = 0x400;
    const result = calls.linkat(
      AT_FDCWD,
      pathPointer(`/proc/self/fd/${fd}`, 1),
      this.fd,
      pathPointer(name),
      AT_SYMLINK_FOLLOW,
    );
    check(result, "link", this.label(name));
  }

  /** Opens a file to overwrite it from the start. It keeps its mode, owner and other names. */
  openToOverwrite(point: Failpoint, name: string): number {
    passFailpoint(point);
    const flags = constants.O_WRONLY | constants.O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    return check(calls.openat(this.fd, pathPointer(name), flags, 0), "open", this.label(name));
  }

  createLink(point: Failpoint, name: string, target: string): void {
    passFailpoint(point);
    this.#act("symlink", name, () => calls.symlinkat(pathPointer(target, 1), this.fd, pathPointer(name)));
  }

  /** Makes a fifo, socket or device node like the one these facts describe. */
  createNode(point: Failpoint, name: string, like: Facts): void {
    passFailpoint(point);
    const type = { fifo: 0o010000, socket: 0o140000, device: 0o020000, "block-device": 0o060000 }[
      like.kind as "fifo"
    ];
    const [major = 0, minor = 0] = like.rdev.split(":").map(Number);
    check(
      calls.mknodat(this.fd, pathPointer(name), type | like.mode, deviceNumber(major, minor)),
      "mknod",
      this.label(name),
    );
  }

  /** Makes a whiteout, a device of number zero: it tells an overlay that the name does not exist. */
  createWhiteout(point: Failpoint, name: string): void {
    passFailpoint(point);
    const S_IFCHR = 0o020000;
    check(calls.mknodat(this.fd, pathPointer(name), S_IFCHR, 0), "mknod", this.label(name));
  }

  /** Gives a file of another folder a second name here. */
  createHardLink(point: Failpoint, name: string, from: Folder, existing: string): void {
    passFailpoint(point);
    const link = () => calls.linkat(from.fd, pathPointer(existing, 1), this.fd, pathPointer(name), 0);
    this.#act("link", name, () => allowed(from.fd, undefined, link));
  }

  removeFile(point: Failpoint, name: string): void {
    passFailpoint(point);
    this.#act("unlink", name, () => calls.unlinkat(this.fd, pathPointer(name), 0));
  }

  removeFolder(point: Failpoint, name: string): void {
    passFailpoint(point);
    this.#act("rmdir", name, () => calls.unlinkat(this.fd, pathPointer(name), AT_REMOVEDIR));
  }

  /**
   * Moves a name; fails if the new name exists. Where the file system has no such rename, a file gets its new
   * name as a link, and then loses the old one: a crash in between leaves both. A folder is renamed after a
   * look, which could replace nothing but an empty folder.
   */
  move(point: Failpoint, name: string, to: Folder, toName: string): void {
    try {
      this.#rename(point, name, to, toName, RENAME_NOREPLACE);
    } catch (thrown) {
      if (!isRenameUnknown(thrown)) throw thrown;
      const isLinked = this.facts(name)?.kind !== "directory" && this.#linkTo(point, name, to, toName);
      if (isLinked) this.removeFile(DROP_OLD, name);
      else this.#moveAfterLook(point, name, to, toName);
    }
  }

  /** Whether the file has the other name now. */
  #linkTo(point: Failpoint, name: string, to: Folder, toName: string): boolean {
    return unlessFailed(NO_LINKS, () => [to.createHardLink(point, toName, this, name)]) !== undefined;
  }

  #moveAfterLook(point: Failpoint, name: string, to: Folder, toName: string): void {
    const EEXIST = 17;
    const taken = () => systemCallError(EEXIST, "rename", to.label(toName));
    if (to.facts(toName) !== undefined) throw taken();
    try {
      this.replace(point, name, to, toName);
    } catch (thrown) {
      throw failedWith(thrown, "ENOTEMPTY", "ENOTDIR", "EISDIR") ? taken() : thrown;
    }
  }

  /**
   * Moves a name over another, atomically. That destroys the file with the other name, so use it only for
   * files that Drydock may destroy.
   */
  replace(point: Failpoint, name: string, to: Folder, toName: string): void {
    this.#rename(point, name, to, toName, 0);
  }

  /** Swaps two names, atomically. */
  exchange(point: Failpoint, name: string, other: Folder, otherName: string): void {
    this.#rename(point, name, other, otherName, RENAME_EXCHANGE);
  }

  /** Like `replace`, by an exchange if the file system can: then the other file has the old name now. */
  replaceByExchange(point: Failpoint, name: string, to: Folder, toName: string): boolean {
    try {
      this.exchange(point, name, to, toName);
      return true;
    } catch (thrown) {
      if (!isRenameUnknown(thrown)) throw thrown;
      this.replace(point, name, to, toName);
      return false;
    }
  }

  #rename(point: Failpoint, name: string, to: Folder, toName: string, flags: number): void {
    passFailpoint(point);
    const result = allowed(to.fd, undefined, () =>
      allowed(this.fd, undefined, () =>
        calls.renameat2(this.fd, pathPointer(name), to.fd, pathPointer(toName, 1), flags),
      ),
    );
    check(
      result,
      flags === RENAME_EXCHANGE ? "exchange" : "rename",
      `${this.label(name)} to ${to.label(toName)}`,
    );
  }

  setMode(point: Failpoint, name: string, mode: number): void {
    passFailpoint(point);
    // chmod through an O_PATH handle, because fchmodat follows links on kernels before 6.6.
    const handle = this.openHandle(name);
    try {
      if (setTrueMode(handle, mode)) return;
      check(calls.chmod(pathPointer(`/proc/self/fd/${handle}`), mode), "chmod", this.label(name));
    } finally {
      calls.close(handle);
    }
  }

  setOwner(point: Failpoint, name: string, uid: number, gid: number): void {
    passFailpoint(point);
    const own = () => calls.fchownat(this.fd, pathPointer(name), uid, gid, AT_SYMLINK_NOFOLLOW);
    this.#act("chown", name, own);
  }

  /** Sets both times. An undefined one stays unchanged. */
  setTimes(point: Failpoint, name: string, times: NewTimes): void {
    passFailpoint(point);
    this.#act("utimensat", name, () => setTimesAt(this.fd, name, times));
  }

  /** Makes a call on a name in this folder. Opens a closed entry for it if the call is refused. */
  #act(what: string, name: string, call: () => number): number {
    return check(allowed(this.fd, undefined, call), what, this.label(name));
  }
}

const EACCES = 13;

/** Makes a call. If it is refused and the closed entry can be opened (closed-entries.ts), makes it again. */
function allowed(folder: number, name: string | undefined, call: () => number): number {
  for (;;) {
    const result = call();
    if (result >= 0 || lastErrno() !== EACCES) return result;
    // The search for a closed entry has overwritten errno, so the call is made again for its errno.
    if (!opensUp(folder, name)) return call();
  }
}

function deviceNumber(major: number, minor: number): number {
  // The C library's makedev: 12 bits of major and 8 of minor low, the rest above. No device exceeds 2^53.
  return (minor & 0xff) + ((major & 0xfff) << 8) + (minor & ~0xff) * 0x1000;
}

let sharedLinkBuffer: PinnedBuffer | undefined;

function linkBuffer(): PinnedBuffer {
  sharedLinkBuffer ??= new PinnedBuffer(8192);
  return sharedLinkBuffer;
}
