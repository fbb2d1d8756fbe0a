import { isDeepStrictEqual } from "node:util";
import { DrydockError, messageOf, StateError } from "../../../core/errors/errors.ts";
import type { TransactionPolicy } from "../../../core/strategy-policies.ts";
import type { ChangedRows, RowRange } from "../../../core/values/changed-rows.ts";
import type { StatementResult } from "../../../core/values/query.ts";
import { openServerDatabase, openTransactionResolver } from "../../../database/open-server.ts";
import type { ClientDoor } from "../../../database/server/client-unit.ts";
import { landPrepared } from "../../../database/server/land-prepared.ts";
import type {
  Evidence,
  Outcome,
  ServerDatabase,
  ServerLogin,
  TransactionName,
  TransactionResolver,
} from "../../../database/server/server-database.ts";
import { SERVER_DOWN } from "../../../database/server/server-errors.ts";
import type { Turns } from "../../../database/server/turns.ts";
import {
  type ClientPlace,
  type Connected,
  type HolderOperations,
  type LoggedStatement,
  NOT_HELD,
  type ResolveRequest,
  type TransactionStatus,
} from "../holder-protocol.ts";
import { RecordedTransaction, type TransactionSteps } from "./recorded-transaction.ts";

/** How long to wait for a server, and for locks of other sessions there. */
const PATIENCE_MS = 10_000;

export interface SandboxSessionParts {
  readonly planId: string;
  readonly resourceId: string;
  readonly secret: string | undefined;
  readonly now: () => Date;
  readonly limits: TransactionPolicy;
  readonly turns: Turns;
  /** Where clients of the server's own protocol come in. */
  readonly door: ClientPlace;
  /** Called when the transaction ended although no client asked for that. */
  readonly noteEnded: (why: string) => void;
}

/** The holder's side of one sandbox: a connection with a transaction, and the steps done in it. */
export class SandboxSession {
  readonly #parts: SandboxSessionParts;
  #database: ServerDatabase | undefined;
  #expected: Promise<ServerDatabase> | undefined;
  #transaction: RecordedTransaction | undefined;
  #name: TransactionName | undefined;
  /** The steps of a transaction that is prepared now. */
  #done: TransactionSteps | undefined;
  #whyGone: string | undefined;
  #door: ClientDoor | undefined;

  constructor(parts: SandboxSessionParts) {
    this.#parts = parts;
  }

  get isHolding(): boolean {
    return this.#transaction !== undefined || this.#done !== undefined;
  }

  status(): TransactionStatus {
    const status = this.#held().status(this.#parts.limits);
    return this.#door === undefined ? status : { ...status, clients: this.#parts.door };
  }

  /** Begins to connect; the request for `connect` that follows gets the failure, if any. */
  expect(location: string): void {
    this.#expected = this.#connected(location);
    this.#expected.catch(() => undefined);
  }

  async connect(location: string): Promise<Connected> {
    const expected = this.#expected;
    this.#expected = undefined;
    const known = this.#database ?? (await expected);
    this.#database = known?.isOpen === true ? known : await this.#connected(location);
    const { product, session, whyNoPrepare } = this.#database;
    return { product, session, ...(whyNoPrepare !== undefined && { whyNoPrepare }) };
  }

  async begin(name: TransactionName): Promise<void> {
    await this.#door?.dismiss("the work of the plan was rolled back");
    if (this.#transaction !== undefined) await this.#open().rollback();
    this.#transaction = undefined;
    this.#done = undefined;
    await this.#begin(name);
  }

  /** A repeated request finds it done. */
  async replay(name: TransactionName): Promise<HolderOperations["replay"]["answers"]> {
    if (this.#transaction !== undefined && this.#name !== undefined) return { name: this.#name };
    const steps = this.#done;
    if (steps === undefined) return { differs: "what was done in it is not known any more" };
    try {
      const differs = await this.#again(name, steps);
      return differs === undefined ? { name } : { differs };
    } catch (thrown) {
      // The server may come back, and the steps are still known.
      if (isDown(thrown)) throw thrown;
      return { differs: messageOf(thrown) };
    }
  }

  async run(script: string, readOnly: boolean): Promise<readonly StatementResult[]> {
    const transaction = this.#held();
    try {
      return await transaction.run(script, readOnly);
    } catch (thrown) {
      await this.#reviveIfEnded(transaction.steps);
      throw thrown;
    }
  }

  /** Ends the statements of `run`. */
  async cancel(): Promise<void> {
    await this.#database?.cancel();
  }

  async table(name: string): Promise<StatementResult> {
    return await this.#held().table(name);
  }

  async rows(table: string, range: RowRange): Promise<ChangedRows> {
    return await this.#held().rows(table, range);
  }

  log(checkpointId?: string): readonly LoggedStatement[] {
    return this.#held().log(checkpointId);
  }

  async checkpoint(checkpointId: string): Promise<void> {
    await this.#held().checkpoint(checkpointId);
  }

  async restore(checkpointId: string): Promise<void> {
    const transaction = this.#held();
    try {
      await transaction.restore(checkpointId);
    } catch (thrown) {
      await this.#reviveIfEnded(transaction.steps);
      throw thrown;
    }
  }

  async makeMarker(): Promise<{ readonly marker?: string }> {
    const transaction = this.#held();
    const marker = this.#name === undefined ? undefined : await this.#open().makeMarker(this.#name);
    return transaction === undefined || marker === undefined ? {} : { marker };
  }

  /** Clients keep their sessions, and their work. */
  async check(): Promise<void> {
    const transaction = this.#held();
    try {
      await transaction.check();
    } catch (thrown) {
      await this.#reviveIfEnded(transaction.steps);
      throw thrown;
    }
  }

  /** If this fails, the server has rolled back: then the steps run again, so that nothing is lost. */
  async prepare(marker: string | undefined): Promise<Evidence> {
    const transaction = this.#held();
    await this.#door?.dismiss("the plan is being applied");
    try {
      const evidence = await transaction.prepare(marker);
      this.#done = transaction.steps;
      this.#transaction = undefined;
      if (this.#database?.isOpen === false) {
        this.#database = undefined;
        // It leads to the connection that is closed.
        await this.#closeDoor();
      }
      return evidence;
    } catch (thrown) {
      await this.#reviveIfEnded(transaction.steps);
      throw thrown;
    }
  }

  async commit(): Promise<void> {
    const transaction = this.#held();
    await this.#door?.dismiss("the plan is being applied");
    try {
      await transaction.commit();
    } catch (thrown) {
      await this.#reviveIfEnded(transaction.steps);
      throw thrown;
    }
    await this.disconnect();
  }

  async disconnect(): Promise<void> {
    const database = this.#database;
    this.#database = undefined;
    this.#transaction = undefined;
    this.#done = undefined;
    await this.#closeDoor();
    await database?.close();
  }

  /**
   * Commits on the connection that prepared, where that is possible. If it fails, a new connection finds out
   * whether the transaction was committed.
   */
  async land({ name, evidence, ...where }: HolderOperations["land"]["asks"]): Promise<Outcome> {
    const landing = (resolver: TransactionResolver) => landPrepared(resolver, name, evidence);
    const own =
      this.#transaction === undefined && this.#database?.isOpen === true ? this.#database : undefined;
    if (own?.resolver === undefined) return await this.#resolving(where, landing);
    try {
      return await landing(await own.resolver());
    } catch {
      return await this.#resolving(where, landing);
    }
  }

  async takeBack(
    asked: HolderOperations["takeBack"]["asks"],
  ): Promise<HolderOperations["takeBack"]["answers"]> {
    const { name, evidence, session, location } = asked;
    const { planId, resourceId } = this.#parts;
    const outcome = await this.#resolving({ location }, async (resolver) => {
      const isOurs = isDeepStrictEqual(session, this.#database?.session);
      if (session !== undefined && !isOurs) await resolver.endSession(session);
      const listed = await resolver.prepared({ planId, resourceId });
      for (const each of listed) await resolver.finish(each, "rollback");
      if (listed.some(({ serial }) => serial === name?.serial)) return "rolled back";
      const known = evidence.transactionNumber !== undefined || evidence.marker !== undefined;
      return name !== undefined && known ? await resolver.outcome(name, evidence) : "never prepared";
    });
    return { outcome };
  }

  async forget(location: string, marker: string): Promise<void> {
    await this.#resolving({ location }, (resolver) => resolver.forget(marker));
  }

  /** Ends a transaction that has been open too long. */
  async expire(): Promise<void> {
    const status = this.#transaction?.status(this.#parts.limits);
    const now = this.#parts.now().toISOString();
    if (status === undefined || (now < status.idleEnd && now < status.end)) return;
    const why =
      now >= status.end
        ? "it was open for longer than sandbox.transaction.age allows"
        : "it was idle for longer than sandbox.transaction.idle allows";
    this.#gone(`its transaction was ended because ${why}`);
    await this.disconnect();
  }

  async #connected(location: string): Promise<ServerDatabase> {
    const database = await openServerDatabase(this.#login(location));
    database.onLost = (why) => {
      if (this.#database !== database) return;
      if (this.#transaction !== undefined) this.#gone(`the server ended its connection: ${why}`);
      this.#database = undefined;
      this.#transaction = undefined;
      void this.#closeDoor();
    };
    return database;
  }

  async #begin(name: TransactionName): Promise<void> {
    this.#name = name;
    this.#transaction = await RecordedTransaction.begin(this.#open(), name, this.#parts.now);
    this.#whyGone = undefined;
    await this.#openDoor();
  }

  async #openDoor(): Promise<void> {
    const { turns, door } = this.#parts;
    this.#door ??= await this.#open().openDoor?.({
      ...door,
      turns,
      whyClosed: () => this.#whyClosed(),
      did: (unit) => this.#transaction?.served(unit),
      revive: () => this.#reviveIfEnded(this.#transaction?.steps ?? []),
    });
  }

  async #closeDoor(): Promise<void> {
    const door = this.#door;
    this.#door = undefined;
    await door?.close(this.#whyClosed() ?? "the plan has ended");
  }

  /** Why no client may work in the transaction now. */
  #whyClosed(): string | undefined {
    if (this.#transaction !== undefined && this.#database?.isInTransaction === true) return undefined;
    return this.#whyGone ?? "the transaction of the plan has ended";
  }

  /** Runs the steps again after a failure that ended the whole transaction. */
  async #reviveIfEnded(steps: TransactionSteps): Promise<void> {
    const [database, name, ended] = [this.#database, this.#name, this.#transaction];
    if (database === undefined || name === undefined || database.isInTransaction) return;
    try {
      await database.rollback();
      const differs = await this.#again(name, steps);
      if (differs === undefined) {
        if (ended !== undefined) this.#held().continue(ended);
        return;
      }
      this.#gone(`its transaction was ended by a failure, and could not be done again: ${differs}`);
    } catch (thrown) {
      this.#gone(`its transaction was ended by a failure, and could not be done again: ${messageOf(thrown)}`);
    }
    await this.disconnect();
  }

  async #again(name: TransactionName, steps: TransactionSteps): Promise<string | undefined> {
    this.#done = steps;
    await this.#begin(name);
    const differs = await this.#held().replay(steps);
    if (differs === undefined) this.#done = undefined;
    else this.#transaction = undefined;
    return differs;
  }

  #gone(why: string): void {
    this.#whyGone = why;
    this.#transaction = undefined;
    this.#parts.noteEnded(why);
  }

  #open(): ServerDatabase {
    if (this.#database === undefined) throw this.#notHeld();
    return this.#database;
  }

  #held(): RecordedTransaction {
    if (this.#transaction === undefined) throw this.#notHeld();
    return this.#transaction;
  }

  #notHeld(): StateError {
    return new StateError(this.#whyGone ?? "", { code: NOT_HELD });
  }

  async #resolving<T>(
    { location }: ResolveRequest,
    action: (resolver: TransactionResolver) => Promise<T>,
  ): Promise<T> {
    const resolver = await openTransactionResolver(this.#login(location));
    try {
      return await action(resolver);
    } finally {
      await resolver.close();
    }
  }

  #login(location: string): ServerLogin {
    return { location, secret: this.#parts.secret, patienceMs: PATIENCE_MS };
  }
}

function isDown(thrown: unknown): boolean {
  return thrown instanceof DrydockError && thrown.code === SERVER_DOWN;
}
