import { type Facts, kindOf, type Time } from "../../system/calls/facts.ts";
import type { BaseFacts } from "../base/baseline.ts";
import { TYPE_BITS } from "../base/baseline-columns.ts";

/** The columns of a row. A time has two, seconds and nanoseconds; an unknown time has NaN seconds. */
const COLUMN = {
  mode: 0,
  uid: 1,
  gid: 2,
  size: 3,
  nlink: 4,
  ino: 5,
  btime: 6,
  mtime: 8,
  ctime: 10,
  atime: 12,
};
const COLUMNS = 14;
const ROWS_IN_BLOCK = 1024;
const UNKNOWN: Time = [Number.NaN, 0];

/** The facts of a sandbox's entry that have no column, because nearly all entries share them. */
type RestOfNow = Pick<Facts, "rdev" | "mountId" | "device" | "locked">;
/** The facts of a base that have no column, because hardly any entry has them. */
type RestOfBase = Pick<BaseFacts, "xattrs" | "target" | "rdev" | "changedBefore">;

const NOTHING_ELSE: RestOfBase = { xattrs: Object.freeze({}) };

/**
 * The facts of many entries, as rows of numbers, in a fifth of the memory of objects. Each access makes a new
 * object.
 */
export class PackedFacts {
  readonly #blocks: Float64Array[] = [];
  readonly #rests: (RestOfNow | RestOfBase)[] = [];
  #shared: RestOfNow | undefined;

  /** Adds these facts and returns their row. */
  addNow(facts: Facts): number {
    const { rdev, mountId, device, locked } = facts;
    const last = this.#shared;
    const isSame =
      last?.device === device && last.mountId === mountId && last.rdev === rdev && last.locked === locked;
    this.#shared = isSame ? last : { rdev, mountId, device, locked };
    return this.#add(facts, facts.atime, this.#shared);
  }

  addBase(facts: BaseFacts): number {
    const { xattrs, target, rdev, changedBefore } = facts;
    const isPlain = target === undefined && rdev === undefined && changedBefore === undefined;
    if (isPlain && Object.keys(xattrs).length === 0) return this.#add(facts, UNKNOWN, NOTHING_ELSE);
    return this.#add(facts, UNKNOWN, {
      xattrs,
      ...(target !== undefined && { target }),
      ...(rdev !== undefined && { rdev }),
      ...(changedBefore !== undefined && { changedBefore }),
    });
  }

  now(row: number): Facts {
    const rest = this.#rests[row] as RestOfNow;
    return {
      ...this.#columns(row),
      ctime: this.#time(row, COLUMN.ctime),
      atime: this.#time(row, COLUMN.atime),
      ...rest,
    };
  }

  base(row: number): BaseFacts {
    const rest = this.#rests[row] as RestOfBase;
    const ctime = this.#time(row, COLUMN.ctime);
    return { ...this.#columns(row), ...(!Number.isNaN(ctime[0]) && { ctime }), ...rest };
  }

  #add(facts: BaseFacts | Facts, atime: Time, rest: RestOfNow | RestOfBase): number {
    const row = this.#rests.push(rest) - 1;
    if (row % ROWS_IN_BLOCK === 0) this.#blocks.push(new Float64Array(ROWS_IN_BLOCK * COLUMNS));
    const { kind, mode, uid, gid, size, nlink, ino, btime, mtime, ctime = UNKNOWN } = facts;
    const numbers = [
      TYPE_BITS[kind] | mode,
      uid,
      gid,
      size,
      nlink,
      ino,
      ...btime,
      ...mtime,
      ...ctime,
      ...atime,
    ];
    this.#blocks.at(-1)?.set(numbers, (row % ROWS_IN_BLOCK) * COLUMNS);
    return row;
  }

  #columns(
    row: number,
  ): Pick<Facts, "kind" | "mode" | "uid" | "gid" | "size" | "nlink" | "ino" | "btime" | "mtime"> {
    const mode = this.#number(row, COLUMN.mode);
    return {
      kind: kindOf(mode),
      mode: mode & 0o7777,
      uid: this.#number(row, COLUMN.uid),
      gid: this.#number(row, COLUMN.gid),
      size: this.#number(row, COLUMN.size),
      nlink: this.#number(row, COLUMN.nlink),
      ino: this.#number(row, COLUMN.ino),
      btime: this.#time(row, COLUMN.btime),
      mtime: this.#time(row, COLUMN.mtime),
    };
  }

  #time(row: number, column: number): Time {
    return [this.#number(row, column), this.#number(row, column + 1)];
  }

  #number(row: number, column: number): number {
    return this.#blocks[Math.floor(row / ROWS_IN_BLOCK)]?.[
      (row % ROWS_IN_BLOCK) * COLUMNS + column
    ] as number;
  }
}
