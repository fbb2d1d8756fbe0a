import { readSync, writeSync } from "node:fs";
import { bindAll, check, lazyCalls, PinnedBuffer } from "../calls/native.ts";
import { socketPair, takeDescriptor } from "../process/passed-descriptor.ts";
import { launchCalls } from "./calls.ts";

/**
 * A copy of this process, which goes on in JavaScript without an event loop. It costs a millisecond and
 * shares our memory, where a second Node would take 40 of each.
 *
 * It needs a V8 that neither compiles nor collects in threads, because a copy has only the thread that made
 * it. (`--single-threaded` says that too, but with it V8 refuses the compiled code of Node's own modules.) V8
 * keeps its heap out of copies; that is taken back first.
 */
export const FORKING_FLAGS: readonly string[] = [
  "--single-threaded-gc",
  "--no-concurrent-recompilation",
  "--no-concurrent-sparkplug",
  "--disable-sigusr1",
];

const forking = lazyCalls({
  madvise: "int madvise(uint64_t address, uint64_t size, int advice)",
  fork: "int fork()",
  exit: "void _exit(int code)",
  poll: "int poll(void *descriptors, uint64_t count, int milliseconds)",
  kill: "int kill(int pid, int signal)",
});
/**
 * V8 shall do nothing later, as a task: Node wakes an event loop for it, by a descriptor that a copy does not
 * have, and ends the copy where that fails. As flags of the start, V8 would refuse Node's compiled code.
 */
const NO_TASKS = "--no-minor-gc-task --no-incremental-marking --no-memory-reducer";
const MADV_DOFORK = 11;
const LOWEST_ADDRESS = 0x1_0000;
/** Nothing of V8's lies above it. */
const HIGHEST_ADDRESS = 2 ** 47 - 2 ** 32;
const PR_SET_NAME = 15;
const CLOSE_ALL = 0xffff_ffff;
const SIG_IGN = 1;
const SIGKILL = 9;
const POLLIN = 1;
/** Signals that other processes send: hang-up, interrupt, quit, user-defined, pipe, alarm, terminate … */
const IGNORED = [1, 2, 3, 10, 12, 13, 14, 15, 20, 21, 22];
/** The longest time until a copy must have said that it is up. */
const UP_MS = 5000;
const FOR_EVER = -1;

/** A copy that is up and waits for a descriptor; `socket` passes it, and gets what the copy sends. */
export interface ForkedProcess {
  readonly socket: number;
  readonly pid: number;
}

/**
 * Starts a copy that calls `prepare`, waits for a descriptor, and ends when `work` with it ends. It keeps no
 * descriptor of ours but its side of the socket. Undefined if the copy does not come up.
 */
export function fork(
  name: string,
  prepare: () => void,
  work: (descriptor: number, socket: number) => void,
): ForkedProcess | undefined {
  const [ours, theirs] = socketPair();
  const label = new PinnedBuffer(16);
  label.bytes.fill(0).write(name.slice(0, 15));
  process.getBuiltinModule("node:v8").setFlagsFromString(NO_TASKS);
  bindAll(forking);
  const pid = check(forkWithHeap(), "fork", name);
  if (pid === 0) liveAsCopy(theirs, label, prepare, work);
  launchCalls.closeRange(theirs, theirs, 0);
  if (isUp(ours)) return { socket: ours, pid };
  forking.kill(pid, SIGKILL);
  launchCalls.closeRange(ours, ours, 0);
  return undefined;
}

/** Forks by `call`. Nothing may be allocated between the two calls, so they stand alone. */
export function forkWithHeap(call: () => number = () => forking.fork()): number {
  bindAll(forking);
  forking.madvise(LOWEST_ADDRESS, HIGHEST_ADDRESS - LOWEST_ADDRESS, MADV_DOFORK);
  return call();
}

/** Ends a copy, without all that Node does at an exit. */
export function leaveCopy(code: number): never {
  forking.exit(code);
  throw new Error("_exit returned");
}

/** The life of the copy. It never returns to its caller, and leaves out all that Node does at an exit. */
function liveAsCopy(
  socket: number,
  label: PinnedBuffer,
  prepare: () => void,
  work: (descriptor: number, socket: number) => void,
): never {
  try {
    launchCalls.setsid();
    launchCalls.prctl(PR_SET_NAME, label.address, 0, 0, 0);
    for (const signal of IGNORED) launchCalls.signal(signal, SIG_IGN);
    if (socket > 0) launchCalls.closeRange(0, socket - 1, 0);
    launchCalls.closeRange(socket + 1, CLOSE_ALL, 0);
    prepare();
    writeSync(socket, "1");
    waitFor(socket, FOR_EVER);
    const descriptor = takeDescriptor(socket);
    if (descriptor >= 0) work(descriptor, socket);
  } finally {
    leaveCopy(0);
  }
}

/** Whether the copy comes up in time. We read its word, or closing our side would reset the connection. */
function isUp(socket: number): boolean {
  return (waitFor(socket, UP_MS) & POLLIN) !== 0 && readSync(socket, Buffer.alloc(1)) === 1;
}

/** Waits until something happens to a descriptor. Returns what, as bits of poll(2). */
function waitFor(fd: number, milliseconds: number): number {
  const entry = Buffer.alloc(8);
  entry.writeInt32LE(fd, 0);
  entry.writeInt16LE(POLLIN, 4);
  forking.poll(entry, 1, milliseconds);
  return entry.readInt16LE(6);
}
