import type { ChildProcess } from "node:child_process";
import { UnsupportedError } from "../../core/errors/errors.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { readLinkIfThere } from "../process/processes.ts";
import { systemProgram } from "../process/programs.ts";
import { closePipes, signalGroup, startProcess } from "../process/start-process.ts";

/**
 * Its own `kill -1` reaches neither this shell nor the first process of the namespace. A wake reaches the
 * first process too, by its number.
 */
const SCRIPT = `trap '' HUP INT TERM
drydock_wake='-1 1'
echo ready
while read -r drydock_verb drydock_pids; do
  case $drydock_verb in
  stop) kill -STOP $drydock_pids ;;
  wake) drydock_wake=$drydock_pids ;;
  esac
  echo done
done
kill -CONT $drydock_wake
exit 0`;
const LONGEST_ANSWER_MS = 10_000;

/**
 * A shell in a pid namespace that stops and wakes the processes there for us. Its input is a pipe from this
 * process. When that ends, it wakes them: so nothing stays stopped if this process is killed.
 */
export class StopGuard {
  readonly #child: ChildProcess;
  #answer = Promise.withResolvers<void>();
  /** Its exit code; null if it was killed, or could not be started. */
  readonly #ended: Promise<number | null>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    // A guard that has ended can't be written to; its end is reported.
    child.stdin?.on("error", () => undefined);
    child.stdout?.on("data", () => this.#answer.resolve());
    const { promise, resolve } = Promise.withResolvers<number | null>();
    child.once("error", () => resolve(null));
    child.once("close", resolve);
    this.#ended = promise;
  }

  /** Enters the pid namespace of `anchor`, as the user who made it. */
  static async start(point: Failpoint, anchor: number): Promise<StopGuard> {
    const [nsenter, sh] = [systemProgram("nsenter"), systemProgram("sh")];
    if (nsenter === undefined || sh === undefined)
      throw new UnsupportedError("Commands can't be made to stand still: nsenter is not installed.", {
        hint: "Install util-linux.",
      });
    const isOtherUser = readLinkIfThere(`/proc/${anchor}/ns/user`) !== readLinkIfThere("/proc/self/ns/user");
    const users = isOtherUser ? ["--user", "--preserve-credentials"] : [];
    const args = [`--target=${anchor}`, ...users, "--pid", "--", sh, "-c", SCRIPT];
    passFailpoint(point);
    const guard = new StopGuard(startProcess({ file: nsenter, args }, ["pipe", "pipe", "ignore"]));
    await guard.#answered();
    return guard;
  }

  /** The pid of its parent, which is outside of the namespace. */
  get parent(): number {
    return this.#child.pid ?? 0;
  }

  /** Gives it an order, and waits until it is carried out. */
  async tell(order: string): Promise<void> {
    this.#answer = Promise.withResolvers();
    this.#child.stdin?.write(`${order}\n`);
    await this.#answered();
  }

  /** Wakes the processes. Returns whether it could do so. */
  async end(): Promise<boolean> {
    this.#child.stdin?.end();
    const code = await this.#inTime(this.#ended);
    closePipes(this.#child);
    return code === 0;
  }

  async #answered(): Promise<void> {
    const ended = this.#ended.then((code) => {
      const why = code === null ? "was killed" : `ended with exit code ${code}`;
      throw new UnsupportedError(
        `Commands can't be made to stand still: the process that stops them ${why}.`,
      );
    });
    await this.#inTime(Promise.race([this.#answer.promise, ended]));
  }

  async #inTime<T>(result: Promise<T>): Promise<T> {
    const timer = setTimeout(() => signalGroup(this.#child, "SIGKILL"), LONGEST_ANSWER_MS);
    try {
      return await result;
    } finally {
      clearTimeout(timer);
    }
  }
}
