import { type RowMark, RowStore } from "../../system/data/row-store.ts";

const RUN_BYTES = 1024 * 1024;

/**
 * Sorts rows of bytes, of which there may be more than memory holds: it sorts some of them at a time, keeps
 * these runs in a store, and merges all runs at the end. Equal rows stay in the order in which they came.
 */
export class RowSorter {
  readonly #compare: (a: Buffer, b: Buffer) => number;
  readonly #runs = new RowStore();
  readonly #ends: RowMark[] = [];
  #run: Buffer[] = [];
  #runBytes = 0;

  constructor(compare: (a: Buffer, b: Buffer) => number) {
    this.#compare = compare;
  }

  add(row: Buffer): void {
    this.#run.push(row);
    this.#runBytes += row.length;
    if (this.#runBytes >= RUN_BYTES) this.#endRun();
  }

  /** All rows in order. Nothing may be added afterwards. */
  sorted(): RowStore {
    this.#endRun();
    if (this.#ends.length <= 1) return this.#runs;
    using _unsorted = this.#runs;
    const merged = new RowStore();
    for (const row of this.#merged()) merged.add(row);
    return merged;
  }

  #endRun(): void {
    if (this.#run.length === 0) return;
    for (const row of this.#run.sort(this.#compare)) this.#runs.add(row);
    this.#ends.push(this.#runs.mark());
    this.#run = [];
    this.#runBytes = 0;
  }

  *#merged(): Generator<Buffer> {
    const runs = this.#ends.map((end, at) => this.#runs.rows(this.#ends[at - 1], end));
    /** The next row of each run, the first of all rows last. */
    const heads: Head[] = [];
    for (const [number, rest] of runs.entries()) this.#insert(heads, number, rest);
    for (let first = heads.pop(); first !== undefined; first = heads.pop()) {
      yield first.row;
      this.#insert(heads, first.number, first.rest);
    }
  }

  /** Puts the next row of a run into its place, found by halving. */
  #insert(heads: Head[], number: number, rest: Iterator<Buffer, undefined>): void {
    const { value: row } = rest.next();
    if (row === undefined) return;
    let [from, to] = [0, heads.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      const other = heads[middle] as Head;
      if ((this.#compare(other.row, row) || other.number - number) > 0) from = middle + 1;
      else to = middle;
    }
    heads.splice(from, 0, { row, number, rest });
  }
}

interface Head {
  readonly row: Buffer;
  readonly number: number;
  readonly rest: Iterator<Buffer, undefined>;
}
