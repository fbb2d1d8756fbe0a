import type { SandboxStrategy, StrategyContext } from "../../../core/strategy.ts";
import type { MethodName } from "../method-table.ts";
import type { ProgramDescription } from "./program-protocol.ts";
import type { RunningProgram } from "./running-program.ts";

/** How long a process stays for the next call. */
const IDLE_MS = 1000;

/** A described program, with the options that it has accepted. */
export interface AcceptedProgram {
  /** A process of it that has not been opened. */
  readonly start: () => RunningProgram;
  readonly description: ProgramDescription;
  readonly options: unknown;
}

/**
 * A strategy whose methods a program has. The process starts with the first call and ends when it is idle:
 * by the contract no strategy needs its memory between two calls.
 */
export function programStrategy(accepted: AcceptedProgram, context: StrategyContext): SandboxStrategy {
  const { name, version, capabilities, methods } = accepted.description;
  const calls = new ProgramCalls(accepted, context);
  return {
    name,
    ...(version !== undefined && { version }),
    capabilities,
    ...Object.fromEntries(
      methods.map((method) => [method, (...args: readonly unknown[]) => calls.call(method, args)]),
    ),
    // The registry checks the capabilities and the methods.
  } as unknown as SandboxStrategy;
}

class ProgramCalls {
  readonly #accepted: AcceptedProgram;
  readonly #context: StrategyContext;
  #running: RunningProgram | undefined;
  #underWay = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(accepted: AcceptedProgram, context: StrategyContext) {
    this.#accepted = accepted;
    this.#context = context;
  }

  async call(method: MethodName, args: readonly unknown[]): Promise<unknown> {
    clearTimeout(this.#idle);
    this.#underWay += 1;
    try {
      const result = await this.#process().call(method, args, this.#context);
      // Other languages have one word for "none". Only prepare tells null from undefined.
      return result === null && method !== "prepare" ? undefined : result;
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
    }
  }

  #process(): RunningProgram {
    if (this.#running !== undefined && !this.#running.hasEnded) return this.#running;
    const { start, options } = this.#accepted;
    const { stateDir, policy } = this.#context;
    this.#running = start();
    this.#running.open({ stateDir, policy, options });
    return this.#running;
  }

  #end(): void {
    this.#running?.end();
    this.#running = undefined;
  }
}
