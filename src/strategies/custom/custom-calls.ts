import { UsageError } from "../../core/errors/errors.ts";
import { type MadeWith, type SandboxRef, sandboxIdFor } from "../../core/sandbox.ts";
import type { SandboxStrategy } from "../../core/strategy.ts";
import { copyPlain } from "../../core/values/plain-data.ts";
import { CallLimit } from "./call-limit.ts";
import { invalidResult } from "./foreign-errors.ts";
import { type Answer, type ArgumentsOf, answerOf, METHODS, type MethodName } from "./method-table.ts";

/** A strategy, and the mark of its sandboxes. */
interface CalledStrategy {
  readonly name: string;
  readonly strategy: SandboxStrategy;
  readonly madeWith: MadeWith;
}

/** A sandbox that a strategy is asked to make: its reference without the fields that the strategy adds. */
type AskedSandbox = Omit<SandboxRef, "metadata" | "capabilities">;

/**
 * Calls one instance of a strategy of the user's own. Every call is bounded in time and gets copies of
 * Drydock's data, and its answer is checked.
 */
export class CustomCalls {
  readonly limit: CallLimit;
  /** The sandboxes that the instance is making now, by id. */
  readonly #asked = new Map<string, AskedSandbox>();
  /** Loaded at the first call, because built-in strategies need no zod. */
  #schemas: Promise<typeof import("./results.ts")> | undefined;

  constructor(limitMilliseconds: number, user: () => AbortSignal) {
    this.limit = new CallLimit(limitMilliseconds, user);
  }

  async call<M extends MethodName>(to: CalledStrategy, method: M, args: ArgumentsOf<M>): Promise<Answer<M>> {
    if (method !== "create") return await this.#checked(to, method, args);
    const asked = askedSandbox(to, args as ArgumentsOf<"create">);
    this.#asked.set(asked.sandboxId, asked);
    try {
      const sandbox = (await this.#checked(to, method, args)) as SandboxRef;
      const difference = differenceOf(sandbox, asked);
      if (difference !== undefined) throw invalidResult(method, to.name, difference);
      return { ...sandbox, ...asked } as Answer<M>;
    } finally {
      this.#asked.delete(asked.sandboxId);
    }
  }

  /**
   * Checks the reference of a sandbox that this instance is making now. An instance may record no other
   * sandbox, because it could take over those of other plans.
   */
  async refInMaking(value: unknown): Promise<SandboxRef> {
    const hint =
      "Call recordIntent in create, with the ref that create is going to return; sandboxIdFor gives its id.";
    const checked = (await this.#results()).checkedAnswer("create", value);
    if ("problem" in checked)
      throw new UsageError(`recordIntent got an invalid ref: ${checked.problem}.`, {
        hint,
      });
    const asked = this.#asked.get(checked.answer.sandboxId);
    if (asked !== undefined && differenceOf(checked.answer, asked) === undefined)
      return { ...checked.answer, ...asked };
    throw new UsageError("recordIntent got the ref of a sandbox that this strategy was not asked to make.", {
      hint,
      code: "FOREIGN_SANDBOX",
    });
  }

  async #checked<M extends MethodName>(
    to: CalledStrategy,
    method: M,
    args: ArgumentsOf<M>,
  ): Promise<Answer<M>> {
    const { checkedAnswer } = await this.#results();
    const { finishes = false, nothing, reported } = METHODS[method];
    // A diff is checked as a whole, so the argument that would receive single changes is left out.
    const own = (method === "diff" ? args.slice(0, 1) : args).map(ownCopy) as ArgumentsOf<M>;
    const bounds = { strategy: to.name, method, finishes };
    const checked = checkedAnswer(
      method,
      await this.limit.within(bounds, async () => await answerOf(to.strategy, method, own)),
    );
    if ("answer" in checked) return checked.answer;
    const error = invalidResult(method, to.name, `an invalid result: ${checked.problem}`);
    if (reported === undefined || nothing === undefined) throw error;
    const message = `${error.message} Check that the method has done all of its work.`;
    return reported(await nothing(args, to.strategy), { path: ".", message });
  }

  async #results(): Promise<typeof import("./results.ts")> {
    this.#schemas ??= import("./results.ts");
    return await this.#schemas;
  }
}

function askedSandbox(
  { name, madeWith }: CalledStrategy,
  [planId, { id }]: ArgumentsOf<"create">,
): AskedSandbox {
  const ids = { sandboxId: sandboxIdFor(planId, id), planId, resourceId: id };
  return { ...ids, strategyName: name, ...(Object.keys(madeWith).length > 0 && { madeWith }) };
}

function differenceOf(ref: SandboxRef, asked: AskedSandbox): string | undefined {
  for (const member of ["sandboxId", "planId", "resourceId"] as const)
    if (ref[member] !== asked[member]) return `the ${member} '${ref[member]}', not ${asked[member]}`;
  return undefined;
}

/**
 * A copy that the strategy may change without effect on Drydock. Bytes are not copied: Drydock does not use
 * them again, and there may be many.
 */
function ownCopy(argument: unknown): unknown {
  const isShared = typeof argument === "object" && !(argument instanceof Uint8Array);
  return isShared ? copyPlain(argument, Number.POSITIVE_INFINITY) : argument;
}
