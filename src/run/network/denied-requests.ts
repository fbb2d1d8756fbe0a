import type { DeniedRequest } from "../../core/values/run-policy.ts";

/** How many destinations are kept: a command can ask for any number. */
const MOST = 50;
const MOST_CHARACTERS = 260;

/** The requests that were denied to one command. */
export class DeniedRequests {
  readonly #denied = new Map<string, DeniedRequest>();
  #others = 0;

  add(destination: string, address?: string): void {
    const name = destination.slice(0, MOST_CHARACTERS);
    const known = this.#denied.get(name);
    if (known === undefined && this.#denied.size >= MOST) this.#others += 1;
    else
      this.#denied.set(name, {
        destination: name,
        ...(address !== undefined && { address }),
        times: (known?.times ?? 0) + 1,
      });
  }

  /** In the order in which they were first asked for. */
  get list(): readonly DeniedRequest[] {
    return [...this.#denied.values()];
  }

  /** How many requests for more destinations there were. */
  get others(): number {
    return this.#others;
  }
}
