import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import koffi from "koffi";

/**
 * The inside of a nursery: a process that has loaded a program, and forks itself for each run of it. Most of
 * the time of a process that is soon to be killed goes into starting Node, and into code that runs for the
 * first time; a fork has all that behind it.
 *
 * Requests come in by its standard input, a line of JSON each. For each it forks a minder, which forks the
 * child and waits for it: so any number of children can be under way while the nursery only reads. A minder
 * writes two lines to the nursery's output: the child's pid when it is there, and how it ended. What the
 * child says goes to files.
 *
 * What makes it possible in Node: V8 is told to use no threads, since a fork has only the one that called it;
 * V8 keeps its heap out of forks, which is taken back right before each; libuv can go on in a fork if it is
 * told. What Node would do at its exit, waiting for threads that are not there, a child leaves out.
 */
export const NURSERY_FLAGS = ["--single-threaded", "--v8-pool-size=0", "--disable-sigusr1"] as const;

export interface NurseryRequest {
  readonly id: number;
  /** Where its output goes, with ".out" and ".err" to it. */
  readonly output: string;
  /** Set in its environment, besides what is there. */
  readonly environment: { readonly [name: string]: string };
  /** For the program. */
  readonly argument: string;
}

/** A child is there or, with the status of waitpid(2), has ended. */
export interface NurseryEvent {
  readonly id: number;
  readonly pid: number;
  readonly status?: number;
}

/** So many children are cheaper than a warm-up. */
const COLD_CHILDREN = 4;
const MADV_DONTFORK = 10;
const MADV_DOFORK = 11;
const LOWEST_ADDRESS = 0x10000;
/** Above it is nothing of V8's, only what the kernel has put there. */
const HIGHEST_ADDRESS = 2 ** 47 - 2 ** 32;

const WNOHANG = 1;

/** The calls that it takes, bound by whoever becomes a nursery; other runs of the program do without. */
let calls: ReturnType<typeof bind> | undefined;

function bind() {
  const program = koffi.load(null);
  return {
    madvise: program.func("int madvise(uint64_t, uint64_t, int)"),
    fork: program.func("int fork()"),
    waitpid: program.func("int waitpid(int, _Out_ int *, int)"),
    dup2: program.func("int dup2(int, int)"),
    getpid: program.func("int getpid()"),
    exit: program.func("void _exit(int)"),
    loop: program.func("void *uv_default_loop()")() as unknown,
    continueLoop: program.func("int uv_loop_fork(void *)"),
  };
}

function native(): ReturnType<typeof bind> {
  calls ??= bind();
  return calls;
}

/** Works until nobody can ask any more. In each child, and only there, it returns what the child is to do. */
export async function becomeChild(warmUp: () => Promise<void>): Promise<string> {
  let children = 0;
  noteHeap();
  for (const line of lines()) {
    if (children === COLD_CHILDREN) {
      await warmUp();
      noteHeap();
    }
    children += 1;
    const request = JSON.parse(line) as NurseryRequest;
    if (forkAll() === 0 && mind(request) === "child") return request.argument;
    // Minders that have done their work.
    while ((native().waitpid(-1, [0], WNOHANG) as number) > 0);
  }
  return leave(0);
}

/** Ends a child, at once. */
export function leave(code: number): never {
  native().exit(code);
  throw new Error("_exit has returned");
}

/** What comes in by standard input, line by line. */
export function* lines(): Generator<string> {
  const chunk = Buffer.alloc(64 * 1024);
  let text = "";
  for (let length = readSync(0, chunk); length > 0; length = readSync(0, chunk)) {
    const parts = (text + chunk.toString("utf8", 0, length)).split("\n");
    text = parts.pop() ?? "";
    yield* parts;
  }
}

/**
 * Forks this process; returns 0 in the child. Nothing may be allocated between the two calls, so they stand
 * alone.
 */
export function forkAll(): number {
  const { madvise, fork } = native();
  madvise(LOWEST_ADDRESS, HIGHEST_ADDRESS - LOWEST_ADDRESS, MADV_DOFORK);
  const pid = fork() as number;
  if (pid < 0) throw new Error(`no fork: errno ${koffi.errno()}`);
  return pid;
}

/** Start and length of what V8 keeps out of forks, as it was noted. */
const heap: (readonly [start: number, length: number])[] = [];

/** Notes what V8 keeps out of forks at this moment, before a fork takes that back. */
export function noteHeap(): void {
  for (const area of readFileSync("/proc/self/smaps", "latin1").split(/\n(?=[0-9a-f]+-)/)) {
    const [, from = "", to = ""] = /^([0-9a-f]+)-([0-9a-f]+)/.exec(area) ?? [];
    if (!/^VmFlags:.* dc\b/m.test(area)) continue;
    const start = Number.parseInt(from, 16);
    heap.push([start, Number.parseInt(to, 16) - start]);
  }
}

/** In the child it returns, with everything as in a process of its own; the minder ends here. */
function mind(request: NurseryRequest): "child" {
  const pid = forkAll();
  if (pid === 0) {
    settleIn(request);
    return "child";
  }
  const status = [0];
  say({ id: request.id, pid });
  native().waitpid(pid, status, 0);
  say({ id: request.id, pid, status: status[0] as number });
  return leave(0);
}

/** A line is written at once, however many write. */
function say(event: NurseryEvent): void {
  writeSync(1, `${JSON.stringify(event)}\n`);
}

/** Makes a fork a process that Node can go on in. */
export function continueInFork(): void {
  const { loop, continueLoop, getpid, madvise } = native();
  // As in other processes, a program that it starts is no copy of its heap for a moment.
  for (const [start, length] of heap) madvise(start, length, MADV_DONTFORK);
  continueLoop(loop);
  Object.defineProperty(process, "pid", { value: getpid(), enumerable: true, configurable: true });
}

function settleIn({ output, environment }: NurseryRequest): void {
  const { dup2 } = native();
  continueInFork();
  for (const [path, fd] of [
    ["/dev/null", 0],
    [`${output}.out`, 1],
    [`${output}.err`, 2],
  ] as const) {
    const opened = openSync(path, fd === 0 ? "r" : "w");
    dup2(opened, fd);
    closeSync(opened);
  }
  Object.assign(process.env, environment);
  process.once("uncaughtException", (thrown) => {
    writeSync(2, `${thrown.stack ?? String(thrown)}\n`);
    leave(1);
  });
}
