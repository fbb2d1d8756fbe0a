import type { Participant, TransactionRecord } from "../../src/core/transaction.ts";
import type { TransactionRow } from "../../src/fleet/protocol/transaction-row.ts";
import type { Original } from "./original.ts";
import type { Protocol } from "./protocol.ts";
import type { SimulatedCoordinator } from "./simulated-coordinator.ts";
import { HEALED_AT, type SimulatedPlan, type World } from "./world.ts";

/** What people do in a run: apply, undo, interrupt, give up, settle, and work outside of transactions. */
export class Users {
  readonly #world: World;
  readonly #protocol: Protocol;
  #number = 0;

  constructor(world: World, protocol: Protocol) {
    this.#world = world;
    this.#protocol = protocol;
  }

  begin(): void {
    const { dice, timeline } = this.#world.around;
    for (let at = 0; at < dice.whole(4, 9); at += 1)
      timeline.in(dice.between(100, HEALED_AT), () => this.#work());
    this.#look();
  }

  #work(): void {
    const { dice } = this.#world.around;
    const coordinator = this.#anybody();
    const plan = dice.pick(this.#world.plans);
    if (coordinator === undefined) return;
    const kind = dice.throw();
    if (kind < 0.25) this.#operate(coordinator, plan);
    else if (kind < 0.45) this.#undo(coordinator, plan);
    else this.#apply(coordinator, plan, this.#newId("T"));
  }

  #newId(letter: string): string {
    this.#number += 1;
    return `${letter}${this.#number}`;
  }

  #anybody(): SimulatedCoordinator | undefined {
    const able = this.#world.coordinators.filter(({ me }) => me !== undefined);
    return able.length === 0 ? undefined : this.#world.around.dice.pick(able);
  }

  #apply(coordinator: SimulatedCoordinator, plan: SimulatedPlan, id: string): void {
    const { dice, timeline } = this.#world.around;
    const participants = plan.originals.map((original) => participantOf(plan, original));
    this.#start(coordinator, plan, { ...recordOf(plan, id), participants });
    if (dice.chance(0.15)) timeline.in(dice.between(10, 3_000), () => coordinator.interrupt(id));
    // Who sees that it was not applied tries once more.
    if (dice.chance(0.3)) timeline.in(dice.between(5_000, 20_000), () => this.#again(plan, id));
  }

  #again(plan: SimulatedPlan, id: string): void {
    const coordinator = this.#anybody();
    if (coordinator === undefined || this.#world.rows.get(id)?.record.phase !== "aborted") return;
    this.#apply(coordinator, plan, this.#protocol.newIds ? this.#newId("T") : id);
  }

  /** Takes back the last transaction of a plan, where nobody has worked on its originals since. */
  #undo(coordinator: SimulatedCoordinator, plan: SimulatedPlan): void {
    const landed = [...this.#world.rows.values()].findLast(
      ({ record }) => record.planId === plan.name && record.phase === "done" && record.direction === "commit",
    )?.record;
    if (landed === undefined) return;
    const back = plan.originals.filter(({ kind }) => kind !== "irreversible");
    const isLast =
      back.length === plan.originals.length && back.every(({ applied }) => applied.at(-1) === landed.id);
    if (!isLast) return;
    const participants = back.map((original) => undoOf(plan, original)).reverse();
    const record = {
      ...recordOf(plan, this.#newId("U")),
      direction: "undo",
      undoes: landed.id,
      participants,
    };
    this.#start(coordinator, plan, record as TransactionRecord);
  }

  #start(coordinator: SimulatedCoordinator, plan: SimulatedPlan, record: TransactionRecord): void {
    const originals = record.participants.map(
      ({ resource }) => plan.originals.find(({ name }) => name === resource) as Original,
    );
    coordinator.begin({
      record,
      places: originals.map(({ host, name }) => ({ host, original: name })),
      keys: [plan.name, ...originals.map(({ name }) => name)],
    });
  }

  #operate(coordinator: SimulatedCoordinator, plan: SimulatedPlan): void {
    const original = this.#world.around.dice.pick(plan.originals);
    coordinator.operate({
      work: this.#newId("O"),
      scope: "operation",
      direction: "commit",
      plan: plan.name,
      sandbox: sandboxOf(plan, original),
      original: original.name,
      host: original.host,
      kind: original.kind,
      method: "change",
      attempt: 1,
    });
  }

  /** Now and then a person looks at what does not end. */
  #look(): void {
    const { dice, timeline, isHealed } = this.#world.around;
    timeline.in(dice.between(3_000, 9_000), () => this.#look());
    const coordinator = this.#anybody();
    if (coordinator === undefined) return;
    for (const row of this.#world.around.database.transactions.values()) {
      const { id, phase, direction } = row.record;
      if (phase === "preparing" && this.#onlyTheGoneKnow(row) && dice.chance(0.3)) this.#settle(id);
      if (phase === "in-doubt" && dice.chance(isHealed ? 1 : 0.4)) this.#settle(id);
      if (phase === "landing" && direction === "commit" && dice.chance(0.15)) coordinator.giveUp(id);
    }
  }

  /** Whether a commit was to begin that can't be taken back, on a host that is not there to say. */
  #onlyTheGoneKnow({ record }: TransactionRow): boolean {
    return record.participants.some(({ kind, status, resource }) => {
      const host = this.#world.hosts.find(({ originals }) => originals.has(resource));
      return kind === "irreversible" && status === "started" && host?.isUp === false;
    });
  }

  /** Everybody hears it: who drives the transaction, or who may take it. */
  #settle(id: string): void {
    const how = this.#world.around.dice.pick(["commit", "abort"] as const);
    this.#world.settled.add(id);
    for (const coordinator of this.#world.coordinators) coordinator.settle(id, how);
  }
}

function recordOf(plan: SimulatedPlan, id: string): TransactionRecord {
  const owner = { id: "o", host: "h", bootId: "b", pid: 1, startTime: "1", command: "simulation" };
  return {
    id,
    planId: plan.name,
    direction: "commit",
    owner,
    startedAt: "",
    phase: "preparing",
    participants: [],
  };
}

function sandboxOf(plan: SimulatedPlan, { name }: Original): string {
  return `${plan.name} ${name}`;
}

function participantOf(plan: SimulatedPlan, original: Original): Participant {
  const ref = {
    sandboxId: sandboxOf(plan, original),
    planId: plan.name,
    resourceId: original.name,
    strategyName: original.kind,
    metadata: {},
  };
  return { ref, resource: original.name, kind: original.kind, status: "waiting" };
}

/**
 * As atomic-commit.ts makes it: a rollback can be repeated, so a one-phase participant counts as prepared.
 */
function undoOf(plan: SimulatedPlan, original: Original): Participant {
  const participant = participantOf(plan, original);
  const prepared = { changes: 1, data: {} };
  if (original.kind === "two-phase") return { ...participant, undoes: prepared };
  return { ...participant, status: "prepared", prepared };
}
