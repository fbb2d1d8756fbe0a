/** Chances of one run. The same seed always makes the same run. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
    // Neighbouring seeds begin alike; a few throws set them apart.
    for (let at = 0; at < 4; at += 1) this.throw();
  }

  /** A number from 0 up to, not including, 1 (mulberry32). */
  throw(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  chance(probability: number): boolean {
    return this.throw() < probability;
  }

  between(least: number, most: number): number {
    return least + this.throw() * (most - least);
  }

  whole(least: number, most: number): number {
    return least + Math.floor(this.throw() * (most - least + 1));
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.throw() * values.length)] as T;
  }
}

interface Moment {
  readonly at: number;
  readonly order: number;
  readonly happen: () => void;
}

/** Simulated time: what is to happen, in the order of its moments, and nothing in between. */
export class Timeline {
  /** The true time, which is the clock of the database, in milliseconds. */
  now = 0;
  moments = 0;
  readonly #heap: Moment[] = [];
  #order = 0;

  in(delay: number, happen: () => void): void {
    const heap = this.#heap;
    const moment: Moment = { at: this.now + Math.max(0, delay), order: this.#order, happen };
    this.#order += 1;
    let at = heap.length;
    heap.push(moment);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(moment, heap[parent] as Moment)) break;
      heap[at] = heap[parent] as Moment;
      at = parent;
    }
    heap[at] = moment;
  }

  /** Lets the next moment happen. False: there is none. */
  next(): boolean {
    const moment = this.#take();
    if (moment === undefined) return false;
    this.now = moment.at;
    this.moments += 1;
    moment.happen();
    return true;
  }

  #take(): Moment | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, heap[child] as Moment)) child += 1;
      if (!isBefore(heap[child] as Moment, last)) break;
      heap[at] = heap[child] as Moment;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(one: Moment, other: Moment): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
