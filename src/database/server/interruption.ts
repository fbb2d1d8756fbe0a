import { setTimeout as sleep } from "node:timers/promises";

const TELL_AGAIN_MS = 100;

/** Ends what runs for one client, and only that. */
export class Interruption {
  readonly #isBusy: () => boolean;
  readonly #stop: () => Promise<void>;
  #stopping: Promise<void> | undefined;

  /** `isBusy`: whether the server is at work for the client. `stop` makes the server end what runs. */
  constructor(isBusy: () => boolean, stop: () => Promise<void>) {
    this.#isBusy = isBusy;
    this.#stop = stop;
  }

  /** Tells the server once. */
  async tell(): Promise<void> {
    const before = this.#stopping?.catch(() => undefined) ?? Promise.resolve();
    this.#stopping = before.then(() => (this.#isBusy() ? this.#stop() : undefined));
    await this.#stopping;
  }

  /** Tells the server until it has ended. */
  async insist(): Promise<void> {
    while (this.#isBusy()) {
      await this.tell().catch(() => undefined);
      await sleep(TELL_AGAIN_MS);
    }
  }

  /** Waits until the server was told. Sent before that, other work would be ended instead. */
  async over(): Promise<void> {
    await this.#stopping?.catch(() => undefined);
    this.#stopping = undefined;
  }
}
