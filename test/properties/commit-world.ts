import { advance, type CommitEvent, type Effect, nextEffect } from "../../src/core/commit-machine.ts";
import type { Participant, ParticipantKind, TransactionRecord } from "../../src/core/transaction.ts";

/**
 * A simple model of everything around the commit machine: participants that are in one of three states, a
 * journal of which a power cut takes what was not durable, and a driver that does what the machine says until
 * something happens to it.
 */

/** Where the work of a participant is. */
type Place = "sandbox" | "staged" | "original";

/** What happens to a step. */
export const FATES = ["goes well", "fails", "dies before", "dies after", "power cut after"] as const;
export type Fate = (typeof FATES)[number];

export class Died extends Error {}

type Batch = Extract<Effect, { readonly indexes: readonly number[] }>;

interface Save {
  readonly record: TransactionRecord;
  readonly durable: boolean;
}

/**
 * The saves that the protocol needs on disk before it goes on; and a failure, where one is known that can't
 * be taken back.
 */
const DURABLE: ReadonlySet<CommitEvent["was"]> = new Set([
  "started",
  "committed",
  "decided",
  "finished",
  "settled",
]);

export class CommitWorld {
  readonly places: Place[];
  readonly kinds: readonly ParticipantKind[];
  /** Everything that was done, for looking at what must never come after what. */
  readonly deeds: string[] = [];
  #journal: Save[];
  readonly #hasWork: readonly boolean[];
  #hasBegun = false;

  constructor(participants: readonly { readonly kind: ParticipantKind; readonly hasWork: boolean }[]) {
    this.kinds = participants.map(({ kind }) => kind);
    this.#hasWork = participants.map(({ hasWork }) => hasWork);
    this.places = participants.map(() => "sandbox");
    this.#journal = [{ record: newRecord(this.kinds), durable: true }];
  }

  get record(): TransactionRecord {
    return (this.#journal.at(-1) as Save).record;
  }

  /** Goes on until it is over or it dies. All but the first to do so are another process, after a crash. */
  run(fates: Iterator<Fate>): void {
    if (this.#hasBegun) this.#save({ was: "recovered" });
    this.#hasBegun = true;
    const nextFate = (): Fate => {
      const fate = fates.next();
      return fate.done === true ? "goes well" : fate.value;
    };
    for (let effect = nextEffect(this.record); effect !== undefined; effect = nextEffect(this.record)) {
      if ("indexes" in effect) this.#batch(effect, nextFate);
      else this.#step(effect, nextFate());
    }
  }

  /**
   * Does all of a batch. One that fails stops no other, but leaves the rest of the transaction to the next
   * process.
   */
  #batch(effect: Batch, nextFate: () => Fate): void {
    this.#assertWhole(effect);
    let hasFailed = false;
    for (const index of effect.indexes) {
      const fate = nextFate();
      if (fate === "fails") hasFailed = true;
      else this.#step({ do: effect.do, indexes: [index] }, fate);
    }
    if (hasFailed) throw new Died();
  }

  /**
   * A batch has each participant that it can mean, once and in its order; how the machine finds them is its
   * own matter.
   */
  #assertWhole({ do: what, indexes }: Batch): void {
    const order = what === "land" ? indexes : indexes.toReversed();
    if (order.some((index, at) => at > 0 && index <= (order[at - 1] as number)))
      throw new Error(`The batch to ${what} has the order ${indexes.join(", ")}.`);
    const misplaced = this.places.findIndex((place, index) => place === "staged" && !indexes.includes(index));
    if (misplaced >= 0)
      throw new Error(`The batch to ${what} ${indexes.join(", ")} leaves out ${misplaced}.`);
  }

  settle(how: "commit" | "abort"): void {
    this.#save({ was: "settled", how });
  }

  #step(effect: Effect, fate: Fate): void {
    if (fate === "dies before") throw new Died();
    if (fate === "fails") {
      this.#failure(effect);
      return;
    }
    const event = this.#do(effect);
    if (fate === "dies after") throw new Died();
    this.#save(event);
    if (fate !== "power cut after") return;
    this.#journal = this.#journal.slice(0, this.#journal.findLastIndex(({ durable }) => durable) + 1);
    throw new Died();
  }

  /**
   * Before the decision a failure is one of the whole; after it, and while taking back, the rest is left to
   * recovery.
   */
  #failure(effect: Effect): void {
    if (this.record.phase !== "preparing") throw new Died();
    // A commit that failed may have happened.
    if (effect.do === "commit-reversible" || effect.do === "commit-irreversible") this.#do(effect);
    this.#save(
      { was: "failed", report: { resource: "r", message: "failed" }, conflicts: [] },
      effect.do === "decide" || this.#hasIrreversibleBegun(),
    );
  }

  #do(effect: Effect): CommitEvent {
    const indexes = "indexes" in effect ? effect.indexes : "index" in effect ? [effect.index] : [];
    this.deeds.push([effect.do, ...indexes].join(" "));
    switch (effect.do) {
      case "prepare":
        if (this.#hasWork[effect.index] !== true)
          return { was: "prepared", index: effect.index, prepared: null };
        this.#move(effect.index, ["sandbox", "staged"], "staged");
        return { was: "prepared", index: effect.index, prepared: { changes: 1, data: {} } };
      case "start-reversible":
      case "start-irreversible":
        return { was: "started", index: effect.index };
      case "commit-reversible":
      case "commit-irreversible":
        this.#move(effect.index, ["sandbox"], "original");
        return { was: "committed", index: effect.index, changes: 1, attention: [] };
      case "land": {
        const [index = -1] = effect.indexes;
        this.#move(index, ["staged", "original"], "original");
        return { was: "committed", index, changes: 1, attention: [] };
      }
      case "take-back": {
        const [index = -1] = effect.indexes;
        this.#takeBack(index);
        return { was: "taken-back", index, attention: [] };
      }
      case "decide":
        return { was: "decided" };
      case "finish":
        return { was: "finished", at: "now" };
      case "clean":
        return { was: "cleaned" };
      case "abort":
        return { was: "aborted", at: "now" };
    }
  }

  #takeBack(index: number): void {
    const from: readonly Place[] =
      this.kinds[index] === "two-phase" ? ["sandbox", "staged"] : ["sandbox", "original"];
    this.#move(index, from, "sandbox");
  }

  #move(index: number, from: readonly Place[], to: Place): void {
    const place = this.places[index] as Place;
    if (!from.includes(place))
      throw new Error(`${this.deeds.at(-1)} of what is in the ${place}, after ${this.deeds.join(", ")}`);
    this.places[index] = to;
  }

  #hasIrreversibleBegun(): boolean {
    return this.record.participants.some(
      ({ kind, status }) => kind === "irreversible" && status !== "waiting",
    );
  }

  #save(event: CommitEvent, durable = DURABLE.has(event.was)): void {
    this.#journal.push({ record: advance(this.record, event), durable });
  }
}

function newRecord(kinds: readonly ParticipantKind[]): TransactionRecord {
  return {
    id: "t",
    planId: "p",
    direction: "commit",
    owner: { id: "o", host: "h", bootId: "b", pid: 1, startTime: "1", command: "test" },
    startedAt: "now",
    phase: "preparing",
    participants: kinds.map(
      (kind, index): Participant => ({
        ref: {
          sandboxId: `s${index}`,
          planId: "p",
          resourceId: `r${index}`,
          strategyName: kind,
          metadata: {},
        },
        resource: `r${index}`,
        kind,
        status: "waiting",
      }),
    ),
  };
}
