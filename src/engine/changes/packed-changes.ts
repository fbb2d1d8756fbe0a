import type { ChangeOperation } from "../../core/change.ts";
import { bytesFromPath, comparePaths } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import { nameFrom } from "../../system/calls/listing.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import type { EntryOperation, FolderTime, TreeChange, TreeEntry } from "./change-set.ts";
import { FactsPacker } from "./packed-facts.ts";
import { RowSorter } from "./row-sorter.ts";
import type { Rows } from "./rows.ts";

/** The two sides of a change or an entry, and the parts that differ. */
export type Sides = Omit<TreeChange, "path" | "operation">;

/** The fields that few changes have. */
type More = Pick<Sides, "xattrs" | "parts" | "storedAt">;

/** A path is a change, an entry, a folder with another time, or several of these. */
export interface Meaning {
  readonly change?: ChangeOperation | undefined;
  readonly entry?: EntryOperation | undefined;
  readonly hasOtherTime?: boolean;
}

/**
 * A row: the lengths of its path and of the records of both sides, 32 bits each; the operations of the change
 * and of the entry, and whether it is a folder with another time, 8 each; then the path, the records
 * (packed-facts.ts), and as JSON the fields that few changes have. A side that is absent has no length.
 */
const ROW = { path: 0, before: 4, after: 8, change: 12, entry: 13, time: 14, rest: 15 };
const NO_OPERATION = 255;
const NO_BYTES = Buffer.alloc(0);

const CHANGES: readonly ChangeOperation[] = ["added", "modified", "deleted", "typechanged"];
const ENTRIES: readonly EntryOperation[] = ["add", "replace", "delete", "metadata"];

/** All changes and entries of a change set as rows of bytes: there may be millions. */
export class PackedChanges {
  readonly #facts = new FactsPacker();
  readonly #rows = new RowSorter(compareRows);
  readonly #counts = { change: 0, entry: 0, time: 0 };

  /** The number of changes so far. */
  get changes(): number {
    return this.#counts.change;
  }

  add(path: string, { change, entry, hasOtherTime = false }: Meaning, sides: Sides): void {
    const pathBytes = bytesFromPath(path);
    const before = sides.before === undefined ? NO_BYTES : this.#facts.packBase(sides.before);
    const after = sides.after === undefined ? NO_BYTES : this.#facts.packNow(sides.after);
    const more = moreBytes(sides);
    const row = Buffer.allocUnsafe(ROW.rest + pathBytes.length + before.length + after.length + more.length);
    row.writeUInt32LE(pathBytes.length, ROW.path);
    row.writeUInt32LE(before.length, ROW.before);
    row.writeUInt32LE(after.length, ROW.after);
    row[ROW.change] = change === undefined ? NO_OPERATION : CHANGES.indexOf(change);
    row[ROW.entry] = entry === undefined ? NO_OPERATION : ENTRIES.indexOf(entry);
    row[ROW.time] = Number(hasOtherTime);
    let at = ROW.rest;
    for (const part of [pathBytes, before, after, more]) at += part.copy(row, at);
    this.#rows.add(row);
    if (change !== undefined) this.#counts.change += 1;
    if (entry !== undefined) this.#counts.entry += 1;
    if (hasOtherTime) this.#counts.time += 1;
  }

  /** The changes, the entries and the times of folders, in path order. Nothing may be added afterwards. */
  sorted(): {
    readonly changes: Rows<TreeChange>;
    readonly entries: Rows<TreeEntry>;
    readonly folderTimes: Rows<FolderTime>;
  } {
    const facts = this.#facts;
    const store = this.#rows.sorted();
    const operations = function* <Operation extends string>(
      column: number,
      names: readonly Operation[],
    ): Generator<PackedChange<Operation>> {
      for (const row of store.rows()) {
        const operation = names[row[column] as number];
        if (operation !== undefined) yield new PackedChange(facts, row, operation);
      }
    };
    const times = function* (): Generator<FolderTime> {
      for (const row of store.rows())
        if (row[ROW.time] === 1) yield { path: pathOf(row), mtime: facts.unpackNow(afterOf(row)).mtime };
    };
    return {
      changes: new RowsOf(this.#counts.change, () => operations(ROW.change, CHANGES)),
      entries: new RowsOf(this.#counts.entry, () => operations(ROW.entry, ENTRIES)),
      folderTimes: new RowsOf(this.#counts.time, times),
    };
  }
}

function moreBytes({ xattrs, parts, storedAt }: Sides): Buffer {
  if (xattrs === undefined && parts === undefined && storedAt === undefined) return NO_BYTES;
  return Buffer.from(JSON.stringify({ xattrs, parts, storedAt } satisfies More));
}

function pathOf(row: Buffer): string {
  return nameFrom(row, ROW.rest, ROW.rest + row.readUInt32LE(ROW.path));
}

function beforeOf(row: Buffer): Buffer {
  const at = ROW.rest + row.readUInt32LE(ROW.path);
  return row.subarray(at, at + row.readUInt32LE(ROW.before));
}

function afterOf(row: Buffer): Buffer {
  const at = ROW.rest + row.readUInt32LE(ROW.path) + row.readUInt32LE(ROW.before);
  return row.subarray(at, at + row.readUInt32LE(ROW.after));
}

function moreOf(row: Buffer): More {
  const { path, before, after, rest } = ROW;
  const at = rest + row.readUInt32LE(path) + row.readUInt32LE(before) + row.readUInt32LE(after);
  return at === row.length ? {} : (JSON.parse(row.toString("utf8", at)) as More);
}

const [SLASH, DOT, MOST_ASCII] = [47, 46, 0x7f];

/** The order of `comparePaths`. Makes strings only where the first difference is no ASCII. */
function compareRows(a: Buffer, b: Buffer): number {
  // The root, and a name that begins like it.
  if (a[ROW.rest] === DOT || b[ROW.rest] === DOT) return comparePaths(pathOf(a), pathOf(b));
  const [lengthA, lengthB] = [a.readUInt32LE(ROW.path), b.readUInt32LE(ROW.path)];
  const end = ROW.rest + Math.min(lengthA, lengthB);
  for (let at = ROW.rest; at < end; at += 1) {
    const [byteA, byteB] = [a[at] as number, b[at] as number];
    if (byteA === byteB) continue;
    if (byteA > MOST_ASCII || byteB > MOST_ASCII) return comparePaths(pathOf(a), pathOf(b));
    if (byteA === SLASH) return -1;
    return byteB === SLASH ? 1 : byteA - byteB;
  }
  return lengthA - lengthB;
}

/** A row of a change set, as an object. Unpacks a side when it is first asked for. */
class PackedChange<Operation extends string> implements Sides {
  readonly path: string;
  readonly operation: Operation;
  readonly #facts: FactsPacker;
  readonly #row: Buffer;
  #before: BaseFacts | undefined;
  #after: Facts | undefined;
  #more: More | undefined;

  constructor(facts: FactsPacker, row: Buffer, operation: Operation) {
    this.path = pathOf(row);
    this.operation = operation;
    this.#facts = facts;
    this.#row = row;
  }

  get before(): BaseFacts | undefined {
    if (this.#before !== undefined) return this.#before;
    const packed = beforeOf(this.#row);
    if (packed.length > 0) this.#before = this.#facts.unpackBase(packed);
    return this.#before;
  }

  get after(): Facts | undefined {
    if (this.#after !== undefined) return this.#after;
    const packed = afterOf(this.#row);
    if (packed.length > 0) this.#after = this.#facts.unpackNow(packed);
    return this.#after;
  }

  get xattrs(): Sides["xattrs"] {
    return this.#moreFields.xattrs;
  }

  get parts(): Sides["parts"] {
    return this.#moreFields.parts;
  }

  get storedAt(): Sides["storedAt"] {
    return this.#moreFields.storedAt;
  }

  get #moreFields(): More {
    this.#more ??= moreOf(this.#row);
    return this.#more;
  }
}

/** Makes its rows anew whenever they are asked for. */
class RowsOf<Row> implements Rows<Row> {
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
