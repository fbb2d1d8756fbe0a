import { BusyError, UnsupportedError } from "../../core/errors/errors.ts";
import { unlessFailed } from "../calls/errno.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { milliseconds } from "../milliseconds.ts";
import { readLinkIfThere } from "../process/processes.ts";
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

  /** Stops the namespace of which `anchor` is the first process. */
  static async stop(points: StopPoints, anchor: number): Promise<StoppedNamespace> {
    const namespace = readLinkIfThere(`/proc/${anchor}/ns/pid`);
    if (namespace === undefined || namespace === readLinkIfThere("/proc/self/ns/pid"))
      throw new UnsupportedError(
        "A command without a pid namespace of its own can't be stopped for a while.",
      );
    for (const mostMs of ATTEMPTS_MS) {
      const guard = await StopGuard.start(points.guard, anchor);
      const stopped = new StoppedNamespace(points, guard, namespace, anchor);
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

function isParent({ pid }: InnerProcess, all: readonly InnerProcess[]): boolean {
  return all.some(({ parent }) => parent === pid);
}
