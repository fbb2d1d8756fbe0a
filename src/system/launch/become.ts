import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { calls, check, cString, PinnedBuffer } from "../calls/native.ts";
import { launchCalls } from "./calls.ts";

const F_SETFD = 2;
const LAST_SIGNAL = 31;
const SIGKILL = 9;
const SIGSTOP = 19;
const SIG_DFL = 0;
const RLIMIT_NOFILE = 7;
const CLOSE_RANGE_CLOEXEC = 4;
const ALL = 0xffff_ffff;

/** A program, with arguments and variables of any bytes. */
export interface Becoming {
  readonly file: string;
  readonly args: readonly string[];
  /** Each as NAME=VALUE. */
  readonly environment: readonly string[];
  readonly cwd: string;
  /** The descriptors that it gets besides 0, 1 and 2. */
  readonly descriptors: readonly number[];
}

/** Replaces this process by a program. Returns only by throwing. */
export function become({ file, args, environment, cwd, descriptors }: Becoming): never {
  check(launchCalls.chdir(cString(cwd)), "chdir", cwd);
  // The program would inherit the signals that Node ignores, such as SIGPIPE.
  for (let signal = 1; signal <= LAST_SIGNAL; signal += 1)
    if (signal !== SIGKILL && signal !== SIGSTOP) launchCalls.signal(signal, SIG_DFL);
  check(launchCalls.closeRange(3, ALL, CLOSE_RANGE_CLOEXEC), "close_range", file);
  for (const fd of [0, 1, 2, ...descriptors]) calls.fcntl(fd, F_SETFD, 0);
  const words = [file, ...args];
  check(launchCalls.execve(cString(file), pointers(words), pointers(environment)), "exec", file);
  throw new Error("execve returned");
}

/** Restores the limit of open files, which Node raises for itself. */
export function limitOpenFiles(most: number): void {
  const limits = Buffer.alloc(16);
  check(launchCalls.getrlimit(RLIMIT_NOFILE, limits), "getrlimit", "this process");
  const hard = limits.readBigUInt64LE(8);
  limits.writeBigUInt64LE(BigInt(most) < hard ? BigInt(most) : hard, 0);
  check(launchCalls.setrlimit(RLIMIT_NOFILE, limits), "setrlimit", "this process");
}

/** A list of addresses of pinned words, ending with zero. */
function pointers(words: readonly string[]): Buffer {
  const pinned = words.map((word) => {
    const bytes = bytesFromPath(word);
    const buffer = new PinnedBuffer(bytes.length + 1);
    bytes.copy(buffer.bytes);
    buffer.bytes[bytes.length] = 0;
    return buffer;
  });
  const list = new PinnedBuffer((pinned.length + 1) * 8);
  list.bytes.fill(0);
  pinned.forEach(({ address }, index) => {
    list.bytes.writeBigUInt64LE(BigInt(address), index * 8);
  });
  keptUntilExec.push(...pinned, list);
  return list.bytes;
}

/** The collector must not free a buffer to which only an address refers. */
const keptUntilExec: PinnedBuffer[] = [];
