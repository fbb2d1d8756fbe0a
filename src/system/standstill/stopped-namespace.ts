import { setTimeout as delay } from "node:timers/promises";
import { BusyError, UnsupportedError } from "../../core/errors/errors.ts";
import type { Owner } from "../../core/owner.ts";
import { unlessFailed } from "../calls/errno.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { milliseconds } from "../milliseconds.ts";
import { isProcessAlive } from "../process/process-identity.ts";
import { readLinkIfThere, statFields } from "../process/processes.ts";
import { type InnerProcess, NamespaceProcesses } from "./namespace-processes.ts";
import { StopGuard } from "./stop-guard.ts";

/** The steps of a stop, each with its failpoint. */
export interface StopPoints {
  readonly guard: Failpoint;
  readonly stop: Failpoint;
  readonly wake: Failpoint;
}

/** How long each attempt may take. In one of them, a process may wait for another that is stopped already. */
const ATTEMPTS_MS = [250, 500, 1000, 2000, 4000];
/** How long a parent may take to stop before its children do. */
const PARENT_MS = 500;
const STOP_AGAIN_MS = 20;
const FIRST = 1;

/** How long a namespace that is ending may take for it. */
const ENDING_MS = 10_000;
const LOOK_AGAIN_MS = 5;
/** What /proc/PID/stat says of a process that ends: the field, counted from the state, and the flag there. */
const FLAGS = 6;
const IS_EXITING = 0x4;

/**
 * All processes of a pid namespace, which stand still until this is disposed of.
 *
 * A loop that stops one process after the other never knows that it has all of them, because processes start
 * others meanwhile. One `kill -1` inside the namespace does: the kernel lets no process start another between
 * the signal and the stop. Then we prove that all stand still (namespace-processes.ts).
 *
 * Parents stop before their children and wake after them. Otherwise a shell with job control would take its
 * job for one that the user has stopped. Processes that the user had stopped stay so.
 */
export class StoppedNamespace implements AsyncDisposable {
  readonly #points: StopPoints;
  readonly #guard: StopGuard;
  readonly #processes: NamespaceProcesses;
  readonly #anchor: number;
  /** The processes that were stopped before. */
  readonly #before: ReadonlySet<number>;

  private constructor(points: StopPoints, guard: StopGuard, namespace: string, anchor: number) {
    this.#points = points;
    this.#guard = guard;
    this.#anchor = anchor;
    this.#processes = new NamespaceProcesses(namespace, guard.parent);
    this.#before = new Set(this.#processes.still().map(({ pid }) => pid));
  }

  /**
   * Stops the namespace of which `anchor` is the first process. Undefined if that has ended meanwhile, with
   * all its processes: it stands still for ever.
   */
  static async stop(points: StopPoints, anchor: Owner): Promise<StoppedNamespace | undefined> {
    try {
      return await StoppedNamespace.#stopLiving(points, anchor);
    } catch (thrown) {
      if (await hasEnded(anchor)) return undefined;
      throw thrown;
    }
  }

  static async #stopLiving(points: StopPoints, anchor: Owner): Promise<StoppedNamespace> {
    const namespace = readLinkIfThere(`/proc/${anchor.pid}/ns/pid`);
    if (namespace === undefined || namespace === readLinkIfThere("/proc/self/ns/pid"))
      throw new UnsupportedError(
        "A command without a pid namespace of its own can't be stopped for a while.",
      );
    for (const mostMs of ATTEMPTS_MS) {
      const guard = await StopGuard.start(points.guard, anchor.pid);
      const stopped = new StoppedNamespace(points, guard, namespace, anchor.pid);
      try {
        if (await stopped.#stop(mostMs)) return stopped;
      } catch (thrown) {
        await stopped[Symbol.asyncDispose]();
        throw thrown;
      }
      await stopped[Symbol.asyncDispose]();
    }
    throw new BusyError("The commands of the plan could not be made to stand still.", {
      holder: "a command of the plan",
      hint: "One of them waits for something that does not come. Try again.",
    });
  }

  /** Wakes all. */
  async [Symbol.asyncDispose](): Promise<void> {
    passFailpoint(this.#points.wake);
    if (await this.#guard.end()) return;
    // A process inside has ended the guard, or the namespace has ended.
    for (const { pid } of this.#toWake()) unlessFailed(["ESRCH"], () => process.kill(pid, "SIGCONT"));
  }

  /** Children first. A process that is stopped starts no other one, so these are all. */
  #toWake(): InnerProcess[] {
    const all = this.#processes.all().filter(({ pid }) => !this.#before.has(pid));
    return all.toReversed();
  }

  async #stop(mostMs: number): Promise<boolean> {
    passFailpoint(this.#points.stop);
    // No process inside can stop the first one.
    process.kill(this.#anchor, "SIGSTOP");
    await this.#processes.standsStill(this.#anchor, PARENT_MS);
    const all = this.#processes.all();
    for (const { pid, inside } of all.filter((process) => isParent(process, all)))
      if (inside !== FIRST) {
        await this.#guard.tell(`stop ${inside}`);
        await this.#processes.standsStill(pid, PARENT_MS);
      }
    const allStandStill = await this.#stopAll(milliseconds() + mostMs);
    const inside = this.#toWake().map((process) => process.inside);
    await this.#guard.tell(`wake ${inside.join(" ")}`);
    return allStandStill;
  }

  /** A process that was about to wake another one may still do that: then all are stopped again. */
  async #stopAll(latest: number): Promise<boolean> {
    do {
      await this.#guard.tell("stop -1");
      if (await this.#processes.allStandStill(STOP_AGAIN_MS)) return true;
    } while (milliseconds() < latest);
    return false;
  }
}

/**
 * Whether a namespace has ended, with this first process of it; waits while it is ending. The kernel lets the
 * first process, a shell with one thread, become a zombie only when it has ended all others and nothing is
 * left of them. It ends our guard before that.
 */
async function hasEnded(anchor: Owner): Promise<boolean> {
  const latest = milliseconds() + ENDING_MS;
  while (isProcessAlive(anchor)) {
    const flags = statFields(anchor.pid)?.[FLAGS];
    const isEnding = flags === undefined || (Number(flags) & IS_EXITING) !== 0;
    if (!isEnding || milliseconds() > latest) return false;
    await delay(LOOK_AGAIN_MS);
  }
  return true;
}

function isParent({ pid }: InnerProcess, all: readonly InnerProcess[]): boolean {
  return all.some(({ parent }) => parent === pid);
}
