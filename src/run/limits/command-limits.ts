import { formatDuration } from "../../config/duration.ts";
import { formatSize } from "../../config/size.ts";
import { UnsupportedError, UsageError } from "../../core/errors/errors.ts";
import { LIMIT_NAMES, type LimitName, type Limits } from "../../core/values/limits.ts";
import { failpoint } from "../../system/failpoints.ts";
import { ControlGroup, type GroupLimit } from "../../system/groups/control-group.ts";
import { type Controller, groupParent } from "../../system/groups/group-parent.ts";
import { milliseconds } from "../../system/milliseconds.ts";
import { mayMountOnMachine } from "../../system/mount/privilege.ts";
import { systemProgram } from "../../system/process/programs.ts";
import { isMore, type LimitCheck, LimitWatch } from "./limit-watch.ts";

const POINTS = {
  make: failpoint("run.group-make"),
  limit: failpoint("run.group-limit"),
  add: failpoint("run.group-add"),
  remove: failpoint("run.group-remove"),
  sweep: failpoint("run.group-sweep"),
};

/**
 * The processes in the group besides the command: the first one of its namespaces; without privilege also
 * the one that renames folders.
 */
const ownProcesses = () => (mayMountOnMachine() ? 1 : 2);

const ELSEWHERE = "…', or leave out the limit.";
/** Where root, or another user, can get a control group: mostly from systemd. */
const HELP = {
  root: `Start it in a control group of its own: 'systemd-run --scope ${ELSEWHERE}`,
  user: `Run as root, or where systemd gives you control groups of your own: 'systemd-run --user --scope ${ELSEWHERE}`,
} as const;

/** How long a command whose time is over may take to end by itself. */
const GRACE_MS = 5_000;

/** A running command, as far as its limits need it. */
interface WatchedCommand {
  signal(name: NodeJS.Signals): void;
  kill(): void;
}

/** A limit that a program (prlimit) sets where there is no control group. */
export interface OwnProcessLimit {
  readonly program: string;
  readonly processes: number;
}

/**
 * Holds one command to its limits:
 * - The kernel limits processes and memory in a control group. Without one, it limits processes per user in
 *   the command's own user namespace, which counts only the processes in it.
 * - Drydock measures scratch layers while the command runs.
 * - When its time is over, Drydock asks the command to end (SIGTERM), and ends it if it goes on.
 *
 * A limit that can't be enforced here is refused before anything runs.
 */
export class CommandLimits implements AsyncDisposable {
  readonly processLimit: OwnProcessLimit | undefined;
  readonly group: ControlGroup | undefined;
  readonly #limits: Limits;
  #watch: LimitWatch | undefined;
  #isOutOfTime = false;

  private constructor(
    limits: Limits,
    group: ControlGroup | undefined,
    processLimit: OwnProcessLimit | undefined,
  ) {
    this.#limits = limits;
    this.group = group;
    this.processLimit = processLimit;
  }

  static async keep(limits: Limits): Promise<CommandLimits> {
    assertLimits(limits);
    const { processes, memory } = limits;
    const grouped: GroupLimit[] = [];
    let processLimit: OwnProcessLimit | undefined;
    if (processes !== undefined) {
      const parent = groupParent(POINTS.limit, "pids");
      if (!("why" in parent)) grouped.push({ controller: "pids", parent, most: processes + ownProcesses() });
      else processLimit = limitByProgram(processes, parent.why);
    }
    if (memory !== undefined) {
      const parent = groupParent(POINTS.limit, "memory");
      if ("why" in parent) throw cannotKeep("memory", parent.why);
      grouped.push({ controller: "memory", parent, most: memory });
    }
    const group = grouped.length === 0 ? undefined : await ControlGroup.make(POINTS, grouped);
    return new CommandLimits(limits, group, processLimit);
  }

  /**
   * Watches limits that the kernel does not enforce completely. `written` measures how many bytes the command
   * has written outside the plan's resources.
   */
  watch(written: () => Generator<number, number, undefined>, running: WatchedCommand): void {
    const { memory, scratch, time } = this.#limits;
    const checks: [LimitName, LimitCheck][] = [];
    // The kernel ends only one process of the group; the others would go on.
    if (memory !== undefined) checks.push(["memory", () => this.#isMet("memory")]);
    if (scratch !== undefined) checks.push(["scratch", () => isMore(written(), scratch)]);
    if (time !== undefined) checks.push(["time", this.#timeCheck(time, running)]);
    this.#watch = new LimitWatch(checks, () => running.kill());
  }

  #timeCheck(time: number, running: WatchedCommand): LimitCheck {
    const overAt = milliseconds() + time;
    return () => {
      const now = milliseconds();
      if (now >= overAt && !this.#isOutOfTime) {
        this.#isOutOfTime = true;
        running.signal("SIGTERM");
      }
      return now >= overAt + GRACE_MS;
    };
  }

  /** The limit that the command met, once it has ended. Fails if it was ended because a check failed. */
  async met(): Promise<LimitName | undefined> {
    await this.#watch?.stop();
    if (this.#watch?.failure !== undefined) throw this.#watch.failure;
    return this.#watch?.met ?? (this.#isOutOfTime ? "time" : this.#metInGroup());
  }

  /** For a command that could not start: the error that names the limit which prevented it. */
  tooTight(): UnsupportedError | undefined {
    const name = this.#metInGroup();
    if (name === undefined) return undefined;
    return new UnsupportedError(`The command can't be started within its ${this.#described(name)}.`, {
      code: "LIMIT_TOO_LOW",
      details: { limit: name },
    });
  }

  #metInGroup(): LimitName | undefined {
    if (this.#isMet("memory")) return "memory";
    return this.#isMet("pids") ? "processes" : undefined;
  }

  #described(name: LimitName): string {
    const value = this.#limits[name] ?? 0;
    if (name === "processes") return `limit of ${value} ${value === 1 ? "process" : "processes"}`;
    return `${name} limit of ${name === "time" ? formatDuration(value) : formatSize(value)}`;
  }

  /** The message for users about a limit that was met. */
  sentence(name: LimitName): string {
    const met = `The command met its ${this.#described(name)}`;
    return name === "processes" ? `${met}: it could not start more.` : `${met} and was ended.`;
  }

  /** Stops watching and removes the group, once the command has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch?.stop();
    await this.group?.remove();
  }

  #isMet(controller: Controller): boolean {
    return this.group?.isMet(controller) === true;
  }
}

function limitByProgram(processes: number, why: string): OwnProcessLimit {
  // The kernel does not apply this limit to root.
  if (mayMountOnMachine()) throw cannotKeep("pids", why);
  const program = systemProgram("prlimit");
  if (program === undefined)
    throw cannotKeep("pids", `${why}, and the program prlimit (util-linux) is not installed`);
  return { program, processes };
}

function cannotKeep(controller: Controller, why: string): UnsupportedError {
  const what = controller === "pids" ? "processes" : "memory";
  return new UnsupportedError(`A limit of ${what} can't be kept here: ${why}.`, {
    hint: HELP[mayMountOnMachine() ? "root" : "user"],
  });
}

const SIZE_HINT = "Give a size above 0: 512m, or in a program a number of bytes.";
const LIMIT_HINTS: { readonly [name in LimitName]: string } = {
  processes: "Give a number of processes above 0.",
  memory: SIZE_HINT,
  scratch: SIZE_HINT,
  time: "Give a time above 0: 90s, or in a program a number of milliseconds.",
};

/** Programs that use the library may pass anything. */
function assertLimits(limits: Limits): void {
  for (const [name, value] of Object.entries(limits) as [string, unknown][]) {
    const limit = LIMIT_NAMES.find((known) => known === name);
    if (limit === undefined)
      throw new UsageError(`'${name}' is not a limit.`, {
        hint: `The limits are ${LIMIT_NAMES.join(", ")}.`,
      });
    if (!Number.isSafeInteger(value) || (value as number) < 1)
      throw new UsageError(`The limit ${name} is not a whole number above 0.`, {
        hint: LIMIT_HINTS[limit],
      });
  }
}

/** Waits for both, even if one fails: the command has ended in any case. */
export async function metBeforeEnd<Scratch>(limits: CommandLimits, end: () => Promise<Scratch>) {
  const [met, ended] = await Promise.allSettled([limits.met(), end()]);
  if (met.status === "rejected") throw met.reason;
  if (ended.status === "rejected") throw ended.reason;
  return { limit: met.value, scratch: ended.value };
}
