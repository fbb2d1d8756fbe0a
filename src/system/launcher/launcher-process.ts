import { closeSync } from "node:fs";
import { failedWith } from "../calls/errno.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { socketPair, takeDescriptor } from "../process/passed-descriptor.ts";
import { childrenOf, commandOf, SUPERVISOR_NAME } from "../process/processes.ts";

/** What a launcher is started with: descriptors 0, 1 and 2 of the command, and a socket to us. */
export interface LauncherDescriptors {
  readonly streams: readonly [number, number, number];
  readonly passing: number;
}

/** A launcher as a process, however it was started: spawned-launcher.ts and forked-launcher.ts. */
export interface LauncherChild {
  /** The first process of its namespaces, once it is there. */
  readonly first: number | undefined;
  /** The exit code; 128 plus the number of the signal that ended it. */
  readonly ended: Promise<number>;
  /** Sends text to its control socket. */
  write(text: string): void;
  /**
   * Calls `hear` with the text that comes from its control socket. Resolves when no report can come any more,
   * with what it and the programs that start it complained of.
   */
  listen(hear: (text: string) => void): Promise<string>;
  /** Ends it with everything that it started. */
  kill(): void;
  /** Closes our side of its control socket. */
  close(): void;
}

/** What the launcher reported: the command is up, or an error. */
export type StartReport =
  | {
      readonly ready: true;
      /** Paths at which the command sees what the whole machine has, because the kernel refused its own. */
      readonly weaker: readonly string[];
    }
  | {
      readonly ready: false;
      readonly said: string;
      /** It may make no namespaces, or no mounts in them, whatever the command. */
      readonly noNamespaces: boolean;
    };

const WAITING = "waiting";
const READY = "ready";
const FAILED = "failed ";
const DENIED = "denied ";
const WEAKER = "weaker ";
/** The programs that make namespaces, as they begin their messages. */
const PROGRAMS = /^(?:unshare|nsenter|setpriv): /m;
const LOOK_AGAIN_MS = 10;
/** The longest time for building a view. */
const LIMIT_MS = 60_000;

/**
 * A process that waits to become a command in its own namespaces: the first process there, whose first child
 * is the command, or a supervisor (run/call-supervisor/) and then the command.
 * run/launch/launch-spec.ts describes its descriptors.
 */
export class LauncherProcess {
  /** The exit code; 128 plus the number of the signal that ended it. */
  readonly ended: Promise<number>;
  /**
   * Called when the command was stopped or wants the keyboard. The command goes on when the promise resolves.
   */
  onWaiting: (why: "stopped" | "keyboard") => Promise<void> = () => Promise.resolve();
  /** Resolves when the launcher is up and waits for its specification, or has ended. */
  readonly waiting: Promise<void>;
  #isWaiting: () => void = () => undefined;
  #hasWaited = false;
  #hasEnded = false;
  readonly #weaker: string[] = [];
  readonly #child: LauncherChild;
  readonly #passing: number;
  readonly #report: Promise<StartReport>;

  private constructor(child: LauncherChild, passing: number) {
    this.#child = child;
    this.#passing = passing;
    this.ended = child.ended.finally(() => {
      this.#hasEnded = true;
    });
    this.waiting = new Promise((resolve) => {
      this.#isWaiting = resolve;
    });
    this.#report = this.#listen();
    // Nothing waits for an unused launcher, so its end must not become an unhandled rejection.
    void Promise.allSettled([this.#report, this.ended]);
  }

  /** `start` starts the process with these descriptors. */
  static start(
    point: Failpoint,
    streams: LauncherDescriptors["streams"],
    start: (descriptors: LauncherDescriptors) => LauncherChild,
  ): LauncherProcess {
    passFailpoint(point);
    const [ours, theirs] = socketPair();
    try {
      return new LauncherProcess(start({ streams, passing: theirs }), ours);
    } finally {
      closeSync(theirs);
    }
  }

  /** Sends the specification, and waits for the report. */
  async launch(specification: string): Promise<StartReport> {
    this.#child.write(`${specification}\n`);
    // A file system of the host that does not answer must not block us for ever.
    const clock = setTimeout(() => this.kill(), LIMIT_MS);
    try {
      return await this.#report;
    } finally {
      clearTimeout(clock);
    }
  }

  /** The next descriptor that the launcher passed to us. */
  take(): number {
    return takeDescriptor(this.#passing);
  }

  /** The pid of the first process of the namespaces; other commands join them through it. */
  get first(): number | undefined {
    return this.#child.first;
  }

  /** The ancestor of all processes of the command, for its control group: none once it has ended. */
  get origins(): readonly number[] {
    const first = this.#hasEnded ? undefined : this.first;
    return first === undefined ? [] : [first];
  }

  /** Kills the command with everything it started, or the launcher that still waits. */
  kill(): void {
    this.#child.kill();
  }

  /** Sends a signal to the command, as soon as there is one. Does nothing after its end. */
  signal(name: NodeJS.Signals): void {
    if (this.#hasEnded) return;
    const { first } = this;
    const children = first === undefined ? [] : childrenOf(first);
    const command = children.find((pid) => commandOf(String(pid)) !== SUPERVISOR_NAME);
    if (command === undefined || !isSent(command, name)) setTimeout(() => this.signal(name), LOOK_AGAIN_MS);
  }

  /** Closes the remaining descriptors after the end. */
  close(): void {
    closeSync(this.#passing);
    this.#child.close();
  }

  async #listen(): Promise<StartReport> {
    let rest = "";
    return await new Promise((resolve, reject) => {
      const heard = this.#child.listen((text) => {
        const lines = `${rest}${text}`.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) this.#hear(line, resolve);
      });
      heard.then((said) => {
        this.#isWaiting();
        const why = said.trim() || "its launcher was ended";
        resolve({ ready: false, said: why, noNamespaces: !this.#hasWaited && PROGRAMS.test(said) });
      }, reject);
    });
  }

  #hear(line: string, report: (report: StartReport) => void): void {
    const failure = [FAILED, DENIED].find((word) => line.startsWith(word));
    if (line === WAITING) {
      this.#hasWaited = true;
      this.#isWaiting();
    } else if (line === READY) report({ ready: true, weaker: this.#weaker });
    else if (line.startsWith(WEAKER)) this.#weaker.push(line.slice(WEAKER.length));
    else if (failure !== undefined)
      report({
        ...{ ready: false, said: JSON.parse(line.slice(failure.length)) },
        noNamespaces: failure === DENIED,
      });
    else if (line === "stopped" || line === "keyboard") this.#pause(line);
  }

  #pause(why: "stopped" | "keyboard"): void {
    void this.onWaiting(why).then(() => this.#child.write("continue\n"));
  }
}

/** False if the process is gone. */
function isSent(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch (thrown) {
    if (failedWith(thrown, "ESRCH")) return false;
    throw thrown;
  }
}
