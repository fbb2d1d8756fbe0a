import { isDeepStrictEqual } from "node:util";
import { DrydockError, messageOf, StateError } from "../../core/errors.ts";
import type { StatementResult } from "../../core/query.ts";
import type { TransactionPolicy } from "../../core/strategy-policies.ts";
import { openServerDatabase, openServerSettler } from "../../database/open-server.ts";
import type {
  Evidence,
  Outcome,
  ServerDatabase,
  ServerLogin,
  ServerSettler,
  TransactionName,
} from "../../database/server-database.ts";
import { SERVER_DOWN } from "../../database/server-errors.ts";
import { HeldTransaction, type Steps } from "./held-transaction.ts";
import {
  type Connected,
  type HeldStatus,
  type KeeperOperations,
  type LoggedStatement,
  NOT_HELD,
  type Settling,
} from "./keeper-protocol.ts";

/** How long to wait for a server, and for what others have locked there. */
const PATIENCE_MS = 10_000;
const TRIES_TO_LAND = 3;

export interface KeptSandboxParts {
  readonly planId: string;
  readonly resourceId: string;
  readonly secret: string | undefined;
  readonly now: () => Date;
  readonly limits: TransactionPolicy;
  /** Called when the transaction has ended though nobody asked for it. */
  readonly noteEnded: (why: string) => void;
}

/** What the keeper holds of one sandbox: a connection with a transaction, and what was done in it. */
export class KeptSandbox {
  readonly #parts: KeptSandboxParts;
  #database: ServerDatabase | undefined;
  #expected: Promise<ServerDatabase> | undefined;
  #transaction: HeldTransaction | undefined;
  #name: TransactionName | undefined;
  /** What was done in a transaction that was prepared since. */
  #done: Steps | undefined;
  #whyGone: string | undefined;

  constructor(parts: KeptSandboxParts) {
    this.#parts = parts;
  }

  get isHolding(): boolean {
    return this.#transaction !== undefined || this.#done !== undefined;
  }

  status(): HeldStatus {
    return this.#held().status(this.#parts.limits);
  }

  /** Begins what `connect` will be asked for; who asks is told if it fails. */
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
    if (this.#transaction !== undefined) await this.#open().rollback();
    this.#transaction = undefined;
    this.#done = undefined;
    await this.#begin(name);
  }

  /** May be asked for again: then it is done already. */
  async replay(name: TransactionName): Promise<KeeperOperations["replay"]["answers"]> {
    if (this.#transaction !== undefined && this.#name !== undefined) return { name: this.#name };
    const steps = this.#done;
    if (steps === undefined) return { differs: "what was done in it is not known any more" };
    try {
      const differs = await this.#again(name, steps);
      return differs === undefined ? { name } : { differs };
    } catch (thrown) {
      // The server may come back, and what was done is still known.
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

  /** Ends what `run` is doing. */
  async cancel(): Promise<void> {
    await this.#database?.cancel();
  }

  async table(name: string): Promise<StatementResult> {
    return await this.#held().table(name);
  }

  log(): readonly LoggedStatement[] {
    return this.#held().log;
  }

  async checkpoint(checkpointId: string): Promise<void> {
    await this.#held().checkpoint(checkpointId);
  }

  async restore(checkpointId: string): Promise<void> {
    await this.#held().restore(checkpointId);
  }

  async makeMarker(): Promise<{ readonly marker?: string }> {
    const transaction = this.#held();
    const marker = this.#name === undefined ? undefined : await this.#open().makeMarker(this.#name);
    return transaction === undefined || marker === undefined ? {} : { marker };
  }

  /** If that fails, the server has rolled the transaction back: then it is done again, so that nothing is lost. */
  async prepare(marker: string | undefined): Promise<Evidence> {
    const transaction = this.#held();
    try {
      const evidence = await transaction.prepare(marker);
      this.#done = transaction.steps;
      this.#transaction = undefined;
      if (this.#database?.isOpen === false) this.#database = undefined;
      return evidence;
    } catch (thrown) {
      await this.#reviveIfEnded(transaction.steps);
      throw thrown;
    }
  }

  async commit(): Promise<void> {
    const transaction = this.#held();
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
    await database?.close();
  }

  /** By the connection that prepared it, where that can; whatever is wrong with that one, a new one finds out what became of it. */
  async land({ name, evidence, ...where }: KeeperOperations["land"]["asks"]): Promise<Outcome> {
    const landing = (settler: ServerSettler) => landBy(settler, name, evidence);
    const own = this.#transaction === undefined && this.#database?.isOpen === true ? this.#database : undefined;
    if (own?.settler === undefined) return await this.#settling(where, landing);
    try {
      return await landing(await own.settler());
    } catch {
      return await this.#settling(where, landing);
    }
  }

  async takeBack(asked: KeeperOperations["takeBack"]["asks"]): Promise<KeeperOperations["takeBack"]["answers"]> {
    const { name, evidence, session, location } = asked;
    const { planId, resourceId } = this.#parts;
    const outcome = await this.#settling({ location }, async (settler) => {
      const isOurs = isDeepStrictEqual(session, this.#database?.session);
      if (session !== undefined && !isOurs) await settler.endSession(session);
      const listed = await settler.prepared({ planId, resourceId });
      for (const each of listed) await settler.finish(each, "rollback");
      if (listed.some(({ serial }) => serial === name?.serial)) return "rolled back";
      const known = evidence.transactionNumber !== undefined || evidence.marker !== undefined;
      return name !== undefined && known ? await settler.outcome(name, evidence) : "never prepared";
    });
    return { outcome };
  }

  async forget(location: string, marker: string): Promise<void> {
    await this.#settling({ location }, (settler) => settler.forget(marker));
  }

  /** Ends a transaction that is held for too long. */
  async expire(): Promise<void> {
    const status = this.#transaction?.status(this.#parts.limits);
    const now = this.#parts.now().toISOString();
    if (status === undefined || (now < status.idleEnd && now < status.end)) return;
    const why =
      now >= status.end
        ? "it was open for longer than sandbox.transaction.age allows"
        : "nobody used it for longer than sandbox.transaction.idle allows";
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
    };
    return database;
  }

  async #begin(name: TransactionName): Promise<void> {
    this.#name = name;
    this.#transaction = await HeldTransaction.begin(this.#open(), name, this.#parts.now);
    this.#whyGone = undefined;
  }

  /** A failure that took the whole transaction with it. */
  async #reviveIfEnded(steps: Steps): Promise<void> {
    const [database, name] = [this.#database, this.#name];
    if (database === undefined || name === undefined || database.isInTransaction) return;
    try {
      await database.rollback();
      const differs = await this.#again(name, steps);
      if (differs === undefined) return;
      this.#gone(`its transaction was ended by a failure, and could not be done again: ${differs}`);
    } catch (thrown) {
      this.#gone(`its transaction was ended by a failure, and could not be done again: ${messageOf(thrown)}`);
    }
    await this.disconnect();
  }

  async #again(name: TransactionName, steps: Steps): Promise<string | undefined> {
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

  #held(): HeldTransaction {
    if (this.#transaction === undefined) throw this.#notHeld();
    return this.#transaction;
  }

  #notHeld(): StateError {
    return new StateError(this.#whyGone ?? "", { code: NOT_HELD });
  }

  async #settling<T>({ location }: Settling, action: (settler: ServerSettler) => Promise<T>): Promise<T> {
    const settler = await openServerSettler(this.#login(location));
    try {
      return await action(settler);
    } finally {
      await settler.close();
    }
  }

  #login(location: string): ServerLogin {
    return { location, secret: this.#parts.secret, patienceMs: PATIENCE_MS };
  }
}

async function landBy(settler: ServerSettler, name: TransactionName, evidence: Evidence): Promise<Outcome> {
  for (let tries = 1; ; tries += 1) {
    const outcome = await settler.outcome(name, evidence);
    if (outcome !== "prepared") return outcome;
    try {
      await settler.finish(name, "commit");
    } catch (thrown) {
      // Whatever it says, the next look tells what became of it.
      if (tries === TRIES_TO_LAND) throw thrown;
    }
  }
}

function isDown(thrown: unknown): boolean {
  return thrown instanceof DrydockError && thrown.code === SERVER_DOWN;
}
