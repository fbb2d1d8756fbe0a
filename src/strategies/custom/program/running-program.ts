import { AsyncLocalStorage } from "node:async_hooks";
import { DrydockError, messageOf } from "../../../core/errors/errors.ts";
import { type PlainError, plainError } from "../../../core/errors/revive-error.ts";
import type { SandboxRef } from "../../../core/sandbox.ts";
import type { IntendedPlace, StrategyContext } from "../../../core/strategy.ts";
import { encodeMarked } from "../../../core/values/marked-json.ts";
import { LineProcess } from "../../../system/process/line-process.ts";
import { revive } from "../foreign-errors.ts";
import type { MethodName } from "../method-table.ts";
import {
  type ProgramDescription,
  type ProgramMessage,
  type ProgramSettings,
  readMessage,
} from "./program-protocol.ts";

/** The file of a program, and the environment that it gets. */
export interface StrategyProgram {
  readonly path: string;
  readonly folder: string;
  readonly environment: { readonly [name: string]: string };
}

/** The methods of the context that a program may ask for. */
const ASKED: {
  readonly [method: string]: (context: StrategyContext, args: readonly unknown[]) => unknown;
} = {
  recordIntent: async (context, [ref, places]) =>
    await context.recordIntent(ref as SandboxRef, places as readonly IntendedPlace[]),
  recordLoss: async (context, [ref, why]) => await context.recordLoss?.(ref as SandboxRef, String(why)),
  failpoint: (context, [name]) => context.failpoint(String(name)),
  secretsOf: (context, [planId]) => context.secretsOf?.(String(planId)) ?? {},
};

interface PendingCall {
  readonly context: StrategyContext;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  /** Runs a function as a part of the operation that made the call. */
  readonly within: <T>(action: () => T) => T;
}

/** A process of a strategy's program. */
export class RunningProgram {
  readonly #process: LineProcess;
  readonly #calls = new Map<number, PendingCall>();
  readonly #described = Promise.withResolvers<ProgramDescription>();
  #lastCall = 0;
  #whyEnded: string | undefined;

  constructor({ path, folder, environment }: StrategyProgram) {
    this.#process = new LineProcess(
      { file: path, args: [], cwd: folder, environment },
      { line: (text) => this.#take(readMessage(text)), ended: (why) => this.#end(why) },
    );
    // The description may be asked for later, or never.
    this.#described.promise.catch(() => undefined);
  }

  /** Whether this process stays alive for it. */
  set isAwaited(isAwaited: boolean) {
    this.#process.isAwaited = isAwaited;
  }

  get hasEnded(): boolean {
    return this.#whyEnded !== undefined;
  }

  get description(): Promise<ProgramDescription> {
    return this.#described.promise;
  }

  open(settings: ProgramSettings): void {
    this.#send({ open: settings });
  }

  /** Calls a method. Fails by the error of the program, or because it ends or writes nonsense. */
  async call(method: MethodName, args: readonly unknown[], context: StrategyContext): Promise<unknown> {
    if (this.#whyEnded !== undefined) throw ended(this.#whyEnded);
    this.#lastCall += 1;
    const call = this.#lastCall;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#calls.set(call, { context, resolve, reject, within: AsyncLocalStorage.snapshot() });
    this.#process.isAwaited = true;
    const { signal } = context;
    const interrupted = () => this.#interrupt(call, signal.reason);
    this.#send({ call, method, arguments: args });
    if (signal.aborted) interrupted();
    else signal.addEventListener("abort", interrupted, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", interrupted);
      this.#calls.delete(call);
      if (this.#calls.size === 0) this.#process.isAwaited = false;
    }
  }

  end(): void {
    this.#process.isAwaited = false;
    this.#process.end();
  }

  /** Ends the program by force. */
  stop(why: string): void {
    this.#process.stop(why);
  }

  /** After the limit of a call no one waits for the program, so it must not go on. */
  #interrupt(call: number, reason: unknown): void {
    if (reason instanceof DrydockError && reason.code === "STRATEGY_TIMEOUT") this.stop("took too long");
    else this.#send({ cancel: call });
  }

  #take(message: ReturnType<typeof readMessage>): void {
    if (message.kind === "nonsense") this.stop(`wrote nonsense: ${message.problem}`);
    else if (message.kind === "strategy") this.#described.resolve(message.strategy);
    else this.#takeOf(message);
  }

  #takeOf(message: Exclude<ProgramMessage, { readonly kind: "strategy" }>): void {
    const call = this.#calls.get(message.call);
    if (call === undefined) {
      // An answer after the limit is late, not wrong.
      if (message.call < 1 || message.call > this.#lastCall)
        this.stop(`answered the call ${message.call}, which was not made`);
      return;
    }
    if (message.kind === "result") call.resolve(message.result);
    else if (message.kind === "error") call.reject(errorOf(message.error));
    else if (message.kind === "progress")
      call.within(() => call.context.progress(progressOf(message.progress)));
    else void call.within(() => this.#answer(call.context, message));
  }

  async #answer(
    context: StrategyContext,
    { ask, method, arguments: args }: Extract<ProgramMessage, { kind: "ask" }>,
  ) {
    try {
      const asked = Object.hasOwn(ASKED, method) ? ASKED[method] : undefined;
      if (asked === undefined)
        throw new Error(`There is no ${method} to ask for: there is ${Object.keys(ASKED).join(", ")}.`);
      this.#send({ ask, result: (await asked(context, args)) ?? null });
    } catch (thrown) {
      const error =
        thrown instanceof DrydockError ? plainError(thrown) : { name: "Error", message: messageOf(thrown) };
      this.#send({ ask, error });
    }
  }

  #send(message: object): void {
    this.#process.send(encodeMarked(message));
  }

  #end(why: string): void {
    this.#whyEnded = why;
    this.#described.reject(ended(why));
    for (const { reject } of this.#calls.values()) reject(ended(why));
  }
}

function ended(why: string): Error {
  return new Error(`Its program ${why}`);
}

function errorOf(given: PlainError): Error {
  const { name, message, ...facts } = given;
  const error = Object.assign(new Error(message), facts, { name });
  return revive(error) ?? error;
}

function progressOf({ task, done, total }: Extract<ProgramMessage, { kind: "progress" }>["progress"]) {
  return { task, done, ...(total !== undefined && { total }) };
}
