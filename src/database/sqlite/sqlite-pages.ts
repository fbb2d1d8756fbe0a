import type { RandomAccess } from "../../system/data/random-access.ts";

/**
 * # The pages of a SQLite file, as far as finding rows needs them
 *
 * The rows of a table with rowids are in the leaves of a tree of pages. All leaves of a tree are equally
 * deep.
 *
 * - A page begins with its kind. In page 1 the kind comes after the header of the file.
 * - An inner page holds the numbers of its children.
 * - A leaf holds rows: each has its length, its rowid and its values. A row that does not fit continues in
 *   other pages, each of which begins with the number of the next.
 * - Numbers are big-endian. A `varint` has 7 bits in each byte, the highest first, as long as the eighth bit
 *   is set, and all 8 bits in the ninth byte.
 */
const HEADER_BYTES = 100;
const PAGE_SIZE_AT = 16;
const RESERVED_AT = 20;
const INNER_TABLE = 5;
const LEAF_TABLE = 13;
const INNER_INDEX = 2;
const LEAF_INDEX = 10;
const COMPARED_AT_ONCE = 1 << 20;
const MOST_CACHED_BYTES = 1 << 25;
/** In a larger file, the first byte of a page that continues a row may look like the kind of another page. */
const MOST_PAGES = 1 << 24;
const DEEPEST = 20;
/** A row that is longer than a page minus this continues in other pages. */
const MOST_BEYOND = 35;
/** As many bytes of seven bits each fit into a number. */
const PLAIN_VARINT_BYTES = 7;

/** A file is not laid out as this code expects. The caller compares all rows instead. */
export class UnknownPageError extends Error {}

/** A number if the value is small enough for one. */
export type Rowid = number | bigint;

/** The pages of a table. */
export interface TablePages {
  readonly inner: readonly number[];
  readonly leaves: readonly number[];
}

/** A row as it is in a leaf. */
export interface Cell {
  readonly rowid: Rowid;
  readonly page: Buffer;
  readonly from: number;
  /** The end of the row; undefined if it continues in other pages. */
  readonly to: number | undefined;
}

/** Whether two rows have the same bytes, and neither continues in other pages. */
export function isSameCell(a: Cell, b: Cell): boolean {
  if (a.to === undefined || b.to === undefined || Math.max(a.to, b.to) > a.page.length) return false;
  return a.page.compare(b.page, b.from, b.to, a.from, a.to) === 0;
}

/** One SQLite file. */
export class SqlitePages {
  readonly pageSize: number;
  readonly count: number;
  readonly file: RandomAccess;
  readonly #cached = new Map<number, Buffer>();
  /** Memory for more cached pages. */
  #room: Buffer = Buffer.alloc(0);

  constructor(file: RandomAccess) {
    this.file = file;
    const header = Buffer.alloc(HEADER_BYTES);
    file.readInto(header, 0);
    const size = header.readUInt16BE(PAGE_SIZE_AT);
    this.pageSize = size === 1 ? 65_536 : size;
    if (this.pageSize < 512 || header[RESERVED_AT] !== 0)
      throw new UnknownPageError("a header that is not known here");
    this.count = Math.ceil(file.size / this.pageSize);
    if (this.count >= MOST_PAGES) throw new UnknownPageError("too large");
  }

  /** The pages of a table, from the number of its first page. */
  tree(root: number): TablePages {
    let inner: number[] = [];
    let level = [root];
    for (let depth = 0; this.#kindOf(level[0] as number) === INNER_TABLE; depth += 1) {
      if (depth > DEEPEST) throw new UnknownPageError("no leaves");
      inner = inner.concat(level);
      level = level.flatMap((page) => this.#children(page));
    }
    return { inner, leaves: level };
  }

  /** The rows in a leaf. */
  *cells(leaf: number): Generator<Cell> {
    const page = this.#read(leaf);
    const start = startOf(leaf);
    if (page[start] !== LEAF_TABLE) throw new UnknownPageError(`page ${leaf} is no leaf`);
    const count = page.readUInt16BE(start + 3);
    for (let at = 0; at < count; at += 1) {
      const from = page.readUInt16BE(start + 8 + 2 * at);
      const [size, sizeBytes] = varintAt(page, from);
      const [rowid, rowidBytes] = varintAt(page, from + sizeBytes);
      const to = from + sizeBytes + rowidBytes + Number(size);
      yield { rowid, page, from, to: size <= this.pageSize - MOST_BEYOND ? to : undefined };
    }
  }

  /** Whether this page may continue a row: its kind is none that holds rows or keys. */
  mayContinueRow(page: number): boolean {
    return (
      page <= this.count && ![INNER_TABLE, LEAF_TABLE, INNER_INDEX, LEAF_INDEX].includes(this.#kindOf(page))
    );
  }

  #kindOf(page: number): number {
    return this.#read(page)[startOf(page)] ?? 0;
  }

  #children(page: number): number[] {
    const bytes = this.#read(page);
    const start = startOf(page);
    if (bytes[start] !== INNER_TABLE) throw new UnknownPageError(`page ${page} is no inner page`);
    const count = bytes.readUInt16BE(start + 3);
    const left = Array.from({ length: count }, (_, at) =>
      bytes.readUInt32BE(bytes.readUInt16BE(start + 12 + 2 * at)),
    );
    return [...left, bytes.readUInt32BE(start + 8)];
  }

  /** Caches the bytes of a page, which will be read again. */
  cache(page: number, bytes: Buffer, from: number): void {
    if (this.#cached.size * this.pageSize >= MOST_CACHED_BYTES) return;
    if (this.#room.length < this.pageSize) this.#room = Buffer.alloc(COMPARED_AT_ONCE);
    bytes.copy(this.#room, 0, from, from + this.pageSize);
    this.#cached.set(page, this.#room.subarray(0, this.pageSize));
    this.#room = this.#room.subarray(this.pageSize);
  }

  #read(page: number): Buffer {
    const cached = this.#cached.get(page);
    if (cached !== undefined) return cached;
    if (page < 1 || page > this.count) throw new UnknownPageError(`there is no page ${page}`);
    const bytes = Buffer.alloc(this.pageSize);
    this.file.readInto(bytes, (page - 1) * this.pageSize);
    return bytes;
  }
}

/** The pages whose bytes differ between the files, and those that only one of them has. */
export function differentPages(a: SqlitePages, b: SqlitePages): Set<number> {
  const { pageSize } = a;
  if (pageSize !== b.pageSize) throw new UnknownPageError("another size of pages");
  const pages = new Set<number>();
  const [left, right] = [Buffer.alloc(COMPARED_AT_ONCE), Buffer.alloc(COMPARED_AT_ONCE)];
  const shared = Math.min(a.count, b.count) * pageSize;
  for (let at = 0; at < shared; at += COMPARED_AT_ONCE) {
    a.file.readInto(left, at);
    b.file.readInto(right, at);
    if (left.equals(right)) continue;
    for (let from = 0; from < COMPARED_AT_ONCE && at + from < shared; from += pageSize)
      if (left.compare(right, from, from + pageSize, from, from + pageSize) !== 0) {
        const page = (at + from) / pageSize + 1;
        pages.add(page);
        a.cache(page, left, from);
        b.cache(page, right, from);
      }
  }
  for (let page = shared / pageSize + 1; page <= Math.max(a.count, b.count); page += 1) pages.add(page);
  return pages;
}

function startOf(page: number): number {
  return page === 1 ? HEADER_BYTES : 0;
}

function varintAt(bytes: Buffer, at: number): readonly [value: Rowid, length: number] {
  let value = 0;
  for (let length = 1; length <= PLAIN_VARINT_BYTES; length += 1) {
    const byte = bytes.readUInt8(at + length - 1);
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return [value, length];
  }
  const eighth = bytes.readUInt8(at + 7);
  const large = (BigInt(value) << 7n) | BigInt(eighth & 0x7f);
  if (eighth < 0x80) return [large, 8];
  return [BigInt.asIntN(64, (large << 8n) | BigInt(bytes.readUInt8(at + 8))), 9];
}
