import { InterruptedError } from "../../core/errors/errors.ts";

/**
 * Ends statements while they run, which takes another connection. Until the server has answered there,
 * nothing else is sent on the first connection, because the server would end that instead.
 */
export class Cancellation {
  readonly #tell: () => Promise<void>;
  readonly #cut: () => void;
  readonly #patienceMs: number;
  #isRunning = false;
  #over = Promise.withResolvers<void>();
  #cancelling: Promise<void> | undefined;

  /**
   * `tell` makes the server end the statement of the connection. If the statement does not end in time, `cut`
   * ends the connection.
   */
  constructor({ tell, cut, patienceMs }: { tell: () => Promise<void>; cut: () => void; patienceMs: number }) {
    this.#tell = tell;
    this.#cut = cut;
    this.#patienceMs = patienceMs;
  }

  /**
   * Runs statements that can be cancelled. Cancelled statements have failed, even if the last one had just
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

  /** Throws if the statements are cancelled. Called between two statements. */
  assertGoing(): void {
    if (this.#cancelling !== undefined) throw new InterruptedError();
  }

  /** Ends the running statements, if there are any. */
  async cancel(): Promise<void> {
    if (!this.#isRunning) return;
    const cutting = setTimeout(() => this.#cut(), this.#patienceMs * 2);
    this.#over.promise.finally(() => clearTimeout(cutting));
    this.#cancelling ??= this.#tell();
    await this.#cancelling;
  }

  async #assertWhole(cause?: unknown): Promise<void> {
    if (this.#cancelling === undefined) return;
    // The caller of `cancel` gets the failure to reach the server. No further statement runs in any case.
    await this.#cancelling.catch(() => undefined);
    throw new InterruptedError("The statements were interrupted; the sandbox is as it was before them.", {
      cause,
    });
  }
}
