import type { ChangeOperation } from "../../core/change.ts";
import { bytesFromPath, comparePaths } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import { nameFrom } from "../../system/calls/listing.ts";
import type { BaseFacts } from "../base/baseline.ts";
import { ByteHeap, offsetOf } from "./byte-heap.ts";
import type { EntryOperation, TreeChange, TreeEntry } from "./change-set.ts";
import { PackedFacts } from "./packed-facts.ts";
import type { Rows } from "./rows.ts";

/** The two sides of a change or an entry, and the parts that differ. */
export type Sides = Omit<TreeChange, "path" | "operation">;

/** The fields that few changes have. */
type More = Pick<Sides, "xattrs" | "parts" | "storedAt">;

/** A path is a change, an entry, or both. */
export interface Meaning {
  readonly change?: ChangeOperation | undefined;
  readonly entry?: EntryOperation | undefined;
}

/** The columns of a row, 32 bits each: positions in heaps, the length of the path, the two operations. */
const COLUMN = { path: 0, pathLength: 1, before: 2, after: 3, change: 4, entry: 5 };
const COLUMNS = 6;
const ROWS_IN_BLOCK = 1024;
const NOTHING = 0xffffffff;

const CHANGES: readonly ChangeOperation[] = ["added", "modified", "deleted", "typechanged"];
const ENTRIES: readonly EntryOperation[] = ["add", "replace", "delete", "metadata"];

/** All changes and entries of a change set as rows of numbers: there may be a million. */
export class PackedChanges {
  readonly #facts = new PackedFacts();
  readonly #paths = new ByteHeap();
  readonly #blocks: Uint32Array[] = [];
  readonly #more = new Map<number, More>();
  readonly #counts = { change: 0, entry: 0 };
  #length = 0;

  /** The number of changes so far. */
  get changes(): number {
    return this.#counts.change;
  }

  add(path: string, { change, entry }: Meaning, { before, after, xattrs, parts, storedAt }: Sides): void {
    const row = this.#length;
    if (row % ROWS_IN_BLOCK === 0) this.#blocks.push(new Uint32Array(ROWS_IN_BLOCK * COLUMNS));
    const bytes = bytesFromPath(path);
    this.#set(row, COLUMN.path, this.#paths.add(bytes));
    this.#set(row, COLUMN.pathLength, bytes.length);
    this.#set(row, COLUMN.before, before === undefined ? NOTHING : this.#facts.addBase(before));
    this.#set(row, COLUMN.after, after === undefined ? NOTHING : this.#facts.addNow(after));
    this.#set(row, COLUMN.change, change === undefined ? NOTHING : CHANGES.indexOf(change));
    this.#set(row, COLUMN.entry, entry === undefined ? NOTHING : ENTRIES.indexOf(entry));
    if (xattrs !== undefined || parts !== undefined || storedAt !== undefined)
      this.#more.set(row, { xattrs, parts, storedAt });
    if (change !== undefined) this.#counts.change += 1;
    if (entry !== undefined) this.#counts.entry += 1;
    this.#length += 1;
  }

  /** The changes and the entries, in path order. Nothing may be added afterwards. */
  sorted(): { readonly changes: Rows<TreeChange>; readonly entries: Rows<TreeEntry> } {
    const order = new Uint32Array(this.#length).map((_, row) => row);
    order.sort((a, b) => this.#compare(a, b));
    return {
      changes: new SortedRows(this.#counts.change, () => this.#rows(order, COLUMN.change, CHANGES)),
      entries: new SortedRows(this.#counts.entry, () => this.#rows(order, COLUMN.entry, ENTRIES)),
    };
  }

  before(row: number): BaseFacts | undefined {
    const position = this.#get(row, COLUMN.before);
    return position === NOTHING ? undefined : this.#facts.base(position);
  }

  after(row: number): Facts | undefined {
    const position = this.#get(row, COLUMN.after);
    return position === NOTHING ? undefined : this.#facts.now(position);
  }

  more(row: number): More | undefined {
    return this.#more.get(row);
  }

  *#rows<Operation extends string>(
    order: Uint32Array,
    column: number,
    operations: readonly Operation[],
  ): Generator<PackedChange<Operation>> {
    for (const row of order) {
      const operation = operations[this.#get(row, column)];
      if (operation !== undefined) yield new PackedChange(this, row, this.#path(row), operation);
    }
  }

  #path(row: number): string {
    const position = this.#get(row, COLUMN.path);
    const start = offsetOf(position);
    return nameFrom(this.#paths.chunk(position), start, start + this.#get(row, COLUMN.pathLength));
  }

  /** The order of `comparePaths`. Makes strings only where the first difference is no ASCII. */
  #compare(a: number, b: number): number {
    const [positionA, positionB] = [this.#get(a, COLUMN.path), this.#get(b, COLUMN.path)];
    const [bytesA, bytesB] = [this.#paths.chunk(positionA), this.#paths.chunk(positionB)];
    const [atA, atB] = [offsetOf(positionA), offsetOf(positionB)];
    const [lengthA, lengthB] = [this.#get(a, COLUMN.pathLength), this.#get(b, COLUMN.pathLength)];
    // The root, and a name that begins like it.
    if (bytesA[atA] === DOT || bytesB[atB] === DOT) return comparePaths(this.#path(a), this.#path(b));
    const length = Math.min(lengthA, lengthB);
    for (let at = 0; at < length; at += 1) {
      const [byteA, byteB] = [bytesA[atA + at] as number, bytesB[atB + at] as number];
      if (byteA === byteB) continue;
      if (byteA > MOST_ASCII || byteB > MOST_ASCII) return comparePaths(this.#path(a), this.#path(b));
      if (byteA === SLASH) return -1;
      return byteB === SLASH ? 1 : byteA - byteB;
    }
    return lengthA - lengthB;
  }

  #get(row: number, column: number): number {
    const block = this.#blocks[Math.floor(row / ROWS_IN_BLOCK)] as Uint32Array;
    return block[(row % ROWS_IN_BLOCK) * COLUMNS + column] as number;
  }

  #set(row: number, column: number, value: number): void {
    const block = this.#blocks[Math.floor(row / ROWS_IN_BLOCK)] as Uint32Array;
    block[(row % ROWS_IN_BLOCK) * COLUMNS + column] = value;
  }
}

const [SLASH, DOT, MOST_ASCII] = [47, 46, 0x7f];

/** A row of a change set, as an object. Unpacks a side when it is first asked for. */
class PackedChange<Operation extends string> implements Sides {
  readonly path: string;
  readonly operation: Operation;
  readonly #rows: PackedChanges;
  readonly #row: number;
  #before: BaseFacts | undefined;
  #after: Facts | undefined;

  constructor(rows: PackedChanges, row: number, path: string, operation: Operation) {
    this.path = path;
    this.operation = operation;
    this.#rows = rows;
    this.#row = row;
  }

  get before(): BaseFacts | undefined {
    this.#before ??= this.#rows.before(this.#row);
    return this.#before;
  }

  get after(): Facts | undefined {
    this.#after ??= this.#rows.after(this.#row);
    return this.#after;
  }

  get xattrs(): Sides["xattrs"] {
    return this.#rows.more(this.#row)?.xattrs;
  }

  get parts(): Sides["parts"] {
    return this.#rows.more(this.#row)?.parts;
  }

  get storedAt(): Sides["storedAt"] {
    return this.#rows.more(this.#row)?.storedAt;
  }
}

/** Makes its rows anew whenever they are asked for. */
class SortedRows<Row> implements Rows<Row> {
  readonly length: number;
  readonly #make: () => Generator<Row>;

  constructor(length: number, make: () => Generator<Row>) {
    this.length = length;
    this.#make = make;
  }

  [Symbol.iterator](): Generator<Row> {
    return this.#make();
  }
}
