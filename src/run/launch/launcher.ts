import { UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { ControlGroup } from "../../system/groups/control-group.ts";
import { FORKING_FLAGS } from "../../system/launch/forked-process.ts";
import { canFork, ForkedLauncher } from "../../system/launcher/forked-launcher.ts";
import {
  type LauncherDescriptors,
  LauncherProcess,
  type StartReport,
} from "../../system/launcher/launcher-process.ts";
import { SpawnedLauncher } from "../../system/launcher/spawned-launcher.ts";
import { mayMountOnMachine } from "../../system/mount/privilege.ts";
import { type OwnProgram, ownProgram } from "../../system/process/own-program.ts";
import type { CommandStreams, OuterTerminal, TerminalUse } from "../../system/terminal/command-streams.ts";
import { HandedStreams } from "../../system/terminal/handed-streams.ts";
import { END_SIGNAL } from "../../system/walls/keeper.ts";
import { KEEP, UNGUARDED, type ViewSpec, type WalledSpec } from "./launch-spec.ts";
import { findTools, type Tools } from "./tools.ts";

/** What is weaker where a command has namespaces but the kernel refuses a new /proc. */
export const SHARED_PROCESSES =
  "This container allows no new /proc, so the command sees the names of all its processes.";
const UNGUARDED_SERVERS =
  "Nothing here keeps the command from the servers themselves of databases that the plan holds: it can reach them past the plan.";

/** What is weaker than usual, by what the launcher says; `isUnguarded`: no supervisor could be there. */
export function weakerSentences(weaker: readonly string[], isUnguarded: boolean): readonly string[] {
  const paths = weaker.filter((each) => each !== UNGUARDED);
  return [
    ...(paths.length > 0 ? [SHARED_PROCESSES] : []),
    ...(isUnguarded || paths.length < weaker.length ? [UNGUARDED_SERVERS] : []),
  ];
}

const POINTS = { start: failpoint("run.start") };
/** Relative to this file in the source, and to a bundle of the tests. */
const FROM_SOURCE = "../../../node_modules/.cache/drydock-compiled";
const IN_SOURCE = "src/run/launch/launcher-main.ts";
const LOCATIONS = [
  { program: "./launcher-main.ts", compiled: FROM_SOURCE },
  { program: "./launcher.cjs", compiled: "./.compile-cache" },
  { program: "../launcher.cjs", compiled: "../.compile-cache" },
  { program: `../../../${IN_SOURCE}`, compiled: FROM_SOURCE },
];

/** What the launcher needs to know about a command when it starts. */
export interface CommandKind {
  /** Where the command's standard output goes: ours, or standard error. */
  readonly stdout: "inherit" | "stderr";
  /** Makes streams of the program's own instead. Called again if the launcher has to start again. */
  readonly openStreams?: (() => CommandStreams) | undefined;
}

interface LauncherKind extends CommandKind {
  /** Whether we may mount as we like. */
  readonly privileged: boolean;
}

/** The parts of the specification that the launcher does not know itself. */
export type CommandSpec =
  | Omit<ViewSpec, "privileged" | "inputFile" | "terminal">
  | Omit<WalledSpec, "inputFile" | "terminal">;

/** A running command. */
export interface RunningCommandProcess {
  /** The first process of its namespaces; other commands join its view through it. */
  readonly first: number | undefined;
  /** Paths at which it sees what the whole machine has. */
  readonly weaker: readonly string[];
  /** The exit code. Resolves when all output is written and the terminal has its old settings. */
  readonly ended: Promise<number>;
  /** After its end: what the history keeps of its output. Undefined: the output did not come through us. */
  output(): string | undefined;
  /** The next socket that the launcher passed: launch-spec.ts. To be called at once. */
  takeSocket(): number;
  kill(): void;
  signal(name: NodeJS.Signals): void;
}

interface Waiting {
  readonly process: LauncherProcess;
  readonly streams: CommandStreams;
}

let startedAhead: CommandLauncher | undefined;

/** Starts the launcher early, when the program already knows that it will run a command. */
export function startAhead(kind: CommandKind): Disposable {
  startedAhead = CommandLauncher.start(kind);
  return startedAhead;
}

/**
 * Starts one command. The constructor starts the launcher, which waits for its specification: so it starts up
 * while Drydock creates the plan. It is a copy of this process where that can be copied, else a second Node.
 */
export class CommandLauncher implements Disposable {
  readonly tools: Tools = findTools();
  readonly terminal: TerminalUse;
  readonly #kind: LauncherKind;
  #isWalled = false;
  #waiting: Waiting | undefined;
  #group: ControlGroup | undefined;
  #inGroup: Promise<void> = Promise.resolve();

  /** Returns the launcher that was started ahead if it is of the same kind, else a new one. */
  static start(kind: CommandKind): CommandLauncher {
    const ahead = startedAhead;
    startedAhead = undefined;
    if (ahead?.is(kind)) return ahead;
    ahead?.[Symbol.dispose]();
    return new CommandLauncher({ ...kind, privileged: mayMountOnMachine() });
  }

  private constructor(kind: LauncherKind) {
    this.#kind = kind;
    const waiting = this.#start(undefined);
    this.#waiting = waiting;
    this.terminal = waiting.streams.terminal;
  }

  /** Whether commands start without namespaces. */
  get isWalled(): boolean {
    return this.#isWalled;
  }

  /** Starts again, without namespaces: this machine refused them. */
  useWalls(): void {
    this.#discard();
    this.#isWalled = true;
  }

  /** Moves the launcher into a control group while other work goes on; `launch` waits for that. */
  confineTo(group: ControlGroup): void {
    this.#group = group;
    if (this.#waiting !== undefined) this.#confine(this.#waiting.process, group);
  }

  /**
   * Resolves when the command is up. Fails if something can't be mounted; then nothing runs, and the caller
   * can try again.
   */
  async launch(command: CommandSpec): Promise<RunningCommandProcess> {
    const joins = "joins" in command ? command.joins : undefined;
    if (joins !== undefined) this.#discard();
    const waiting = this.#waiting ?? this.#start(joins);
    this.#waiting = waiting;
    await this.#inGroup;
    this.#waiting = undefined;
    const { streams, process } = waiting;
    const terminal = streams.openTerminal();
    const { privileged } = this.#kind;
    const spec = {
      ...command,
      ...("steps" in command && { privileged }),
      ...(streams.inputFile !== undefined && { inputFile: streams.inputFile }),
      ...(terminal !== undefined && { terminal: { ...terminal.shape, streams: streams.terminals } }),
    };
    const report = await process.launch(JSON.stringify(spec));
    if (report.ready) return connected(waiting, terminal, report.weaker);
    terminal?.close();
    await process.ended;
    await streams.finish();
    streams.discard();
    process.close();
    throw startFailure(report);
  }

  is({ stdout, openStreams }: CommandKind): boolean {
    const { stdout: ownStdout, openStreams: own } = this.#kind;
    return ownStdout === stdout && own === openStreams;
  }

  /** Ends a launcher that got no specification. */
  [Symbol.dispose](): void {
    this.#discard();
  }

  #discard(): void {
    this.#waiting?.process.kill();
    this.#waiting?.process.close();
    this.#waiting?.streams.discard();
    this.#waiting = undefined;
  }

  #start(joins: number | undefined): Waiting {
    const { stdout, openStreams } = this.#kind;
    const streams = openStreams?.() ?? new HandedStreams(stdout === "stderr" ? 2 : 1);
    const process = LauncherProcess.start(POINTS.start, streams.descriptors, (descriptors) => {
      const program = ownProgram(import.meta.dirname, LOCATIONS);
      const { privileged } = this.#kind;
      if (joins === undefined && !this.#isWalled && canFork(program.main))
        return new ForkedLauncher(program.main, descriptors, { users: !privileged });
      return this.#spawn(program, descriptors, joins);
    });
    streams.start();
    if (this.#group !== undefined) this.#confine(process, this.#group);
    return { process, streams };
  }

  #spawn(
    { file, args, environment }: OwnProgram,
    descriptors: LauncherDescriptors,
    joins: number | undefined,
  ): SpawnedLauncher {
    const [first = "", ...rest] = this.#isWalled
      ? [...kept(this.tools), file, ...args, KEEP]
      : [...entering(this.#kind, this.tools, joins), file, ...FORKING_FLAGS, ...args];
    // Messages that Drydock may show are in one language.
    const program = { file: first, args: rest, environment: { ...environment, LC_ALL: "C" } };
    return new SpawnedLauncher(program, descriptors, this.#isWalled ? END_SIGNAL : "SIGKILL");
  }

  /** Waits until the launcher is up: what Node needs to start does not count, and may exceed the limit. */
  #confine(process: LauncherProcess, group: ControlGroup): void {
    this.#inGroup = process.waiting.then(() => group.add(process.origins));
    // A failure here fails the launch that waits for it.
    void Promise.allSettled([this.#inGroup]);
  }
}

/**
 * The programs that make the namespaces. Each dies with its parent, so nothing outlives Drydock. The launcher
 * makes its mount namespace itself, as late as possible, so that it sees what the host mounts until then.
 */
function entering({ privileged }: LauncherKind, tools: Tools, joins: number | undefined): readonly string[] {
  // Root of a user namespace may make the other namespaces, and enter those made from there.
  const users = privileged ? [] : ["--user", "--map-root-user"];
  const enter = [tools.nsenter, `--target=${joins}`, "--user", "--preserve-credentials", "--"];
  return [
    ...[tools.setpriv, "--pdeathsig", "KILL", "--"],
    ...(joins === undefined || privileged ? [] : enter),
    ...[tools.unshare, "--pid", "--ipc", ...(joins === undefined ? users : [])],
    ...["--fork", "--kill-child", "--"],
  ];
}

/** Without namespaces, the launcher is kept by another one, which ends everything when Drydock dies. */
function kept({ setpriv }: Tools): readonly string[] {
  return [setpriv, "--pdeathsig", END_SIGNAL.replace("SIG", ""), "--"];
}

function connected(
  { process, streams }: Waiting,
  terminal: OuterTerminal | undefined,
  weaker: readonly string[],
): RunningCommandProcess {
  const input = streams.inputFile === undefined ? undefined : process.take();
  const link = terminal?.connect(process.take());
  process.onWaiting = async (why) => {
    if (why === "stopped") await link?.stop();
    else link?.takeKeyboard();
  };
  const end = async () => {
    const code = await process.ended;
    await link?.end();
    await streams.finish();
    if (input !== undefined) {
      HandedStreams.followInput(input);
      closeFile(input);
    }
    process.close();
    return code;
  };
  return {
    first: process.first,
    weaker,
    ended: end(),
    output: () => streams.kept?.output().text,
    takeSocket: () => process.take(),
    kill: () => process.kill(),
    signal: (name) => process.signal(name),
  };
}

/** The error for what the launcher, or the programs that start it, wrote. */
function startFailure({ said, noNamespaces }: StartReport & { readonly ready: false }): UnsupportedError {
  const lines = said.split("\n").map((line) => line.trim().replace(/\.$/, ""));
  const why = lines.filter(Boolean).map(displayPath).join("; ") || "a program of the system failed";
  const message = `The command could not be put inside: ${why}.`;
  return new UnsupportedError(message, { code: "COMMAND_NOT_STARTED", details: { noNamespaces, why } });
}

/** Whether an error says that this process can have no namespaces. */
export function isWithoutNamespaces(thrown: unknown): thrown is UnsupportedError {
  return thrown instanceof UnsupportedError && thrown.details["noNamespaces"] === true;
}

/** A command that can't be recorded or watched must not go on. */
export async function killIfItFails(
  running: RunningCommandProcess,
  action: () => Promise<void>,
): Promise<void> {
  try {
    await action();
  } catch (thrown) {
    running.kill();
    await running.ended;
    throw thrown;
  }
}
