import { UsageError } from "../core/errors.ts";
import type { Resource } from "../core/resource.ts";
import { type MadeWith, type SandboxRef, sandboxIdFor } from "../core/sandbox.ts";
import { CallLimit } from "./call-limit.ts";
import { refFrom } from "./strategy-results.ts";

/** What is kept about one instance of a strategy of the user's own while it is called. */
export class CustomCalls {
  readonly limit: CallLimit;
  /** By sandbox: what makes it the one that was asked for. */
  readonly #making = new Map<string, (value: unknown) => SandboxRef>();

  constructor(limitMilliseconds: number, user: AbortSignal) {
    this.limit = new CallLimit(limitMilliseconds, user);
  }

  /** Notes that this sandbox is being made, for as long as the result is in scope. */
  making(planId: string, { id }: Resource, strategyName: string, madeWith: MadeWith): Disposable {
    const sandboxId = sandboxIdFor(planId, id);
    this.#making.set(sandboxId, (value) => refFrom(value, planId, id, strategyName, madeWith));
    return { [Symbol.dispose]: () => void this.#making.delete(sandboxId) };
  }

  /** The ref of a sandbox that this instance is making right now: no other may it record, or it could take over those of others. */
  refInMaking(value: unknown): SandboxRef {
    const id = (value as { readonly sandboxId?: unknown } | null | undefined)?.sandboxId;
    const asRef = typeof id === "string" ? this.#making.get(id) : undefined;
    if (asRef !== undefined) return asRef(value);
    throw new UsageError("An intent is recorded for a sandbox that this strategy was not asked to make.", {
      hint: "Call recordIntent in create, with the ref that create is going to return; sandboxIdFor gives its id.",
      code: "FOREIGN_SANDBOX",
    });
  }
}
