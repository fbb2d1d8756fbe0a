import type { TransactionRecord } from "../../src/core/transaction.ts";
import {
  isGivenUp,
  isOver,
  isSameDriver,
  type TransactionRow,
} from "../../src/fleet/protocol/transaction-row.ts";
import { Chaos } from "./chaos.ts";
import { Original, type Truth, Violation } from "./original.ts";
import type { Protocol } from "./protocol.ts";
import { type Ear, SimulatedCoordinator } from "./simulated-coordinator.ts";
import { SimulatedDatabase } from "./simulated-database.ts";
import { newDirectory, SimulatedHost } from "./simulated-host.ts";
import type { Surroundings } from "./simulated-process.ts";
import { Dice, Timeline } from "./timeline.ts";
import { Users } from "./users.ts";

/** When everything that went wrong is mended, and when everything has to be over. */
export const HEALED_AT = 50_000;
const OVER_AT = 400_000;

/** A set of originals that land together. */
export interface SimulatedPlan {
  readonly name: string;
  /** In the order in which they prepare: what can't be taken back is last. */
  readonly originals: readonly Original[];
}

/**
 * A fleet: hosts with originals, processes that drive transactions, one database, and users. After every step
 * nothing may have happened that must never happen; and in the end everything is over and nothing is left.
 */
export class World implements Ear, Truth {
  readonly around: Surroundings;
  readonly hosts: SimulatedHost[] = [];
  readonly coordinators: SimulatedCoordinator[] = [];
  readonly plans: SimulatedPlan[] = [];
  /** Every transaction that ever began, as it was last known. */
  readonly rows = new Map<string, TransactionRow>();
  /** Those that a person settled. Whether a commit happened that can't be taken back is their word. */
  readonly settled = new Set<string>();
  readonly #orders = new Map<string, number>();
  readonly #told = new Map<string, string>();
  /** Whose transactions were taken by somebody else because the lease was gone: `process transaction`. */
  readonly #replaced = new Set<string>();
  readonly #ran = new Set<string>();

  constructor(seed: number, protocol: Protocol) {
    const timeline = new Timeline();
    const dice = new Dice(seed);
    const database = new SimulatedDatabase(timeline, dice, protocol);
    this.around = { timeline, dice, database, isServing: true, isHealed: false };
    database.begins = (work) => this.orderOf(work);
    database.watch = (before, after) => this.#watch(before, after);
    database.bell = (name) => this.#bell(name);
    this.#build(protocol);
    for (const host of this.hosts) host.start();
    for (const coordinator of this.coordinators) coordinator.start();
    new Users(this, protocol).begin();
    new Chaos(this, protocol).begin();
  }

  /** Runs to the end. Throws a Violation. */
  run(): number {
    const { timeline } = this.around;
    while (timeline.now < OVER_AT && timeline.next())
      if (timeline.now > HEALED_AT && timeline.moments % 64 === 0 && this.#isOver()) break;
    this.#assertEnd();
    return timeline.moments;
  }

  /** As it was last known: a machine that was replaced may end what it began when the rows are gone. */
  rowOf(transaction: string): TransactionRow | undefined {
    return this.rows.get(transaction);
  }

  orderOf(work: string): number {
    const known = this.#orders.get(work);
    if (known !== undefined) return known;
    this.#orders.set(work, this.#orders.size + 1);
    return this.#orders.size;
  }

  // ---- what coordinators say

  acts(coordinator: SimulatedCoordinator, transaction: string): void {
    const { me } = coordinator;
    if (me !== undefined && this.#replaced.has(`${me.process} ${me.epoch} ${transaction}`))
      throw new Violation(`${transaction} is driven by two at once, who both count on their lease`);
  }

  told(transaction: string, how: "applied" | "not applied"): void {
    const before = this.#told.get(transaction);
    if (before !== undefined && before !== how)
      throw new Violation(`${transaction} was told to be ${before}, and then ${how}`);
    this.#told.set(transaction, how);
  }

  operationTold(operation: string, how: "done" | "not done" | "not known"): void {
    if (how === "not done" && this.#ran.has(operation))
      throw new Violation(`${operation} ran, and its user was told that it did not`);
    if (how !== "not known") this.#told.set(operation, how);
  }

  operationRuns(operation: string): void {
    if (this.#told.get(operation) === "not done")
      throw new Violation(`${operation} runs after its user was told that it did not`);
    this.#ran.add(operation);
  }

  #bell(name: string): void {
    const { dice, isHealed, timeline } = this.around;
    if (!isHealed && dice.chance(0.05)) return;
    timeline.in(dice.between(1, 10), () => {
      for (const process of [...this.hosts, ...this.coordinators])
        if (process.name === name && process.isUp && process.cutOffUntil <= timeline.now) process.ring();
    });
  }

  // ---- what must hold after every step

  #watch(before: TransactionRow | undefined, after: TransactionRow): void {
    const { id, phase } = after.record;
    this.rows.set(id, after);
    if (before === undefined) return;
    if (before.decision !== undefined && after.decision !== before.decision)
      throw new Violation(`${id} has a second decision`);
    if (!isSameDriver(before.driver, after.driver)) this.#replacedBy(before, after);
    if (phase === before.record.phase) return;
    if (!isUnfinished(before.record))
      throw new Violation(`${id} was ${before.record.phase}, and is ${phase}`);
    if (phase === "landed") this.#assertLanded(after);
    if (phase === "aborted") this.#assertTakenBack(after);
  }

  #replacedBy({ driver, record }: TransactionRow, after: TransactionRow): void {
    if (record.phase !== "in-doubt" && driver.host !== after.driver.host)
      this.#replaced.add(`${driver.process} ${driver.epoch} ${record.id}`);
  }

  #originalsOf({ record }: TransactionRow): readonly Original[] {
    const plan = this.plans.find(({ name }) => name === record.planId);
    return record.participants.map(
      ({ resource }) => plan?.originals.find(({ name }) => name === resource) as Original,
    );
  }

  /** Every participant has landed when the record says so. */
  #assertLanded(row: TransactionRow): void {
    const { id, undoes, participants } = row.record;
    if (row.decision !== "land" || row.givenUp === true)
      throw new Violation(`${id} finishes against its rows`);
    for (const [index, original] of this.#originalsOf(row).entries()) {
      if (participants[index]?.kind === "irreversible") continue;
      const isThere = original.applied.includes(undoes ?? id);
      if (isThere !== (undoes === undefined))
        throw new Violation(`${id} finishes, and ${original.name} lacks it`);
    }
  }

  /** Nothing of it is left when the record says so, but for what the record says stays. */
  #assertTakenBack(row: TransactionRow): void {
    const { id, participants } = row.record;
    if (!isGivenUp(row)) throw new Violation(`${id} is aborted against its rows`);
    for (const [index, original] of this.#originalsOf(row).entries()) {
      if (participants[index]?.status === "not-undone") continue;
      if (original.applied.includes(id)) throw new Violation(`${id} is aborted, and ${original.name} has it`);
      if (original.landings.has(id)) throw new Violation(`${id} is aborted, and ${original.name} holds it`);
    }
  }

  // ---- what must hold in the end

  #isOver(): boolean {
    const { database } = this.around;
    if ([...database.transactions.values()].some((row) => !isOver(row))) return false;
    return this.hosts.every(
      (host) => host.isRegistered && [...host.notes.values()].every(({ isReleased }) => isReleased),
    );
  }

  #assertEnd(): void {
    const { database } = this.around;
    for (const row of this.rows.values()) {
      if (!isOver(row)) throw new Violation(`${row.record.id} never ends: it is ${row.record.phase}`);
      if (row.record.phase === "aborted") this.#assertTakenBack(row);
      else this.#assertStays(row);
    }
    for (const host of this.hosts) {
      if (!host.isRegistered) throw new Violation(`${host.name} never comes back`);
      const left = [...host.notes.values()].find(({ isReleased }) => !isReleased);
      if (left !== undefined) throw new Violation(`${host.name} still holds ${left.work}`);
    }
    for (const [key, { work, scope }] of database.claims)
      if (scope === "transaction") throw new Violation(`${work} is over, and still claims ${key}`);
    for (const { originals } of this.plans) for (const original of originals) this.#assertClean(original);
  }

  /** What was applied is still there, unless it was undone. */
  #assertStays(row: TransactionRow): void {
    const { id, undoes } = row.record;
    const isUndone = [...this.rows.values()].some(
      ({ record }) => record.undoes === id && record.phase === "done",
    );
    for (const original of this.#originalsOf(row)) {
      if (original.kind === "irreversible" && this.settled.has(id)) continue;
      const isThere = original.applied.includes(undoes ?? id);
      if (isThere !== (undoes === undefined && !isUndone))
        throw new Violation(`${id} is done, and ${original.name} ${isThere ? "still has" : "lacks"} it`);
    }
  }

  #assertClean(original: Original): void {
    for (const [work, { state }] of original.landings)
      if (state === "staged")
        throw new Violation(`${work} is over, and left something with ${original.name}`);
    if (new Set(original.applied).size !== original.applied.length)
      throw new Violation(`${original.name} has something twice`);
  }

  #build(protocol: Protocol): void {
    const { dice } = this.around;
    const all: Original[] = [];
    for (let at = 1; at <= dice.whole(2, 3); at += 1) {
      const name = `web${at}`;
      const originals = new Map<string, Original>();
      for (let number = 1; number <= dice.whole(1, 3); number += 1) {
        const chance = dice.throw();
        const kind = chance < 0.7 ? "two-phase" : chance < 0.88 ? "reversible" : "irreversible";
        const original = new Original(`${name}:${number}`, name, kind, this);
        originals.set(original.name, original);
        all.push(original);
      }
      const directory = newDirectory(`directory of ${name}`);
      this.hosts.push(new SimulatedHost(this.around, protocol, { name, originals, directory }));
    }
    for (let at = 1; at <= 2; at += 1)
      this.coordinators.push(new SimulatedCoordinator(this.around, protocol, `app${at}`, this));
    for (let at = 1; at <= dice.whole(2, 3); at += 1) this.plans.push(planOf(`plan${at}`, all, dice));
  }
}

const ORDER = ["two-phase", "reversible", "irreversible"] as const;

/** Some of the originals, of which at most one can't be taken back. */
function planOf(name: string, all: readonly Original[], dice: Dice): SimulatedPlan {
  const chosen = all.filter(() => dice.chance(0.6));
  const last = chosen.find(({ kind }) => kind === "irreversible");
  const some = chosen.filter((original) => original.kind !== "irreversible" || original === last);
  const originals = some.length > 0 ? some : [all[0] as Original];
  return {
    name,
    originals: originals.toSorted((one, other) => ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind)),
  };
}

function isUnfinished({ phase }: TransactionRecord): boolean {
  return phase !== "done" && phase !== "aborted";
}
