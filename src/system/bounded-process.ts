import type { ChildProcess } from "node:child_process";
import { InterruptedError } from "../core/errors.ts";
import { childProcesses } from "./child-processes.ts";
import { failedWith } from "./errno.ts";
import { withoutInherited } from "./inherited-descriptors.ts";
import { systemProgram } from "./programs.ts";

/** A program that is run to its end, and never waited for without end. */
export interface BoundedProgram {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: { readonly [name: string]: string };
  readonly input?: Uint8Array;
  /** It is ended when it has said nothing for so long, by which a long piece of work that tells how far it is may take its time. */
  readonly limitMs: number;
  /** Aborting it ends the program. */
  readonly signal?: AbortSignal;
  /** Gets the output piece by piece instead of it being kept. */
  readonly onOutput?: (bytes: Buffer) => void;
  /** Gets what it says on standard error, as it says it. */
  readonly onSaid?: (text: string) => void;
}

/** How it ended. */
export interface BoundedOutcome {
  /** Its exit code; undefined if a signal ended it. */
  readonly code: number | undefined;
  readonly stdout: Buffer;
  /** The end of what it had to say. */
  readonly stderr: string;
  /** It was ended by us, because it took too long. */
  readonly tookTooLong: boolean;
}

/** How long a program that was asked to end may take for it. */
const GRACE_MS = 1500;
const MOST_SAID = 64 * 1024;

/**
 * Runs a program in a process group of its own. What takes too long is asked to end, with everything it started, and then made to: a program that
 * is asked can still take its lock files away. It is asked, too, when this process dies.
 */
export async function runBounded(program: BoundedProgram): Promise<BoundedOutcome> {
  if (isAborted(program)) throw new InterruptedError();
  const child = start(program);
  const stdout: Buffer[] = [];
  let stderr = Buffer.alloc(0);
  const watch = new Watch(child, program.limitMs);
  child.stdout?.on("data", (bytes: Buffer) => {
    watch.heard();
    if (program.onOutput === undefined) stdout.push(bytes);
    else program.onOutput(bytes);
  });
  child.stderr?.on("data", (bytes: Buffer) => {
    watch.heard();
    stderr = Buffer.concat([stderr, bytes]).subarray(-MOST_SAID);
    program.onSaid?.(bytes.toString());
  });
  const interrupt = () => watch.end();
  program.signal?.addEventListener("abort", interrupt, { once: true });
  try {
    feed(child, program.input);
    const code = await watch.ended;
    if (isAborted(program) && code !== 0) throw new InterruptedError();
    return { code, stdout: Buffer.concat(stdout), stderr: stderr.toString(), tookTooLong: watch.tookTooLong };
  } finally {
    watch.stop();
    program.signal?.removeEventListener("abort", interrupt);
  }
}

/** Ends a program that has been silent for too long, whether it lets itself be ended or not. */
class Watch {
  readonly ended: Promise<number | undefined>;
  tookTooLong = false;
  readonly #child: ChildProcess;
  readonly #limitMs: number;
  #timer: NodeJS.Timeout;
  #force: NodeJS.Timeout | undefined;
  #giveUp: (code: undefined) => void = () => undefined;

  constructor(child: ChildProcess, limitMs: number) {
    this.#child = child;
    this.#limitMs = limitMs;
    this.#timer = this.#newTimer();
    this.ended = new Promise((resolve, reject) => {
      this.#giveUp = resolve;
      child.once("error", reject);
      child.once("close", (code) => resolve(code ?? undefined));
    });
  }

  heard(): void {
    clearTimeout(this.#timer);
    this.#timer = this.#newTimer();
  }

  end(): void {
    signalGroup(this.#child, "SIGTERM");
    this.#force ??= setTimeout(() => {
      signalGroup(this.#child, "SIGKILL");
      // What has left the group may hold the pipes open for ever.
      this.#force = setTimeout(() => this.#giveUp(undefined), GRACE_MS);
    }, GRACE_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#force);
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream?.destroy();
  }

  #newTimer(): NodeJS.Timeout {
    return setTimeout(() => {
      this.tookTooLong = true;
      this.end();
    }, this.#limitMs);
  }
}

/** Asked anew each time: it changes meanwhile. */
function isAborted({ signal }: BoundedProgram): boolean {
  return signal?.aborted === true;
}

function start({ file, args, cwd, environment }: BoundedProgram): ChildProcess {
  const setpriv = systemProgram("setpriv");
  const [program, ...before] = setpriv === undefined ? [file] : [setpriv, "--pdeathsig", "TERM", "--", file];
  return withoutInherited(() =>
    childProcesses().spawn(program as string, [...before, ...args], {
      cwd,
      env: environment,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    }),
  );
}

/** A program that ends without reading all of it says by its exit code whether that is right. */
function feed(child: ChildProcess, input: Uint8Array | undefined): void {
  child.stdin?.on("error", (thrown) => {
    if (!failedWith(thrown, "EPIPE", "ECONNRESET")) throw thrown;
  });
  child.stdin?.end(input ?? Buffer.alloc(0));
}

function signalGroup({ pid }: ChildProcess, name: "SIGTERM" | "SIGKILL"): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch (thrown) {
    // All of it has ended by itself.
    if (!failedWith(thrown, "ESRCH")) throw thrown;
  }
}
