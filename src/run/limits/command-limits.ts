import { formatSize } from "../../config/size.ts";
import { UnsupportedError, UsageError } from "../../core/errors/errors.ts";
import { LIMIT_NAMES, type LimitName, type Limits } from "../../core/values/limits.ts";
import { failpoint } from "../../system/failpoints.ts";
import { ControlGroup, type GroupLimit } from "../../system/groups/control-group.ts";
import { type Controller, groupParent } from "../../system/groups/group-parent.ts";
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
 * What is in the group besides the command: the process that made the namespaces, and the first one in them.
 */
const OWN_PROCESSES = 2;

const ELSEWHERE = "drydock …', or leave the limit away.";
/** Whether root or another user asks: where a group can be had, mostly by way of systemd. */
const HELP = {
  root: `Start it in a control group of its own: 'systemd-run --scope ${ELSEWHERE}`,
  user: `Run as root, or where systemd gives you control groups of your own: 'systemd-run --user --scope ${ELSEWHERE}`,
} as const;

/** How a process limits itself, where no group can do it. */
export interface OwnProcessLimit {
  readonly program: string;
  readonly processes: number;
}

/**
 * Keeps one command within its limits. Processes and memory are kept by the kernel, in a control group;
 * without one, the number of processes of a user is kept in the command's own user namespace, which counts
 * only what is in there. Scratch layers are measured while the command runs. A limit that can't be kept here
 * is refused before anything runs.
 */
export class CommandLimits implements AsyncDisposable {
  readonly processLimit: OwnProcessLimit | undefined;
  readonly group: ControlGroup | undefined;
  readonly #limits: Limits;
  #watch: LimitWatch | undefined;

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
      if (!("why" in parent))
        grouped.push({ controller: "pids", parent: parent, most: processes + OWN_PROCESSES });
      else processLimit = limitByProgram(processes, parent.why);
    }
    if (memory !== undefined) {
      const parent = groupParent(POINTS.limit, "memory");
      if ("why" in parent) throw cannotKeep("memory", parent.why);
      grouped.push({ controller: "memory", parent: parent, most: memory });
    }
    const group = grouped.length === 0 ? undefined : await ControlGroup.make(POINTS, grouped);
    return new CommandLimits(limits, group, processLimit);
  }

  /**
   * Watches what the kernel does not watch. `written` measures how many bytes the command has written outside
   * the plan's resources.
   */
  watch(written: () => Generator<number, number, undefined>, end: () => void): void {
    const { memory, scratch } = this.#limits;
    const checks: [LimitName, LimitCheck][] = [];
    // The kernel ends one process of it; the others would go on without.
    if (memory !== undefined) checks.push(["memory", () => this.#isMet("memory")]);
    if (scratch !== undefined) checks.push(["scratch", () => isMore(written(), scratch)]);
    this.#watch = new LimitWatch(checks, end);
  }

  /**
   * The limit that the command met, when it has ended. Fails if it was ended because a limit could not be
   * looked at.
   */
  async met(): Promise<LimitName | undefined> {
    await this.#watch?.stop();
    if (this.#watch?.failure !== undefined) throw this.#watch.failure;
    return this.#watch?.met ?? this.#metInGroup();
  }

  /** For a command that could not be started: the limit that kept it from that. */
  tooTight(): UnsupportedError | undefined {
    const name = this.#metInGroup();
    if (name === undefined) return undefined;
    return new UnsupportedError(`The command can't be started within its ${this.#described(name)}.`, {
      hint: `Nothing was run. Give it more with --limit ${name}=…, or in the config.`,
    });
  }

  #metInGroup(): LimitName | undefined {
    if (this.#isMet("memory")) return "memory";
    return this.#isMet("pids") ? "processes" : undefined;
  }

  #described(name: LimitName): string {
    const value = this.#limits[name] ?? 0;
    if (name === "processes") return `limit of ${value} ${value === 1 ? "process" : "processes"}`;
    return `${name} limit of ${formatSize(value)}`;
  }

  /** What a user reads about it. */
  sentence(name: LimitName): string {
    const met = `The command met its ${this.#described(name)}`;
    return name === "processes" ? `${met}: it could not start more.` : `${met} and was ended.`;
  }

  /** Takes away what was made, when the command has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch?.stop();
    await this.group?.remove();
  }

  #isMet(controller: Controller): boolean {
    return this.group?.isMet(controller) === true;
  }
}

function limitByProgram(processes: number, why: string): OwnProcessLimit {
  // The kernel does not hold root to it.
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

/** Programs that use the library may say anything. */
function assertLimits(limits: Limits): void {
  for (const [name, value] of Object.entries(limits) as [string, unknown][]) {
    if (!LIMIT_NAMES.some((known) => known === name))
      throw new UsageError(`'${name}' is not a limit.`, {
        hint: `The limits are ${LIMIT_NAMES.join(", ")}.`,
      });
    if (!Number.isSafeInteger(value) || (value as number) < 1)
      throw new UsageError(`The limit ${name} is not a whole number above 0.`, {
        hint: "Give a number of processes, or of bytes.",
      });
  }
}
