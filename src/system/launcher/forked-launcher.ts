import { closeSync, read, readdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { messageOf, SystemCallError } from "../../core/errors/errors.ts";
import { failedWith, unlessFailed } from "../calls/errno.ts";
import { bindAll, calls, check, cString, lazyCalls, waitForChild } from "../calls/native.ts";
import { launchCalls } from "../launch/calls.ts";
import { FORKING_FLAGS, forkWithHeap, leaveCopy } from "../launch/forked-process.ts";
import { readIfThere } from "../process/processes.ts";
import type { LauncherChild, LauncherDescriptors } from "./launcher-process.ts";

/**
 * A launcher that is a copy of this process, made while it has hardly begun: a second Node would start for 40
 * milliseconds of processor time, and the programs that make its namespaces for some more.
 *
 * The kernel makes the copy in its namespaces, as their first process. The copy leads its own session, has
 * only a launcher's descriptors, dies with us, runs the launcher's program, and so becomes the command.
 *
 * A copy runs JavaScript without an event loop, and ends by _exit. Nothing of a plan is in its memory: the
 * state directory has not been opened yet.
 */
const copying = lazyCalls({
  socketpair: "int socketpair(int family, int type, int protocol, void *pair)",
  shutdown: "int shutdown(int fd, int how)",
  clone: "long syscall(long number, uint64_t flags, uint64_t stack, uint64_t a, uint64_t b, uint64_t c)",
  signalMask: "int pthread_sigmask(int how, const void *set, void *old)",
});
const AF_UNIX = 1;
const SOCK_STREAM_CLOEXEC = 1 | 0o2000000;
const SHUT_RDWR = 2;
const SYS_CLONE = process.arch === "arm64" ? 220 : 56;
const CLONE_NEWIPC = 0x0800_0000;
const CLONE_NEWUSER = 0x1000_0000;
const CLONE_NEWPID = 0x2000_0000;
const SIG_SETMASK = 2;
const SIGNAL_SET_BYTES = 128;
const SIG_DFL = 0;
const SIGKILL = 9;
const SIGCHLD = 17;
const SIGSTOP = 19;
const LAST_SIGNAL = 31;
const PR_SET_PDEATHSIG = 1;
const F_DUPFD_CLOEXEC = 1030;
const O_RDWR = 2;
/** Above every descriptor that a launcher has. */
const ASIDE = 64;
const CLOSE_ALL = 0xffff_ffff;
const CONTROL = 3;
const CHUNK_BYTES = 4096;
/** The threads of a Node with FORKING_FLAGS; none holds a lock that a copy needs. */
const OWN_THREADS = /^(?:node|MainThread|V8Worker|DelayedTaskSche|libuv-worker)$/;

/** The namespaces that a command has in every case, and these. */
export interface Namespaces {
  /** Without privilege, a user namespace gives the right to make the others. */
  readonly users: boolean;
}

/** The user whom a user namespace knows as root. */
interface User {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Whether a copy of this process can run a program: not from source, not beside threads of others, and not if
 * the kernel forgets our children, because our parent ignored theirs.
 */
export function canFork(program: string): boolean {
  const hasFlags = FORKING_FLAGS.every((flag) => process.execArgv.includes(flag));
  return program.endsWith(".cjs") && hasFlags && hasOwnThreads() && hearsOfChildren();
}

export class ForkedLauncher implements LauncherChild {
  readonly ended: Promise<number>;
  #end: (code: Promise<number>) => void = () => undefined;
  readonly #control: number;
  readonly #copy: number | undefined;
  /** Why the kernel made no copy. */
  readonly #denied: string | undefined;
  #hasEnded = false;

  constructor(program: string, descriptors: LauncherDescriptors, namespaces: Namespaces) {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    const pair = Buffer.alloc(8);
    bindAll(copying);
    check(copying.socketpair(AF_UNIX, SOCK_STREAM_CLOEXEC, 0, pair), "socketpair", "the launcher");
    const [ours, theirs] = [pair.readInt32LE(0), pair.readInt32LE(4)];
    const wanted = { ...descriptors, control: theirs };
    // The copy can't ask any more: in its user namespace nobody has a name yet.
    const user = namespaces.users
      ? { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 }
      : undefined;
    this.#control = ours;
    try {
      this.#copy = withoutSignals(
        () => forkWithHeap(() => copyInto(namespaces)),
        (mask) => liveAsCopy(program, wanted, user, mask),
      );
    } catch (thrown) {
      if (!(thrown instanceof SystemCallError)) throw thrown;
      this.#denied = thrown.message;
    }
    closeSync(theirs);
  }

  get first(): number | undefined {
    return this.#copy;
  }

  write(text: string): void {
    // A launcher that has ended says why, or its end does.
    if (this.#hasEnded) return;
    const bytes = Buffer.from(text);
    unlessFailed(["EPIPE", "ECONNRESET"], () => {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#control, bytes, at);
    });
  }

  /** Reads in a thread: sockets of Node take longer to load than the launcher to start. */
  listen(hear: (text: string) => void): Promise<string> {
    if (this.#denied !== undefined) hear(`denied ${JSON.stringify(this.#denied)}\n`);
    const bytes = Buffer.alloc(CHUNK_BYTES);
    return new Promise((resolve, reject) => {
      const next = (): void => {
        read(this.#control, bytes, 0, CHUNK_BYTES, null, (error, length) => {
          // A launcher that ends before it has read all that we sent resets the connection.
          const hasEnded = error === null ? length === 0 : failedWith(error, "ECONNRESET");
          if (hasEnded) resolve(this.#ends());
          else if (error !== null) reject(error);
          else {
            hear(bytes.toString("utf8", 0, length));
            next();
          }
        });
      };
      next();
    });
  }

  kill(): void {
    const copy = this.#copy;
    if (this.#hasEnded) return;
    if (copy !== undefined) unlessFailed(["ESRCH"], () => process.kill(copy, "SIGKILL"));
    this.close();
  }

  /** Ends the reading thread too, and a launcher that still waits. */
  close(): void {
    if (!this.#hasEnded) copying.shutdown(this.#control, SHUT_RDWR);
  }

  /** Every process that had the other side of the control socket has ended, or is about to. */
  #ends(): string {
    this.#end(
      this.#statusOfCopy().then((status) => {
        this.#hasEnded = true;
        closeSync(this.#control);
        const signal = status & 0x7f;
        return signal === 0 ? (status >> 8) & 0xff : 128 + signal;
      }),
    );
    return "";
  }

  async #statusOfCopy(): Promise<number> {
    return this.#copy === undefined ? 1 << 8 : await waitForChild(this.#copy);
  }
}

function hasOwnThreads(): boolean {
  return readdirSync("/proc/self/task").every((thread) => {
    const name = readIfThere(`/proc/self/task/${thread}/comm`);
    return name === undefined || OWN_THREADS.test(name.trim());
  });
}

function hearsOfChildren(): boolean {
  const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1] ?? "0";
  return ((BigInt(`0x${ignored}`) >> BigInt(SIGCHLD - 1)) & 1n) === 0n;
}

/** Forks while no signal can come: a copy shares the pipe by which Node hears of signals. */
function withoutSignals(fork: () => number, live: (mask: Buffer) => never): number {
  const all = Buffer.alloc(SIGNAL_SET_BYTES, 0xff);
  const mask = Buffer.alloc(SIGNAL_SET_BYTES);
  copying.signalMask(SIG_SETMASK, all, mask);
  const pid = fork();
  if (pid === 0) live(mask);
  copying.signalMask(SIG_SETMASK, mask, null);
  return check(pid, "clone", "new namespaces");
}

/** The life of the copy. */
function liveAsCopy(
  program: string,
  { streams: [input, output, errors], control, passing }: LauncherDescriptors & { readonly control: number },
  user: User | undefined,
  mask: Buffer,
): never {
  try {
    for (let signal = 1; signal <= LAST_SIGNAL; signal += 1)
      if (signal !== SIGKILL && signal !== SIGSTOP) launchCalls.signal(signal, SIG_DFL);
    copying.signalMask(SIG_SETMASK, mask, null);
    launchCalls.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    const complaints = launchCalls.open(cString("/dev/null"), O_RDWR, 0);
    haveOnly([input, output, complaints, control, errors, passing]);
    check(launchCalls.setsid(), "setsid", "the launcher");
    check(launchCalls.chdir(cString("/")), "chdir", "/");
    if (user !== undefined) becomeRootHere(user);
  } catch (thrown) {
    writeSync(CONTROL, `denied ${JSON.stringify(messageOf(thrown))}\n`);
    leaveCopy(1);
  }
  try {
    // Our arguments are not the launcher's, and a supervisor would show them to the command.
    process.argv.length = 1;
    process.title = "drydock-launcher";
    createRequire(import.meta.url)(program);
  } catch (thrown) {
    writeSync(CONTROL, `failed ${JSON.stringify(messageOf(thrown))}\n`);
    leaveCopy(1);
  }
  leaveCopy(Number(process.exitCode ?? 0));
}

/**
 * Like fork(2), but the copy begins in new namespaces. And fork(2) would wait for threads that allocate
 * memory: ours have nothing to do.
 */
function copyInto({ users }: Namespaces): number {
  const own = CLONE_NEWPID | CLONE_NEWIPC | (users ? CLONE_NEWUSER : 0);
  return copying.clone(SYS_CLONE, own | SIGCHLD, 0, 0, 0, 0);
}

/** Makes these the descriptors from 0 on, and closes all others. */
function haveOnly(wanted: readonly number[]): void {
  const aside = wanted.map((fd) => check(calls.fcntl(fd, F_DUPFD_CLOEXEC, ASIDE), "fcntl", "a descriptor"));
  aside.forEach((fd, at) => {
    check(launchCalls.dup2(fd, at), "dup2", "a descriptor");
  });
  check(launchCalls.closeRange(wanted.length, CLOSE_ALL, 0), "close_range", "descriptors");
}

/** In a user namespace we are root, so that we may make the other namespaces and enter them again. */
function becomeRootHere({ uid, gid }: User): void {
  // The kernel takes the map of groups only from a process that can't change its groups any more.
  writeFileSync("/proc/self/setgroups", "deny");
  writeFileSync("/proc/self/uid_map", `0 ${uid} 1`);
  writeFileSync("/proc/self/gid_map", `0 ${gid} 1`);
}
