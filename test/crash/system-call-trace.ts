/**
 * Reads a trace by strace (-f -y) of a program that also writes its failpoints (DRYDOCK_FAILPOINT_TRACE), and
 * finds changing system calls that no failpoint precedes. Each failpoint covers one call. What SQLite does to
 * its own files counts as one step of the last failpoint of the store; a call that failed changed nothing;
 * what another thread does (a flush) is not looked at.
 */
export const CHANGING_CALLS = [
  ..."rename renameat renameat2 unlink unlinkat rmdir mkdir mkdirat link linkat symlink symlinkat mknod mknodat".split(
    " ",
  ),
  ..."open openat openat2 creat truncate ftruncate fallocate copy_file_range sendfile ioctl".split(" "),
  ..."write pwrite64 writev pwritev pwritev2 fsync fdatasync syncfs".split(" "),
  ..."utime utimes utimensat futimesat chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat".split(
    " ",
  ),
  ..."setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr".split(" "),
];

export interface TraceOptions {
  /** The file that the failpoints are written to. */
  readonly failpointFile: string;
  /** The name of the store's database, without a folder. */
  readonly database: string;
}

interface Call {
  readonly name: string;
  readonly args: string;
}

/**
 * getxattrat and listxattrat, as a strace names them that is older than they are. What it does not know it
 * shows whatever it was asked for.
 */
const ONLY_READING = new Set(["syscall_0x1d0", "syscall_0x1d1"]);
const STORE_POINT = /^store\./;
/** What only SQLite does covers nothing else. */
const SQLITE_POINT = /^store\.(?:open|migrate|write|written|claim|release|close)$/;
const FLUSH_POINT = /\.flush-/;
/** Streams, pipes, event descriptors and what the kernel only shows as files. */
const NOT_FILES = /^\d+<(?:pipe:|socket:|anon_inode:|UNIX|TCP|\/dev\/|\/proc\/)/;

/** The changing calls that no failpoint covers, one line each, with the failpoint that was passed last. */
export function uncoveredCalls(trace: string, options: TraceOptions): string[] {
  const found: string[] = [];
  let last = "none";
  let isCovered = false;
  for (const call of callsOfFirstThread(trace)) {
    const passed = passedFailpoint(call, options.failpointFile);
    if (passed !== undefined) {
      last = passed;
      isCovered = !SQLITE_POINT.test(passed);
    } else if (isChange(call, options.failpointFile)) {
      const isStore = call.args.includes(options.database);
      const isFine = isStore ? STORE_POINT.test(last) : isCovered || isFlush(call, last);
      if (!isFine) found.push(`${call.name}(${call.args} after failpoint ${last}`);
      if (!isStore) isCovered = false;
    }
  }
  return found;
}

/** A flush is one step, of the whole file system or, where others have much to write, of each entry. */
function isFlush({ name }: Call, last: string): boolean {
  return name === "fsync" && FLUSH_POINT.test(last);
}

/** The failpoints that are in the trace. */
export function tracedFailpoints(trace: string, failpointFile: string): string[] {
  return callsOfFirstThread(trace).flatMap((call) => passedFailpoint(call, failpointFile) ?? []);
}

/**
 * Whole calls of the main thread that succeeded. A call that others interrupted in the trace is put together
 * again.
 */
function callsOfFirstThread(trace: string): Call[] {
  const lines = trace.split("\n");
  const main = /^\d+/.exec(lines[0] ?? "")?.[0] ?? "";
  const calls: Call[] = [];
  let begun = "";
  for (const line of lines) {
    if (!line.startsWith(`${main} `)) continue;
    const text = line.slice(main.length).trim();
    const unfinished = /^(.*) <unfinished \.\.\.>$/.exec(text);
    if (unfinished !== null) {
      begun = unfinished[1] ?? "";
      continue;
    }
    const whole = text.replace(/^<\.\.\. \w+ resumed>/, () => begun);
    const match = /^(?<name>\w+)\((?<args>.*)\) += (?<result>-?\w+)/.exec(whole);
    const { name, args, result } = match?.groups ?? {};
    if (name !== undefined && args !== undefined && result !== "-1") calls.push({ name, args });
  }
  return calls;
}

function passedFailpoint({ name, args }: Call, file: string): string | undefined {
  if (name !== "write" || !args.includes(`<${file}>`)) return undefined;
  return /"failpoint (?<point>[a-z0-9.-]+)\\n"/.exec(args)?.groups?.["point"];
}

function isChange({ name, args }: Call, failpointFile: string): boolean {
  if (args.includes(failpointFile) || NOT_FILES.test(args) || ONLY_READING.has(name)) return false;
  if (name.startsWith("open")) return /O_CREAT|O_TRUNC/.test(args);
  if (name === "ioctl") return /FICLONE|BTRFS_IOC_(?:SNAP_|SUBVOL_SETFLAGS)/.test(args);
  return true;
}
