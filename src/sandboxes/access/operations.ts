import { AsyncLocalStorage } from "node:async_hooks";
import { type PlanRecord, resourceById } from "../../core/plan.ts";
import type { Progress } from "../../core/strategy.ts";

/** One call of a program: how it is stopped, and to what its progress is told. */
export interface Operation {
  /** The call in the user's words: "apply". */
  readonly operation: string;
  readonly planId?: string;
  /** The resource that it is about, by its name; absent if it is about all of the plan. */
  readonly resource?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

interface Running extends Omit<Operation, "signal"> {
  readonly signal: AbortSignal;
  /** The plan that the call turned out to be about. */
  readonly known: { plan?: PlanRecord };
}

/**
 * The operations under way. Many calls run at once over the same services and strategies, so each carries its
 * own signal and listener with it, through every asynchronous step. Code outside of any operation has those
 * of the whole session.
 */
export class Operations {
  readonly #signal: AbortSignal;
  readonly #onProgress: (progress: Progress) => void;
  readonly #current = new AsyncLocalStorage<Running>();

  constructor(signal: AbortSignal, onProgress: (progress: Progress) => void) {
    this.#signal = signal;
    this.#onProgress = onProgress;
  }

  /** Aborted when the user interrupts the present operation, or the whole session. */
  get signal(): AbortSignal {
    return this.#current.getStore()?.signal ?? this.#signal;
  }

  /** Tells the progress of the present operation. */
  progress(progress: Progress): void {
    const { operation, resource, onProgress, known } = this.#current.getStore() ?? {};
    const planId = this.#current.getStore()?.planId ?? known?.plan?.id;
    const told = {
      ...progress,
      ...(operation !== undefined && { operation }),
      ...(planId !== undefined && { planId }),
      ...(resource !== undefined && { resource }),
    };
    onProgress?.(told);
    this.#onProgress(told);
  }

  /** Runs an action as this operation. */
  run<T>(operation: Operation, action: () => T): T {
    const { signal } = operation;
    const stops = signal === undefined ? this.#signal : AbortSignal.any([this.#signal, signal]);
    return this.#current.run({ ...operation, signal: stops, known: {} }, action);
  }

  /** Runs a generator as this operation, whatever advances it. */
  async *each<T>(operation: Operation, items: () => AsyncIterable<T>): AsyncGenerator<T> {
    const within = this.run(operation, () => AsyncLocalStorage.snapshot());
    const iterator = within(() => items()[Symbol.asyncIterator]());
    try {
      for (;;) {
        const { done, value } = await within(() => iterator.next());
        if (done === true) return;
        yield value;
      }
    } finally {
      await within(() => iterator.return?.());
    }
  }

  /** Notes the plan that the present operation is about, for its progress. */
  knows(plan: PlanRecord): void {
    const running = this.#current.getStore();
    if (running !== undefined) running.known.plan = plan;
  }

  /** Runs a call of a strategy, whose progress is about this resource. */
  about<T>(resourceId: string, action: () => T): T {
    const running = this.#current.getStore();
    const { plan } = running?.known ?? {};
    const resource = plan === undefined ? undefined : resourceById(plan, resourceId)?.name;
    if (running === undefined || resource === undefined || running.resource !== undefined) return action();
    return this.#current.run({ ...running, resource }, action);
  }
}
