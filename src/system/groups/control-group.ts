import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmdirSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { failedWith, guarded, translated } from "../calls/errno.ts";
import { isThere } from "../data/existence.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { milliseconds } from "../milliseconds.ts";
import { startTimeOf } from "../process/process-identity.ts";
import type { Controller, GroupParent } from "./group-parent.ts";

/** The steps of a group's life, each with its failpoint. */
export interface GroupPoints {
  readonly make: Failpoint;
  readonly limit: Failpoint;
  readonly add: Failpoint;
  readonly remove: Failpoint;
  readonly sweep: Failpoint;
}

/** A limit of one controller, and where a group for it can be made. */
export interface GroupLimit {
  readonly controller: Controller;
  readonly parent: GroupParent;
  /** The number of tasks, or of bytes. */
  readonly most: number;
}

/**
 * `drydock-PID NAMESPACE-PID-START-NUMBER`: the identity of the process that made the group, and a counter.
 */
const NAME = /^drydock-(\d+)-(\d+)-(\d+)-\d+$/;
/** The kernel charges memory in pieces, so a full group may use a little less than its limit. */
const LARGEST_CHARGE = 1 << 20;
const LOOK_AGAIN_MS = 10;
const LONGEST_END_MS = 5000;

let made = 0;

/**
 * A control group for some processes of ours and all their descendants, with limits that the kernel enforces.
 * With several hierarchies it is one folder of the same name in each.
 *
 * A killed process leaves its groups behind. The next process that makes a group beside them removes those
 * whose maker is dead and that have no processes.
 */
export class ControlGroup {
  readonly #points: GroupPoints;
  readonly #limits: readonly GroupLimit[];
  readonly #name: string;

  private constructor(points: GroupPoints, limits: readonly GroupLimit[]) {
    made += 1;
    this.#points = points;
    this.#limits = limits;
    this.#name = `drydock-${pidNamespace()}-${process.pid}-${startTimeOf(process.pid) ?? "0"}-${made}`;
  }

  static async make(points: GroupPoints, limits: readonly GroupLimit[]): Promise<ControlGroup> {
    const group = new ControlGroup(points, limits);
    for (const parent of group.#parents()) removeDead(points.sweep, parent);
    try {
      group.#make();
    } catch (thrown) {
      await group.remove();
      throw thrown;
    }
    return group;
  }

  /**
   * Moves processes into the group; their later children start there. A parent comes before its children.
   * Moving one waits for the whole machine, 5 to 20 ms, so do it beside other work. Skips a process that has
   * ended.
   */
  async add(pids: readonly number[]): Promise<void> {
    // Loaded here, which takes 1 to 2 ms: most commands have no group.
    const { writeFile } = process.getBuiltinModule("node:fs/promises");
    for (const folder of this.#folders())
      for (const pid of pids) {
        passFailpoint(this.#points.add);
        try {
          await writeFile(`${folder}/cgroup.procs`, `${pid}`, { flag: "r+" });
        } catch (thrown) {
          if (!failedWith(thrown, "ESRCH")) throw translated(thrown, "move a process", folder);
        }
      }
  }

  /** Whether the kernel refused to start a process, or ended one, because of this limit. */
  isMet(controller: Controller): boolean {
    return this.#limits.some((limit) => limit.controller === controller && isMet(this.#folder(limit), limit));
  }

  /**
   * Call this when the processes have been told to end: waits for them. If they do not end, a later sweep
   * removes the group.
   */
  async remove(): Promise<void> {
    const latest = milliseconds() + LONGEST_END_MS;
    for (const folder of this.#folders().filter(isThere)) {
      passFailpoint(this.#points.remove);
      while (!isRemoved(folder) && milliseconds() < latest) await delay(LOOK_AGAIN_MS);
    }
  }

  #make(): void {
    for (const folder of this.#folders()) {
      passFailpoint(this.#points.make);
      guarded("mkdir", folder, () => mkdirSync(folder));
    }
    for (const limit of this.#limits)
      for (const [file, value] of settingsOf(limit, this.#folder(limit))) {
        passFailpoint(this.#points.limit);
        guarded("write", file, () => writeFileSync(file, `${value}`, { flag: "r+" }));
      }
  }

  #parents(): readonly string[] {
    return [...new Set(this.#limits.map(({ parent }) => parent.folder))];
  }

  #folders(): readonly string[] {
    return this.#parents().map((parent) => `${parent}/${this.#name}`);
  }

  #folder({ parent }: GroupLimit): string {
    return `${parent.folder}/${this.#name}`;
  }
}

/** Swapped memory counts too, where the kernel supports it. */
function settingsOf(
  { controller, parent: { version }, most }: GroupLimit,
  folder: string,
): readonly (readonly [file: string, value: number])[] {
  if (controller === "pids") return [[`${folder}/pids.max`, most]];
  const [memory, swap] =
    version === 1
      ? ([
          ["memory.limit_in_bytes", most],
          ["memory.memsw.limit_in_bytes", most],
        ] as const)
      : ([
          ["memory.max", most],
          ["memory.swap.max", 0],
        ] as const);
  const hasSwap = isThere(`${folder}/${swap[0]}`);
  return [memory, ...(hasSwap ? [swap] : [])].map(([name, value]) => [`${folder}/${name}`, value]);
}

/**
 * The kernel may also kill a process because the whole machine is out of memory: only a hit of this limit
 * counts.
 */
function isMet(folder: string, { controller, parent: { version }, most }: GroupLimit): boolean {
  if (controller === "pids") return countIn(`${folder}/pids.events`, "max") > 0;
  if (version === 2) return ["oom", "oom_kill"].every((name) => countIn(`${folder}/memory.events`, name) > 0);
  const largest = Number(readFileSync(`${folder}/memory.max_usage_in_bytes`, "latin1"));
  return largest + LARGEST_CHARGE > most && countIn(`${folder}/memory.oom_control`, "oom_kill") > 0;
}

/** `NAME COUNT` a line. */
function countIn(file: string, name: string): number {
  const line = readFileSync(file, "latin1")
    .split("\n")
    .find((text) => text.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}

function isRemoved(folder: string): boolean {
  try {
    guarded("rmdir", folder, () => rmdirSync(folder));
    return true;
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT")) return true;
    if (failedWith(thrown, "EBUSY")) return false;
    throw thrown;
  }
}

function removeDead(point: Failpoint, parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, namespace, pid, startTime] = NAME.exec(name) ?? [];
    // In another pid namespace the same number is another process.
    if (namespace !== pidNamespace() || startTimeOf(Number(pid)) === startTime) continue;
    passFailpoint(point);
    try {
      isRemoved(`${parent}/${name}`);
    } catch (thrown) {
      // It belongs to another user, whose Drydock removes it.
      if (!failedWith(thrown, "EACCES", "EPERM")) throw thrown;
    }
  }
}

function pidNamespace(): string {
  return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
}
