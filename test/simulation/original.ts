import type { Call } from "../../src/fleet/protocol/call.ts";
import { isGivenUp, type TransactionRow } from "../../src/fleet/protocol/transaction-row.ts";

/** Something that must never happen has happened. */
export class Violation extends Error {}

/** What a work did to an original. */
interface Landing {
  readonly state: "staged" | "landed";
  /** The version of the original that it was staged for. */
  readonly base: number;
}

/** The truth about works at this instant. */
export interface Truth {
  rowOf(transaction: string): TransactionRow | undefined;
  /** The order in which works began. */
  orderOf(work: string): number;
  /** Hears that an operation outside of a transaction runs. */
  operationRuns(operation: string): void;
}

/**
 * A real thing of one host, and a strategy for it that does what it is told and trusts everybody: it lands
 * what has no landing folder any more, as often as it is told to. So whatever the protocol lets through
 * shows.
 */
export class Original {
  readonly name: string;
  readonly host: string;
  readonly kind: "two-phase" | "reversible" | "irreversible";
  /** The transactions whose work is in it, in their order. */
  applied: string[] = [];
  landings = new Map<string, Landing>();
  /** The works that ever came to it, by the order in which they began, for each plan. */
  #latest = new Map<string, number>();
  readonly #truth: Truth;
  #version = 0;

  constructor(name: string, host: string, kind: Original["kind"], truth: Truth) {
    this.name = name;
    this.host = host;
    this.kind = kind;
    this.#truth = truth;
  }

  /** Another one in the same state, as on a copy of its machine. */
  copy(): Original {
    const copy = new Original(this.name, this.host, this.kind, this.#truth);
    copy.become(this);
    return copy;
  }

  become(other: Original): void {
    this.applied = [...other.applied];
    this.landings = new Map(other.landings);
    this.#latest = new Map(other.#latest);
    this.#version = other.#version;
  }

  prepare(call: Call): void {
    this.#comes(call);
    if (!this.landings.has(call.work)) this.landings.set(call.work, { state: "staged", base: this.#version });
  }

  land(call: Call): void {
    const row = this.#truth.rowOf(call.work);
    const landing = this.landings.get(call.work);
    if (landing?.state === "landed") return;
    if (row?.decision !== "land") throw new Violation(`${call.work} lands without a decision`);
    if (landing === undefined && call.kind === "two-phase")
      throw new Violation(`${call.work} lands again, or what was never prepared`);
    if (landing !== undefined && landing.base !== this.#version)
      throw new Violation(`${call.work} lands over another's work`);
    this.#comes(call);
    this.#version += 1;
    const { undoes } = row.record;
    if (undoes === undefined) this.applied.push(call.work);
    else this.#remove(undoes);
    if (undoes !== undefined) this.landings.delete(undoes);
    this.landings.set(call.work, { state: "landed", base: this.#version });
  }

  takeBack(call: Pick<Call, "work" | "kind">): void {
    const landing = this.landings.get(call.work);
    const isThere = this.applied.includes(call.work);
    // There is nothing to take back: it does no harm, whatever the rows say.
    if (landing === undefined && !isThere) return;
    const row = this.#truth.rowOf(call.work);
    if (row === undefined || !isGivenUp(row))
      throw new Violation(`${call.work} is taken back, and nothing says that it is given up`);
    this.landings.delete(call.work);
    if (landing?.state !== "landed" && !isThere) return;
    if (this.applied.at(-1) !== call.work)
      throw new Violation(`${call.work} is taken back under another's work`);
    this.#remove(call.work);
    this.#version += 1;
  }

  /** The commit of a one-phase participant. */
  commit(call: Call): void {
    if (this.applied.includes(call.work)) {
      if (call.kind === "irreversible") throw new Violation(`${call.work} commits twice`);
      return;
    }
    if ([...this.landings].some(([work, { state }]) => work !== call.work && state === "staged"))
      throw new Violation(`${call.work} commits over another's work`);
    this.#comes(call);
    this.applied.push(call.work);
    this.#version += 1;
  }

  /** A call outside of a transaction changes the sandbox. */
  change(call: Call): void {
    const order = this.#truth.orderOf(call.work);
    const latest = this.#latest.get(call.plan) ?? 0;
    if (latest > order) throw new Violation(`${call.work} changes what came after it`);
    this.#latest.set(call.plan, order);
    this.#truth.operationRuns(call.work);
  }

  #comes({ plan, work }: Call): void {
    this.#latest.set(plan, Math.max(this.#latest.get(plan) ?? 0, this.#truth.orderOf(work)));
  }

  #remove(work: string): void {
    const at = this.applied.lastIndexOf(work);
    if (at >= 0) this.applied.splice(at, 1);
  }
}
