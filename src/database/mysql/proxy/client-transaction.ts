import { type ClientError, STATUS } from "./protocol/wire.ts";

/** The transaction of a client, as the client sees it. On the server it is a part of the plan's. */
export class ClientTransaction {
  #isBegun = false;
  #isReadOnly = false;
  #autocommits = true;
  /** Whether the client has said that it only reads from now on. */
  onlyReads = false;

  /** Whether the client's work stays open after a statement. */
  get isHolding(): boolean {
    return this.#isBegun || !this.#autocommits;
  }

  get autocommits(): boolean {
    return this.#autocommits;
  }

  set autocommits(autocommits: boolean) {
    if (autocommits && !this.#autocommits) this.#isBegun = false;
    this.#autocommits = autocommits;
  }

  begin(readOnly: boolean): void {
    this.#isBegun = true;
    this.#isReadOnly = readOnly || this.onlyReads;
  }

  /** `chains`: another one of the same kind begins at once. */
  end(chains = false): void {
    this.#isBegun = chains;
  }

  /** The flags of a server. `isAtWork`: something was done since the last commit. */
  status(isAtWork: boolean): number {
    const isInside = this.#isBegun || (!this.#autocommits && isAtWork);
    const inside = isInside ? STATUS.inTransaction : 0;
    const readOnly = isInside && this.#refusesWrites ? STATUS.inReadOnlyTransaction : 0;
    return inside | (this.#autocommits ? STATUS.autocommit : 0) | readOnly;
  }

  /** Why nothing may be written now. */
  get whyNoWrites(): ClientError | undefined {
    return this.#refusesWrites ? READ_ONLY : undefined;
  }

  get #refusesWrites(): boolean {
    return this.#isBegun ? this.#isReadOnly : this.onlyReads;
  }
}

const READ_ONLY: ClientError = {
  ...{ code: 1792, state: "25006" },
  message: "Cannot execute statement in a READ ONLY transaction",
};
