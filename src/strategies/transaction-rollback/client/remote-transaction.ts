import {
  SandboxCommitError,
  SandboxRollbackError,
  SandboxStateError,
  StateError,
} from "../../../core/errors/errors.ts";
import type { SandboxRef } from "../../../core/sandbox.ts";
import type { Attention, StrategyContext } from "../../../core/strategy.ts";
import type { Evidence, TransactionName } from "../../../database/server/server-database.ts";
import { SERVER_DOWN } from "../../../database/server/server-errors.ts";
import { newId } from "../../../system/state/new-id.ts";
import { HolderFolder, type RemoteRecord } from "../holder-folder.ts";
import { type Connected, type HolderOperation, type HolderOperations, NOT_HELD } from "../holder-protocol.ts";
import { HOLDER_DIED, HolderClient, hasCode } from "./holder-client.ts";

/**
 * The transaction of one sandbox, wherever it is: with the holder, prepared on the server, landed, or lost.
 * Its record is written before each step that could leave something on the server, so that the next process
 * knows where to look.
 */
export class RemoteTransaction {
  readonly ref: SandboxRef;
  readonly location: string;
  readonly #context: StrategyContext;
  readonly #folder: HolderFolder;
  readonly #holder: HolderClient;

  constructor(context: StrategyContext, ref: SandboxRef) {
    this.ref = ref;
    this.location = String(ref.metadata["location"]);
    this.#context = context;
    this.#folder = new HolderFolder(context.stateDir, ref.planId);
    this.#holder = new HolderClient(context, this.#folder, ref.planId);
  }

  /** The folder of the holder. */
  get place(): string {
    return this.#folder.path;
  }

  get record(): RemoteRecord | undefined {
    return this.#folder.record(this.ref.resourceId);
  }

  /** Connects to the server; nothing is begun yet. */
  async connect(): Promise<Connected> {
    return await this.#demand("connect", { location: this.location });
  }

  /** Begins a transaction and drops the work of an earlier one. */
  async open(): Promise<void> {
    const { session } = await this.connect();
    const name = this.#newName();
    await this.#demand("begin", { name });
    this.#save({ state: "open", name, session });
  }

  /** Sends a request that needs the work. After a landing, this begins new work. */
  async ask<Operation extends HolderOperation>(
    operation: Operation,
    given: HolderOperations[Operation]["asks"],
  ): Promise<HolderOperations[Operation]["answers"]> {
    const { record } = this;
    if (record === undefined || record.state === "preparing") throw this.#notUsable(record?.state);
    if (record.state === "lost") return await this.lose(record.why ?? "", record.inDoubt);
    if (record.state === "landed") await this.open();
    try {
      const answered = await this.#holder.ask(operation, this.ref.resourceId, given);
      if (answered !== undefined) return answered.answer;
    } catch (thrown) {
      if (!hasCode(thrown, NOT_HELD)) throw thrown;
      return await this.lose((thrown as StateError).message || this.#whyGone());
    }
    return await this.lose(this.#whyGone());
  }

  /**
   * The first phase of a commit. If the holder dies meanwhile, only the server knows whether the transaction
   * is prepared.
   */
  async prepare(
    transactionId: string,
  ): Promise<{ readonly name: TransactionName; readonly evidence: Evidence }> {
    const { record } = this;
    if (record?.name === undefined || record.state !== "open") throw this.#notUsable(record?.state);
    const { name } = record;
    let preparing: RemoteRecord = { ...record, state: "preparing", transactionId };
    this.#save(preparing);
    try {
      const { marker } = await this.#demandHeld("makeMarker", {});
      if (marker !== undefined) {
        preparing = { ...preparing, marker };
        this.#save(preparing);
      }
      return { name, evidence: await this.#demandHeld("prepare", marker === undefined ? {} : { marker }) };
    } catch (thrown) {
      if (hasCode(thrown, HOLDER_DIED)) throw thrown;
      // The holder has the work again, or knows that it is gone and says so when it is asked.
      this.#save({ ...preparing, state: "open" });
      throw thrown;
    }
  }

  async land(name: TransactionName, evidence: Evidence): Promise<HolderOperations["land"]["answers"]> {
    return await this.#demand("land", { location: this.location, name, evidence });
  }

  /** Commits in one step. Without an answer, the outcome is unknown. */
  async commit(): Promise<void> {
    try {
      const answered = await this.#holder.ask("commit", this.ref.resourceId, {});
      if (answered !== undefined) return this.noteLanded();
    } catch (thrown) {
      if (hasCode(thrown, NOT_HELD))
        return await this.lose((thrown as StateError).message || this.#whyGone());
      if (!hasCode(thrown, SERVER_DOWN)) throw thrown;
    }
    const message = `It is unknown whether the transaction on ${this.location} was committed: the connection was lost meanwhile.`;
    this.#save({ state: "lost", why: message, inDoubt: true });
    await this.#context.recordLoss?.(this.ref, message);
    throw new SandboxCommitError(message, { hint: "Look at the data in the database." });
  }

  noteLanded(transactionId?: string): void {
    const { record } = this;
    this.#save({
      state: "landed",
      ...(transactionId !== undefined && { transactionId }),
      ...(record?.marker !== undefined && { marker: record.marker }),
    });
  }

  /** Rolls back a prepared transaction and restores the work; reports a loss of the work. */
  async takeBack(evidence: Evidence): Promise<readonly Attention[]> {
    await this.#rollBackPrepared(evidence);
    const why = await this.#workAgain();
    if (why === undefined) return [];
    await this.#noteLost(why);
    return [{ path: ".", message: lostMessage(why) }];
  }

  /** Drops all work, in the holder and on the server, and begins again. */
  async startOver(): Promise<void> {
    if (this.record?.state === "preparing") await this.#rollBackPrepared({});
    await this.open();
  }

  /** Ends the transaction and removes everything that belongs to it. */
  async remove(): Promise<void> {
    const { record, ref } = this;
    if (record?.state === "preparing") await this.#rollBackPrepared({});
    if (record?.marker !== undefined)
      await this.#demand("forget", { location: this.location, marker: record.marker });
    await this.#holder.ask("disconnect", ref.resourceId, {});
    await this.#holder.ask("end", ref.resourceId, {});
    this.#folder.forget(ref.resourceId);
  }

  /** Records that the work is gone, and throws the error for it. */
  async lose(why: string, inDoubt = false): Promise<never> {
    await this.#noteLost(why);
    throw new SandboxStateError(inDoubt ? why : lostMessage(why), {
      from: "ACTIVE",
      to: "ERRORED",
      hint: "A rollback of the plan begins again with the database as it is now; cancelling gives the plan up.",
    });
  }

  /** How long the transaction lasts. Records a loss that shows here. */
  async status(): Promise<HolderOperations["status"]["answers"]> {
    return await this.ask("status", {});
  }

  async #rollBackPrepared(evidence: Evidence): Promise<void> {
    const { record, location } = this;
    const { outcome } = await this.#demand("takeBack", {
      location,
      evidence,
      ...(record?.session !== undefined && { session: record.session }),
      ...(record?.name !== undefined && { name: record.name }),
    });
    if (outcome !== "committed") return;
    this.noteLanded(record?.transactionId);
    throw cannotBeTakenBack(location);
  }

  /** Makes the holder repeat the prepared work; returns the reason if it can't. */
  async #workAgain(): Promise<string | undefined> {
    const { record } = this;
    const held = await this.#holder.ask("holds", this.ref.resourceId, {});
    if (held?.answer !== true) return this.#whyGone();
    const { session } = await this.connect();
    const { name, differs } = await this.#demand("replay", { name: this.#newName() });
    if (name === undefined) {
      await this.#demand("disconnect", {});
      return `another resource could not land, and its statements could not be run again: ${differs}`;
    }
    this.#save({
      state: "open",
      name,
      session,
      ...(record?.marker !== undefined && { marker: record.marker }),
    });
    return undefined;
  }

  #whyGone(): string {
    return this.#folder.whyEnded(this.ref.resourceId) ?? HOLDER_GONE;
  }

  async #noteLost(why: string): Promise<void> {
    const { record } = this;
    if (record?.state !== "lost")
      this.#save({ state: "lost", why, ...(record?.marker !== undefined && { marker: record.marker }) });
    await this.#context.recordLoss?.(this.ref, record?.inDoubt === true ? why : lostMessage(why));
  }

  async #demand<Operation extends HolderOperation>(
    operation: Operation,
    given: HolderOperations[Operation]["asks"],
  ): Promise<HolderOperations[Operation]["answers"]> {
    return await this.#holder.demand(operation, this.ref.resourceId, given);
  }

  /** Asks only a running holder: a new one would have no work. */
  async #demandHeld<Operation extends HolderOperation>(
    operation: Operation,
    given: HolderOperations[Operation]["asks"],
  ): Promise<HolderOperations[Operation]["answers"]> {
    const answered = await this.#holder.ask(operation, this.ref.resourceId, given);
    if (answered !== undefined) return answered.answer;
    throw new StateError(HOLDER_GONE, { code: HOLDER_DIED, hint: "Nothing was changed in the database." });
  }

  #newName(): TransactionName {
    const { planId, resourceId } = this.ref;
    return { planId, resourceId, serial: newId().slice(-10) };
  }

  #save(record: RemoteRecord): void {
    this.#folder.save(this.ref.resourceId, record);
  }

  #notUsable(state: string | undefined): SandboxStateError {
    return new SandboxStateError(
      state === undefined
        ? "This sandbox is not there."
        : "The transaction of this sandbox is being applied.",
      { from: "PREPARED", to: "ACTIVE", hint: "Wait for that, or make a new plan." },
    );
  }
}

const HOLDER_GONE = "the process that held its transaction is gone";

function lostMessage(why: string): string {
  return `The work in this sandbox is gone: ${why}. Nothing was changed in the database.`;
}

/** The error for undoing a landed transaction. */
export function cannotBeTakenBack(location: string): SandboxRollbackError {
  return new SandboxRollbackError(
    `${location} has landed, and a transaction of this server can't be taken back.`,
    {
      hint: "Take it back by hand.",
      code: "IRREVERSIBLE",
    },
  );
}
