import { InterruptedError } from "../../core/errors/errors.ts";

/**
 * Ending statements while they run, which takes another connection. Nothing else is sent on the first one
 * until the server has been told: it would be what is ended instead.
 */
export class Cancellation {
  readonly #tell: () => Promise<void>;
  readonly #cut: () => void;
  readonly #patienceMs: number;
  #isRunning = false;
  #over = Promise.withResolvers<void>();
  #cancelling: Promise<void> | undefined;

  /**
   * `tell` has the server end what the connection is doing; if it does not in time, `cut` ends the
   * connection.
   */
  constructor({ tell, cut, patienceMs }: { tell: () => Promise<void>; cut: () => void; patienceMs: number }) {
    this.#tell = tell;
    this.#cut = cut;
    this.#patienceMs = patienceMs;
  }

  /**
   * Runs statements that can be cancelled. If they are, they have failed, even if the last of them had just
   * ended.
   */
  async during(run: () => Promise<void>): Promise<void> {
    this.#isRunning = true;
    this.#over = Promise.withResolvers();
    try {
      await run();
      await this.#assertWhole();
    } catch (thrown) {
      await this.#assertWhole(thrown);
      throw thrown;
    } finally {
      this.#isRunning = false;
      this.#over.resolve();
      this.#cancelling = undefined;
    }
  }

  /** To be called between statements. */
  assertGoing(): void {
    if (this.#cancelling !== undefined) throw new InterruptedError();
  }

  /** Ends what is running, if anything is. */
  async cancel(): Promise<void> {
    if (!this.#isRunning) return;
    const cutting = setTimeout(() => this.#cut(), this.#patienceMs * 2);
    this.#over.promise.finally(() => clearTimeout(cutting));
    this.#cancelling ??= this.#tell();
    await this.#cancelling;
  }

  async #assertWhole(cause?: unknown): Promise<void> {
    if (this.#cancelling === undefined) return;
    // If the server can't be told, that is said to who wanted it; no further statement is begun all the same.
    await this.#cancelling.catch(() => undefined);
    throw new InterruptedError("The statements were interrupted; the sandbox is as it was before them.", {
      cause,
    });
  }
}
