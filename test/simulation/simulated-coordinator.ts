import type { TransactionRecord } from "../../src/core/transaction.ts";
import { CONTRACT, type Driver } from "../../src/fleet/protocol/call.ts";
import {
  type Drive,
  drivingFrom,
  interrupted,
  type NewCall,
  nextStep,
  type Place,
  type Step,
  settledAs,
  takenOver,
} from "../../src/fleet/protocol/drive.ts";
import {
  type After,
  afterCalls,
  afterRead,
  afterWait,
  type Reply,
} from "../../src/fleet/protocol/drive-results.ts";
import type { Lease } from "../../src/fleet/protocol/lease.ts";
import type { TransactionRow } from "../../src/fleet/protocol/transaction-row.ts";
import type { Protocol } from "./protocol.ts";
import { type FoundTransaction, TERMS } from "./simulated-database.ts";
import { SimulatedProcess, type Surroundings } from "./simulated-process.ts";

const RENEW_MS = TERMS.lengthMs / 4;
const SCAN_MS = 3_000;
const PAUSE_MS = 1_000;
const POLL_MS = 1_000;
/** Longer than the deadline of a call, whatever this clock does. */
const WAITS_MS = 9_500;

/** What somebody wants of a coordinator. */
export interface Wish {
  readonly record: TransactionRecord;
  readonly places: readonly Place[];
  readonly keys: readonly string[];
}

/** What the world hears of a coordinator. */
export interface Ear {
  /** This process is about to act for a transaction, and counts on its lease. */
  acts(coordinator: SimulatedCoordinator, transaction: string): void;
  /** Somebody was told how a transaction ends. */
  told(transaction: string, how: "applied" | "not applied"): void;
  /** An operation outside of a transaction is over, as its user is told. */
  operationTold(operation: string, how: "done" | "not done" | "not known"): void;
}

/** A process that drives transactions, of its users and of others that died, while it counts on its lease. */
export class SimulatedCoordinator extends SimulatedProcess {
  readonly name: string;
  readonly #protocol: Protocol;
  readonly #ear: Ear;
  readonly #drives = new Map<string, Drive>();
  readonly #interrupted = new Set<string>();
  readonly #settled = new Map<string, "commit" | "abort">();
  #bells: (() => void)[] = [];
  #epoch: number | undefined;
  #follows = 0;
  #countsUntil = 0;

  constructor(around: Surroundings, protocol: Protocol, name: string, ear: Ear) {
    super(around);
    this.#protocol = protocol;
    this.#ear = ear;
    this.name = name;
  }

  start(): void {
    this.comeUp();
    this.#drives.clear();
    this.#interrupted.clear();
    this.#settled.clear();
    this.#bells = [];
    this.#epoch = undefined;
    this.#countsUntil = 0;
    this.#lease();
    this.#scan();
  }

  die(): void {
    this.goDown();
    this.#drives.clear();
  }

  /** Who it is, while it counts on its lease. */
  get me(): Driver | undefined {
    if (!this.isUp || this.#epoch === undefined || this.clock >= this.#countsUntil) return undefined;
    return { host: this.name, epoch: this.#epoch, process: `${this.name} ${this.life}` };
  }

  drives(transaction: string): boolean {
    return this.#drives.has(transaction);
  }

  ring(): void {
    const bells = this.#bells;
    this.#bells = [];
    for (const bell of bells) this.later(1, bell);
  }

  // ---- what users do

  begin({ record, places, keys }: Wish): void {
    const { me } = this;
    if (me === undefined) return;
    this.ask(
      (database) => database.begin(record, me, places, keys),
      (result) => {
        // A late request may still begin it: then the scan finds it.
        if (result.was === "not-known" || result.value === "refused") return;
        this.#drive(record.id, drivingFrom(me, result.value, places));
      },
    );
  }

  interrupt(transaction: string): void {
    if (this.#drives.has(transaction)) this.#interrupted.add(transaction);
  }

  giveUp(transaction: string): void {
    this.ask(
      (database) => database.giveUp(transaction),
      (result) => {
        if (result.was === "known" && result.value) this.#ear.told(transaction, "not applied");
      },
    );
  }

  settle(transaction: string, how: "commit" | "abort"): void {
    const { me } = this;
    if (me === undefined) return;
    if (this.#drives.has(transaction)) this.#settled.set(transaction, how);
    else this.#takeOver(transaction, me, (drive) => settledAs(drive, how));
  }

  /** An operation outside of a transaction: claims the plan, makes one call, and gives the plan back. */
  operate(call: Omit<NewCall, "sender" | "index" | "contract">): void {
    const { me } = this;
    if (me === undefined) return;
    this.ask(
      (database) => database.claim(call.plan, call.work, me),
      (result) => {
        if (result.was === "not-known" || !result.value) return;
        this.#calls([{ ...call, sender: me, index: 0, contract: CONTRACT }], ([reply]) => {
          const how = reply?.said === "changed" ? "done" : isNothing(reply) ? "not done" : "not known";
          this.#ear.operationTold(call.work, how);
          this.#release(call.plan, call.work);
        });
      },
    );
  }

  #release(plan: string, work: string): void {
    this.ask(
      (database) => database.release(plan, work),
      (result) => {
        if (result.was === "not-known") this.#release(plan, work);
      },
    );
  }

  // ---- the lease

  #lease(): void {
    const sentAt = this.clock;
    const epoch = this.#epoch;
    const follows = this.#follows;
    this.ask(
      (database) => {
        if (epoch === undefined) return database.takeLease(this.name, follows);
        const lease = database.renewLease(this.name, epoch);
        return lease === undefined ? { epoch } : { lease, epoch };
      },
      (result) => {
        if (result.was === "known") this.#granted(sentAt, result.value);
        this.later(this.me === undefined ? 200 : RENEW_MS, () => this.#lease());
      },
    );
  }

  /** What was begun in an earlier epoch is no longer this one's. */
  #granted(sentAt: number, { lease, epoch }: { readonly lease?: Lease; readonly epoch: number }): void {
    this.#follows = epoch;
    if (lease === undefined || lease.epoch !== this.#epoch) this.#drives.clear();
    this.#epoch = lease?.epoch;
    this.#countsUntil = lease === undefined ? 0 : this.#protocol.countsOnLeaseUntil(sentAt, TERMS);
  }

  // ---- driving

  #scan(): void {
    const { me } = this;
    this.later(SCAN_MS, () => this.#scan());
    if (me === undefined) return;
    this.ask(
      (database) => {
        database.prune();
        return database.drivable(me);
      },
      (result) => {
        if (result.was === "not-known" || this.me === undefined) return;
        for (const { row } of result.value)
          if (!this.#drives.has(row.record.id)) this.#takeOver(row.record.id, me, takenOver);
      },
    );
  }

  #takeOver(transaction: string, me: Driver, then: (drive: Drive) => Drive): void {
    this.ask(
      (database) => database.takeOver(transaction, me),
      (result) => {
        if (result.was === "not-known" || result.value === undefined) return;
        if (this.me?.epoch !== me.epoch || this.#drives.has(transaction)) return;
        const { row, places }: FoundTransaction = result.value;
        this.#drive(transaction, then(drivingFrom(me, row, places)));
      },
    );
  }

  #drive(transaction: string, drive: Drive): void {
    this.#drives.set(transaction, drive);
    this.#step(transaction);
  }

  #step(transaction: string): void {
    const known = this.#drives.get(transaction);
    if (known === undefined) return;
    // Without its lease it stands still; it goes on if the lease was only renewed late.
    if (this.me === undefined) {
      this.later(200, () => this.#step(transaction));
      return;
    }
    this.#ear.acts(this, transaction);
    const drive = this.#withWords(transaction, known);
    this.#drives.set(transaction, drive);
    const step = nextStep(drive);
    if (step === undefined) this.#drives.delete(transaction);
    else this.#perform(transaction, drive, step);
  }

  /** What people have said meanwhile counts as soon as nothing is on its way. */
  #withWords(transaction: string, drive: Drive): Drive {
    const how = this.#settled.get(transaction);
    if (how !== undefined && drive.next === undefined && !drive.mustRead) {
      this.#settled.delete(transaction);
      return settledAs(drive, how);
    }
    return this.#interrupted.has(transaction) ? interrupted(drive) : drive;
  }

  #perform(transaction: string, drive: Drive, step: Step): void {
    const then = (after: After): void => this.#after(transaction, drive, after);
    switch (step.do) {
      case "read":
        this.ask(
          (database) => database.read(transaction),
          (result) => then(afterRead(drive, result)),
        );
        return;
      case "decide":
        this.ask(
          (database) => database.decide(transaction, step.decision),
          (result) => then(this.#protocol.afterDecide(drive, result)),
        );
        return;
      case "save":
        this.ask(
          (database) => database.save(transaction, step.save),
          (result) => then(this.#protocol.afterSave(drive, step.save, result)),
        );
        return;
      case "call":
        this.#calls(this.#numbered(step.calls), (replies) =>
          then(afterCalls(drive, step.calls, this.#waitedFor(drive, replies))),
        );
        return;
      case "wait":
        this.later(PAUSE_MS, () => then(afterWait(drive)));
    }
  }

  #numbered(calls: readonly NewCall[]): readonly NewCall[] {
    return this.#protocol.countsAttempts ? calls : calls.map((call) => ({ ...call, attempt: 1 }));
  }

  #waitedFor({ row }: Drive, replies: readonly Reply[]): readonly Reply[] {
    if (this.#protocol.waitsForAll || row.record.phase !== "aborting") return replies;
    return replies.map(() => ({ said: "taken-back", attention: [] }));
  }

  #after(transaction: string, before: Drive, after: After): void {
    // The lease went meanwhile, and with it everything that it drove.
    if (this.#drives.get(transaction) !== before) return;
    if (after === "stop") {
      this.#drives.delete(transaction);
      return;
    }
    this.#tell(transaction, before.row, after.row);
    this.#drives.set(transaction, after);
    this.#step(transaction);
  }

  /** Its user hears the end as soon as this process knows it from the database. */
  #tell(transaction: string, before: TransactionRow, after: TransactionRow): void {
    const { phase } = after.record;
    if (phase === before.record.phase) return;
    if (phase === "landed" || phase === "done") this.#ear.told(transaction, "applied");
    if (phase === "aborting" || phase === "aborted") this.#ear.told(transaction, "not applied");
  }

  // ---- calls

  #calls(calls: readonly NewCall[], then: (replies: readonly Reply[]) => void): void {
    const waitsUntil = this.clock + WAITS_MS;
    const send = (): void =>
      this.ask(
        (database) => database.send(calls),
        // Sending again does nothing if it has arrived.
        (result) => (result.was === "not-known" && this.clock < waitsUntil ? send() : wait()),
      );
    const wait = (): void => {
      let isDone = false;
      const look = (): void => {
        if (isDone) return;
        isDone = true;
        this.#answers(calls, waitsUntil, then, wait);
      };
      this.#bells.push(look);
      this.later(POLL_MS, look);
    };
    send();
  }

  #answers(
    calls: readonly NewCall[],
    waitsUntil: number,
    then: (replies: readonly Reply[]) => void,
    wait: () => void,
  ): void {
    if (this.clock >= waitsUntil) {
      this.#cancel(calls, then);
      return;
    }
    this.ask(
      (database) => database.answersTo(calls),
      (result) => {
        if (result.was === "not-known") return wait();
        const answers = result.value.filter((answer) => answer !== undefined);
        if (answers.length === calls.length) then(answers);
        else wait();
      },
    );
  }

  #cancel(calls: readonly NewCall[], then: (replies: readonly Reply[]) => void): void {
    this.ask(
      (database) => database.cancel(calls),
      (result) => {
        if (result.was === "known") then(result.value);
        else then(calls.map(() => ({ said: "not-known" })));
      },
    );
  }
}

function isNothing(reply: Reply | undefined): boolean {
  return reply?.said === "cancelled" || (reply?.said === "refused" && reply.why !== "late");
}
