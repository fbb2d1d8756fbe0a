import type { ChildProcess } from "node:child_process";
import { InterruptedError, UnsupportedError } from "../../core/errors/errors.ts";
import { translated } from "../calls/errno.ts";
import { closePipes, endingWithUs, feed, type Program, signalGroup, startProcess } from "./start-process.ts";

/** Limits for a program, and receivers of its output. */
export interface ProcessBounds {
  /**
   * Idle timeout: a program that writes nothing for so long is ended, so a long one that reports progress may
   * run on.
   */
  readonly limitMs: number;
  readonly input?: Uint8Array;
  /** Descriptors that the program gets as 3 and up. */
  readonly descriptors?: readonly number[];
  /** Aborts the program. */
  readonly signal?: AbortSignal;
  /** Receives the output piece by piece; then none is returned. */
  readonly onOutput?: (bytes: Buffer) => void;
  /** Receives each piece of standard error. */
  readonly onSaid?: (text: string) => void;
  /** A program that writes more is ended, unless `onOutput` takes it. */
  readonly mostOutput?: number;
}

/** How a program ended. */
export interface ProcessOutcome {
  /** Its exit code; undefined if a signal ended it. */
  readonly code: number | undefined;
  readonly stdout: Buffer;
  /** The end of its standard error. */
  readonly stderr: string;
  /** Whether we ended it because it took too long. */
  readonly tookTooLong: boolean;
}

/** How long a program may take to end after it is asked to. */
const GRACE_MS = 1500;
/** Node can't make a longer string. */
const MOST_OUTPUT = 512 * 1024 ** 2 - 1024;
const MOST_SAID = 64 * 1024;

/**
 * Runs a program until it ends, but never waits for ever. A program that takes too long gets SIGTERM, with
 * everything it started, so that it can still remove its lock files; then it is killed. It also gets SIGTERM
 * when this process dies.
 */
export async function runProcess(program: Program, bounds: ProcessBounds): Promise<ProcessOutcome> {
  if (isAborted(bounds)) throw new InterruptedError();
  const child = startProcess(endingWithUs(program, "TERM"), [
    "pipe",
    "pipe",
    "pipe",
    ...(bounds.descriptors ?? []),
  ]);
  const watch = new Watch(child, program.file, bounds.limitMs);
  const output = collected(child, program, bounds, watch);
  const interrupt = () => watch.end();
  bounds.signal?.addEventListener("abort", interrupt, { once: true });
  try {
    feed(child, bounds.input ?? "");
    const code = await watch.ended;
    if (isAborted(bounds) && code !== 0) throw new InterruptedError();
    return { code, ...output(), tookTooLong: watch.tookTooLong };
  } finally {
    watch.stop();
    bounds.signal?.removeEventListener("abort", interrupt);
  }
}

/** Collects both outputs. The returned function gives what is kept of them. */
function collected(child: ChildProcess, { file }: Program, bounds: ProcessBounds, watch: Watch) {
  const { onOutput, onSaid, mostOutput = MOST_OUTPUT } = bounds;
  const stdout: Buffer[] = [];
  let length = 0;
  let stderr = Buffer.alloc(0);
  child.stdout?.on("data", (bytes: Buffer) => {
    watch.heard();
    if (onOutput !== undefined) return onOutput(bytes);
    length += bytes.length;
    if (length <= mostOutput) stdout.push(bytes);
    else watch.end();
  });
  child.stderr?.on("data", (bytes: Buffer) => {
    watch.heard();
    stderr = Buffer.concat([stderr, bytes]).subarray(-MOST_SAID);
    onSaid?.(bytes.toString());
  });
  return () => {
    if (length > mostOutput)
      throw new UnsupportedError(`${file} wrote more than ${mostOutput} bytes and was ended.`, {
        hint: "Work on fewer files at once.",
      });
    return { stdout: Buffer.concat(stdout), stderr: stderr.toString() };
  };
}

/** Ends a program that has been silent for too long, by force if necessary. */
class Watch {
  readonly ended: Promise<number | undefined>;
  tookTooLong = false;
  readonly #child: ChildProcess;
  readonly #limitMs: number;
  #timer: NodeJS.Timeout;
  #force: NodeJS.Timeout | undefined;
  #giveUp: (code: undefined) => void = () => undefined;

  constructor(child: ChildProcess, file: string, limitMs: number) {
    this.#child = child;
    this.#limitMs = limitMs;
    this.#timer = this.#newTimer();
    this.ended = new Promise((resolve, reject) => {
      this.#giveUp = resolve;
      child.once("error", (thrown) => reject(translated(thrown, "start", file)));
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
      // A process that has left the group may keep the pipes open for ever.
      this.#force = setTimeout(() => this.#giveUp(undefined), GRACE_MS);
    }, GRACE_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#force);
    closePipes(this.#child);
  }

  #newTimer(): NodeJS.Timeout {
    return setTimeout(() => {
      this.tookTooLong = true;
      this.end();
    }, this.#limitMs);
  }
}

/** A function, because the answer changes meanwhile. */
function isAborted({ signal }: ProcessBounds): boolean {
  return signal?.aborted === true;
}
