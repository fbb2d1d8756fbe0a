import type { TransactionRecord } from "../../src/core/transaction.ts";
import { type Answer, type Call, callKey, type Driver } from "../../src/fleet/protocol/call.ts";
import type { Claim } from "../../src/fleet/protocol/claim.ts";
import type { NewCall, Place } from "../../src/fleet/protocol/drive.ts";
import type { Reply } from "../../src/fleet/protocol/drive-results.ts";
import type { Look } from "../../src/fleet/protocol/gate-checks.ts";
import { epochOf, type Lease, type LeaseTerms } from "../../src/fleet/protocol/lease.ts";
import {
  type DirectoryState,
  type Registration,
  type RegistrationProblem,
  registered,
  withNotes,
} from "../../src/fleet/protocol/registration.ts";
import {
  type Decision,
  isOver,
  isSameDriver,
  type Save,
  type SaveResult,
  type TransactionRow,
} from "../../src/fleet/protocol/transaction-row.ts";
import type { Protocol } from "./protocol.ts";
import type { Dice, Timeline } from "./timeline.ts";

/** How long rows of what is over stay: nothing depends on it. */
const ROWS_STAY_MS = [0, 2_000, 20_000] as const;
/** How long a host has a call for itself. */
const REDELIVERED_AFTER_MS = 3_000;
const CALL_MS = 8_000;

export const TERMS: LeaseTerms = { lengthMs: 6_000, countedOn: 0.8 };

interface QueuedCall {
  readonly call: Call;
  readonly state: "queued" | "taken" | "cancelled" | "answered";
  readonly takenAt: number;
  readonly answer?: Answer;
}

interface Tables {
  readonly transactions: Map<string, TransactionRow>;
  readonly places: Map<string, readonly Place[]>;
  readonly changedAt: Map<string, number>;
  readonly claims: Map<string, Claim>;
  readonly leases: Map<string, Lease>;
  readonly registrations: Map<string, Registration>;
  readonly calls: Map<string, QueuedCall>;
}

/** A transaction as those who want to drive it find it. */
export interface FoundTransaction {
  readonly row: TransactionRow;
  readonly places: readonly Place[];
}

/**
 * The database of a fleet: tables, and one method for each statement. A statement happens at one instant.
 */
export class SimulatedDatabase {
  /** Hears of new calls and answers, as listeners of the real one do. */
  bell: (host: string) => void = () => undefined;
  /** Hears in which order works begin. */
  begins: (work: string) => void = () => undefined;
  /** Looks at each change of a transaction. */
  watch: (before: TransactionRow | undefined, after: TransactionRow) => void = () => undefined;
  readonly #timeline: Timeline;
  readonly #dice: Dice;
  readonly #protocol: Protocol;
  #tables: Tables = {
    transactions: new Map(),
    places: new Map(),
    changedAt: new Map(),
    claims: new Map(),
    leases: new Map(),
    registrations: new Map(),
    calls: new Map(),
  };
  #older: Tables | undefined;
  readonly #rowsStayMs: number;

  constructor(timeline: Timeline, dice: Dice, protocol: Protocol) {
    this.#timeline = timeline;
    this.#dice = dice;
    this.#protocol = protocol;
    this.#rowsStayMs = dice.pick(ROWS_STAY_MS);
    if (!protocol.keepsCommits) this.#copyNowAndThen();
  }

  get #now(): number {
    return this.#timeline.now;
  }

  get transactions(): ReadonlyMap<string, TransactionRow> {
    return this.#tables.transactions;
  }

  get claims(): ReadonlyMap<string, Claim> {
    return this.#tables.claims;
  }

  get(transaction: string): TransactionRow | undefined {
    return this.#tables.transactions.get(transaction);
  }

  /** What a restart leaves. */
  restart(): void {
    if (!this.#protocol.keepsCommits && this.#older !== undefined) this.#tables = copyOf(this.#older);
  }

  #copyNowAndThen(): void {
    this.#older = copyOf(this.#tables);
    this.#timeline.in(400, () => this.#copyNowAndThen());
  }

  // ---- transactions

  begin(
    record: TransactionRecord,
    driver: Driver,
    places: readonly Place[],
    keys: readonly string[],
  ): TransactionRow | "refused" {
    const { transactions, claims } = this.#tables;
    if (this.#protocol.newIds && transactions.has(record.id)) return "refused";
    if (keys.some((key) => this.#isClaimed(key))) return "refused";
    const row: TransactionRow = { record, version: 1, driver };
    this.begins(record.id);
    for (const key of keys) claims.set(key, { work: record.id, scope: "transaction", holder: driver });
    this.#tables.places.set(record.id, places);
    this.#put(row);
    return row;
  }

  read(transaction: string): TransactionRow | undefined {
    return this.get(transaction);
  }

  decide(transaction: string, decision: Decision): Decision | undefined {
    const row = this.get(transaction);
    if (row === undefined) return undefined;
    const decided = this.#protocol.decide(row, decision);
    if (decided !== row) this.#put(decided);
    return decided.decision;
  }

  giveUp(transaction: string): boolean {
    const row = this.get(transaction);
    if (row === undefined) return false;
    const after = this.#protocol.giveUp(row);
    if (after !== row) this.#put(after);
    return after.givenUp === true || after.record.phase === "aborting";
  }

  save(transaction: string, saved: Save): SaveResult {
    const row = this.get(transaction);
    if (row === undefined) return { was: "conflict" };
    const result = this.#protocol.save(row, saved);
    if (result.was !== "saved") return result;
    this.#put(result.row);
    if (isOver(result.row)) this.#releaseAll(transaction);
    return result;
  }

  /** What this process may drive: nobody with a lease does, or nobody knows that it is this one's. */
  drivable(me: Driver): readonly FoundTransaction[] {
    return [...this.#tables.transactions.values()]
      .filter((row) => !isOver(row) && row.record.phase !== "in-doubt" && this.#mayTake(row, me))
      .map((row) => ({ row, places: this.#tables.places.get(row.record.id) ?? [] }));
  }

  /** The transaction, if this process drives it from now on. */
  takeOver(transaction: string, me: Driver): FoundTransaction | undefined {
    const row = this.get(transaction);
    if (row === undefined) return undefined;
    const taken = this.#protocol.takeOver(row, me, this.#mayTake(row, me));
    if (taken === row) return undefined;
    this.#put(taken);
    return { row: taken, places: this.#tables.places.get(transaction) ?? [] };
  }

  #mayTake({ driver }: TransactionRow, me: Driver): boolean {
    return isSameDriver(driver, me) || !this.#isAlive(driver);
  }

  #isAlive({ host, epoch }: Driver): boolean {
    return this.#protocol.isAlive(this.#tables.leases.get(host), epoch, this.#now);
  }

  #put(row: TransactionRow): void {
    const { id } = row.record;
    const before = this.#tables.transactions.get(id);
    this.#tables.transactions.set(id, row);
    this.#tables.changedAt.set(id, this.#now);
    this.watch(before, row);
  }

  /** Removes rows and calls that nobody needs any more. */
  prune(): void {
    const { transactions, places, changedAt, calls } = this.#tables;
    for (const [id, row] of transactions) {
      if (this.#now - (changedAt.get(id) ?? 0) < this.#rowsStayMs || !this.#protocol.mayRemoveRows(row))
        continue;
      transactions.delete(id);
      places.delete(id);
      this.#releaseAll(id);
    }
    for (const [key, { call }] of calls)
      if (this.#now > call.deadline + this.#protocol.callsStayMs) calls.delete(key);
  }

  // ---- claims

  claim(key: string, work: string, holder: Driver): boolean {
    if (this.#isClaimed(key) || !this.#isAlive(holder)) return false;
    this.#tables.claims.set(key, { work, scope: "operation", holder });
    this.begins(work);
    return true;
  }

  release(key: string, work: string): void {
    if (this.#tables.claims.get(key)?.work === work) this.#tables.claims.delete(key);
  }

  #isClaimed(key: string): boolean {
    return this.#protocol.isHeld(this.#tables.claims.get(key), (holder) => this.#isAlive(holder));
  }

  #releaseAll(work: string): void {
    for (const [key, claim] of this.#tables.claims) if (claim.work === work) this.#tables.claims.delete(key);
  }

  // ---- hosts

  /** The lease; if it was in another epoch, only that. */
  takeLease(host: string, follows: number): { readonly lease?: Lease; readonly epoch: number } {
    const known = this.#tables.leases.get(host);
    const lease = this.#protocol.takeLease(known, follows, this.#now, TERMS);
    if (lease === undefined) return { epoch: epochOf(known) };
    this.#tables.leases.set(host, lease);
    return { lease, epoch: lease.epoch };
  }

  renewLease(host: string, epoch: number): Lease | undefined {
    const lease = this.#protocol.renewLease(this.#tables.leases.get(host), epoch, this.#now, TERMS);
    if (lease !== undefined) this.#tables.leases.set(host, lease);
    return lease;
  }

  register(host: string, directory: DirectoryState): RegistrationProblem | undefined {
    const problem = this.#protocol.registrationProblem(this.#tables.registrations.get(host), directory);
    if (problem === undefined) this.#tables.registrations.set(host, registered(directory));
    return problem;
  }

  isKnown(host: string): boolean {
    return this.#tables.registrations.has(host);
  }

  /** Hears how much a host has noted; false: another start has its name. */
  #hears(host: string, from: Registration): boolean {
    const known = this.#tables.registrations.get(host);
    if (known === undefined || !this.#protocol.isCurrent(known, from)) return false;
    this.#tables.registrations.set(host, withNotes(known, from.notes));
    return true;
  }

  // ---- calls

  /** Puts calls into the queues of their hosts, and says what they are called by. */
  send(calls: readonly NewCall[]): void {
    for (const { index: _, ...call } of calls) {
      const key = callKey(call);
      if (this.#tables.calls.has(key)) continue;
      const sent: Call = { ...call, deadline: this.#now + CALL_MS };
      this.#tables.calls.set(key, { call: sent, state: "queued", takenAt: 0 });
      this.bell(call.host);
    }
  }

  /** A call for this host: a new one, one that it seems to have lost, or now and then any other again. */
  take(host: string, from: Registration): Call | undefined {
    if (!this.#hears(host, from)) return undefined;
    const mine = [...this.#tables.calls].filter(
      ([, { call, state }]) => call.host === host && state !== "cancelled",
    );
    const open = mine.filter(
      ([, { state, takenAt }]) =>
        state === "queued" || (state === "taken" && this.#now > takenAt + REDELIVERED_AFTER_MS),
    );
    if (open.length === 0) return this.#dice.chance(0.1) ? this.#dice.pick(mine)?.[1].call : undefined;
    const [key, queued] = this.#dice.pick(open);
    this.#tables.calls.set(key, { ...queued, state: "taken", takenAt: this.#now });
    return queued.call;
  }

  /** What moves calls loses those of this host: somebody empties its queue. */
  loseCalls(host: string): void {
    for (const [key, { call }] of this.#tables.calls) if (call.host === host) this.#tables.calls.delete(key);
  }

  answer(host: string, from: Registration, call: Call, answer: Answer): void {
    const key = callKey(call);
    const queued = this.#tables.calls.get(key);
    if (!this.#hears(host, from) || queued === undefined || queued.answer !== undefined) return;
    this.#tables.calls.set(key, { ...queued, state: "answered", answer });
    this.bell(call.sender.host);
  }

  answersTo(calls: readonly NewCall[]): readonly (Answer | undefined)[] {
    return calls.map((call) => this.#tables.calls.get(callKey(call))?.answer);
  }

  /** What is not known stays so; what nobody has taken never runs. */
  cancel(calls: readonly NewCall[]): readonly Reply[] {
    return calls.map((call) => {
      const queued = this.#tables.calls.get(callKey(call));
      if (queued?.answer !== undefined) return queued.answer;
      if (queued === undefined || queued.state === "taken") return { said: "not-known" };
      if (this.#protocol.cancels) this.#tables.calls.set(callKey(call), { ...queued, state: "cancelled" });
      return { said: "cancelled" };
    });
  }

  look(host: string, from: Registration, of: { work: string; plan: string; holders: readonly string[] }) {
    if (!this.#hears(host, from)) return undefined;
    const look: Look = {
      now: this.#now,
      row: this.get(of.work),
      claimant: this.#tables.claims.get(of.plan)?.work,
      over: new Set(of.holders.filter((work) => isOver(this.get(work)))),
    };
    return look;
  }
}

function copyOf(tables: Tables): Tables {
  return {
    transactions: new Map(tables.transactions),
    places: new Map(tables.places),
    changedAt: new Map(tables.changedAt),
    claims: new Map(tables.claims),
    leases: new Map(tables.leases),
    registrations: new Map(tables.registrations),
    calls: new Map(tables.calls),
  };
}
