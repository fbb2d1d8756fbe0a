import type { ServerResponse } from "node:http";
import type { ReviewComment } from "../../plans/review/review-views.ts";

/** How a review ended. */
export type ReviewVerdict =
  | { readonly verdict: "closed" }
  | {
      readonly verdict: "approved" | "changes asked";
      readonly planId: string;
      readonly planName: string;
      /** Of what the reviewer saw. */
      readonly digest: string;
      readonly message?: string;
      /** Those that are not settled, oldest first. */
      readonly comments: readonly ReviewComment[];
    };

/** How long a window that was left may take to come back, as it does when it loads again. */
const GRACE_MS = 10_000;

/** Waits for the verdict, or until the reviewer has left with the last window. */
export class ReviewEnd {
  readonly #decided = Promise.withResolvers<ReviewVerdict>();
  readonly #open = new Set<ServerResponse>();
  #leaving: NodeJS.Timeout | undefined;

  /** `unopenedMs`: how long it waits for the first window. Default: for ever. */
  constructor(unopenedMs?: number) {
    if (unopenedMs !== undefined) this.#closeAfter(unopenedMs);
  }

  get verdict(): Promise<ReviewVerdict> {
    return this.#decided.promise;
  }

  /** The first verdict counts. */
  decide(verdict: ReviewVerdict): void {
    clearTimeout(this.#leaving);
    this.#decided.resolve(verdict);
  }

  /** A window asks for something, so it is there until it has the answer; that of events never ends. */
  stayed(answer: ServerResponse): void {
    clearTimeout(this.#leaving);
    this.#open.add(answer);
    answer.once("close", () => this.#open.delete(answer));
  }

  /** A window is left: it is closed, or loads again. */
  left(): void {
    this.#closeAfter(GRACE_MS);
  }

  #closeAfter(milliseconds: number): void {
    clearTimeout(this.#leaving);
    this.#leaving = setTimeout(() => {
      if (this.#open.size === 0) this.decide({ verdict: "closed" });
    }, milliseconds);
  }
}
