import { readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { unlessFailed } from "../calls/errno.ts";
import { milliseconds } from "../milliseconds.ts";
import { GONE_OR_NOT_OURS, processIds, readIfThere, readLinkIfThere } from "../process/processes.ts";

/** A process of another pid namespace. */
export interface InnerProcess {
  readonly pid: number;
  /** Its pid in its own namespace. */
  readonly inside: number;
  readonly parent: number;
}

const LOOK_AGAIN_MS = 2;
/** Stopped, stopped by a tracer, a zombie, dead: such a thread does nothing until it is woken. */
const STILL = /^State:\s+[TtZX]/m;
const ENDED = /^State:\s+[ZX]/m;

/** The processes of one pid namespace, as seen from outside, without the one that serves us there. */
export class NamespaceProcesses {
  readonly #namespace: string;
  readonly #without: number;

  /** `namespace` is the target of its link in /proc. Our own process there is a child of `parentOfOurs`. */
  constructor(namespace: string, parentOfOurs: number) {
    this.#namespace = namespace;
    this.#without = parentOfOurs;
  }

  /** All that have not ended, the oldest first. */
  all(): InnerProcess[] {
    const found = processIds().flatMap((name) => {
      if (readLinkIfThere(`/proc/${name}/ns/pid`) !== this.#namespace) return [];
      const status = readIfThere(`/proc/${name}/status`) ?? "State: X";
      if (ENDED.test(status)) return [];
      const inside = Number(/^NSpid:.*\t(\d+)$/m.exec(status)?.[1]);
      const parent = Number(/^PPid:\t(\d+)$/m.exec(status)?.[1]);
      return [{ pid: Number(name), inside, parent }];
    });
    return found.filter(({ parent }) => parent !== this.#without).toSorted((a, b) => a.inside - b.inside);
  }

  /** Those that stand still now. */
  still(): InnerProcess[] {
    return this.all().filter(({ pid }) => threadsOf(pid) !== undefined);
  }

  /** Waits until a process stands still, but not for long. */
  async standsStill(pid: number, mostMs: number): Promise<boolean> {
    return await within(mostMs, () => threadsOf(pid) !== undefined);
  }

  /**
   * Waits for the proof that all stand still at once: every thread is stopped when we look for the first time
   * and for the second, and the kernel has not run it in between. So between the two looks none could wake
   * another one, and none can any more.
   */
  async allStandStill(mostMs: number): Promise<boolean> {
    return await within(mostMs, () => {
      const first = this.#look();
      return first !== undefined && first === this.#look();
    });
  }

  /** All threads with the number of times that each has run; undefined if one does not stand still. */
  #look(): string | undefined {
    const all = this.all().map(({ pid }) => threadsOf(pid));
    return all.includes(undefined) ? undefined : all.join("\n");
  }
}

/** The threads of a process that stands still, and how often each has run; undefined if one does not. */
function threadsOf(pid: number): string | undefined {
  const names = unlessFailed(GONE_OR_NOT_OURS, () => readdirSync(`/proc/${pid}/task`)) ?? [];
  const threads = names.map((name) => {
    const status = readIfThere(`/proc/${pid}/task/${name}/status`);
    // A thread that has ended since does nothing either.
    if (status === undefined) return "";
    const switches = [...status.matchAll(/^(?:non)?voluntary_ctxt_switches:\t(\d+)$/gm)];
    return STILL.test(status) ? `${name} ${switches.map(([, count]) => count).join(" ")}` : undefined;
  });
  return threads.includes(undefined) ? undefined : threads.join("\n");
}

async function within(mostMs: number, isTrue: () => boolean): Promise<boolean> {
  const latest = milliseconds() + mostMs;
  while (!isTrue()) {
    if (milliseconds() > latest) return false;
    await delay(LOOK_AGAIN_MS);
  }
  return true;
}
