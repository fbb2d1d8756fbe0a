import type { Facts, Time } from "../../system/calls/facts.ts";
import type { BaseFacts } from "../base/base-facts.ts";

/**
 * A record: the number of its rest, 32 bits; size and inode, 64 each; which times follow, 8; the birth time;
 * these times; the rest itself as JSON, if it has no number. A time is its seconds, 64, and its nanoseconds,
 * 32.
 */
const RECORD = { rest: 0, size: 4, ino: 12, follow: 20, times: 21 };
const TIME_BYTES = 12;
const TIMES = 4;
const NO_NUMBER = 0xffffffff;

/** The times that follow the birth time. One that does not follow is the same as the one before it. */
const FOLLOWS = { mtime: 1, ctime: 2, atime: 4 };
const UNKNOWN_CTIME = 8;

/** The facts of a sandbox's entry that nearly all entries share with others. */
type RestOfNow = Omit<Facts, "size" | "ino" | "btime" | "mtime" | "ctime" | "atime">;
/** The same of a base. Hardly any entry has attributes, a target or the fields after it. */
type RestOfBase = Omit<BaseFacts, "size" | "ino" | "btime" | "mtime" | "ctime">;

const NO_XATTRS = Object.freeze({});

/**
 * Packs the facts of entries into a tenth of the memory of objects: a change set may hold a million. What
 * entries share is kept here once, so the packer that packed a record has to unpack it.
 */
export class FactsPacker {
  readonly #rests: (RestOfNow | RestOfBase)[] = [];
  /** The number of each rest. */
  readonly #known = new Map<string, number>();
  /** The last one of a sandbox's entry: mostly the next one is the same. */
  #last: { readonly rest: RestOfNow; readonly number: number } | undefined;
  readonly #now = Buffer.alloc(RECORD.times + TIMES * TIME_BYTES);
  readonly #base = Buffer.alloc(RECORD.times + TIMES * TIME_BYTES);

  /** The record of these facts. Valid until the next one of a sandbox's entry is packed. */
  packNow(facts: Facts): Buffer {
    return pack(this.#now, facts, this.#restOfNow(facts), facts.atime);
  }

  /** The record of these facts. Valid until the next one of a base is packed. */
  packBase(facts: BaseFacts): Buffer {
    const rest = this.#restOfBase(facts);
    const number = typeof rest === "number" ? rest : NO_NUMBER;
    const record = pack(this.#base, facts, number);
    return number === NO_NUMBER ? Buffer.concat([record, Buffer.from(JSON.stringify(rest))]) : record;
  }

  unpackNow(record: Buffer): Facts {
    const rest = this.#rests[record.readUInt32LE(RECORD.rest)] as RestOfNow;
    const times = new TimeReader(record);
    const [btime, mtime] = [times.next(), times.nextIf(FOLLOWS.mtime)];
    const ctime = times.nextIf(FOLLOWS.ctime);
    const atime = times.nextIf(FOLLOWS.atime);
    const [size, ino] = [record.readDoubleLE(RECORD.size), record.readDoubleLE(RECORD.ino)];
    return { ...rest, size, ino, btime, mtime, ctime, atime };
  }

  unpackBase(record: Buffer): BaseFacts {
    const number = record.readUInt32LE(RECORD.rest);
    const times = new TimeReader(record);
    const [btime, mtime] = [times.next(), times.nextIf(FOLLOWS.mtime)];
    const ctime = times.nextIf(FOLLOWS.ctime);
    const rest = (
      number === NO_NUMBER ? JSON.parse(record.toString("utf8", times.end)) : this.#rests[number]
    ) as RestOfBase;
    const [size, ino] = [record.readDoubleLE(RECORD.size), record.readDoubleLE(RECORD.ino)];
    const isKnown = ((record[RECORD.follow] as number) & UNKNOWN_CTIME) === 0;
    return { ...rest, size, ino, btime, mtime, ...(isKnown && { ctime }) };
  }

  #restOfNow(facts: Facts): number {
    if (this.#last !== undefined && isRestOf(facts, this.#last.rest)) return this.#last.number;
    const { kind, mode, uid, gid, nlink, rdev, mountId, device, locked } = facts;
    const rest = { kind, mode, uid, gid, nlink, rdev, mountId, device, locked };
    const number = this.#numberOf(Object.values(rest).join(" "), rest);
    this.#last = { rest, number };
    return number;
  }

  /** The rest itself where hardly another entry has the same. */
  #restOfBase(facts: BaseFacts): number | RestOfBase {
    const { kind, mode, uid, gid, nlink, xattrs, target, rdev, changedBefore } = facts;
    const plain = { kind, mode, uid, gid, nlink };
    const isPlain = target === undefined && rdev === undefined && changedBefore === undefined;
    if (isPlain && Object.keys(xattrs).length === 0)
      return this.#numberOf(`${kind} ${mode} ${uid} ${gid} ${nlink}`, { ...plain, xattrs: NO_XATTRS });
    return {
      ...plain,
      xattrs,
      ...(target !== undefined && { target }),
      ...(rdev !== undefined && { rdev }),
      ...(changedBefore !== undefined && { changedBefore }),
    };
  }

  #numberOf(key: string, rest: RestOfNow | RestOfBase): number {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const number = this.#rests.push(rest) - 1;
    this.#known.set(key, number);
    return number;
  }
}

function isRestOf(facts: Facts, rest: RestOfNow): boolean {
  return (
    facts.mode === rest.mode &&
    facts.kind === rest.kind &&
    facts.nlink === rest.nlink &&
    facts.uid === rest.uid &&
    facts.gid === rest.gid &&
    facts.mountId === rest.mountId &&
    facts.device === rest.device &&
    facts.rdev === rest.rdev &&
    facts.locked === rest.locked
  );
}

/** Writes all but a rest without a number, and returns the record. */
function pack(
  record: Buffer,
  { size, ino, btime, mtime, ctime }: BaseFacts | Facts,
  rest: number,
  atime?: Time,
): Buffer {
  record.writeUInt32LE(rest, RECORD.rest);
  record.writeDoubleLE(size, RECORD.size);
  record.writeDoubleLE(ino, RECORD.ino);
  let end = writeTime(record, RECORD.times, btime);
  let follow = ctime === undefined ? UNKNOWN_CTIME : 0;
  let last = btime;
  const add = (time: Time, flag: number): void => {
    if (time[0] === last[0] && time[1] === last[1]) return;
    end = writeTime(record, end, time);
    follow |= flag;
    last = time;
  };
  add(mtime, FOLLOWS.mtime);
  if (ctime !== undefined) add(ctime, FOLLOWS.ctime);
  if (atime !== undefined) add(atime, FOLLOWS.atime);
  record[RECORD.follow] = follow;
  return record.subarray(0, end);
}

/** Reads the times of a record, in order. */
class TimeReader {
  readonly #record: Buffer;
  readonly #follow: number;
  #at = RECORD.times;
  #last: Time = [0, 0];

  constructor(record: Buffer) {
    this.#record = record;
    this.#follow = record[RECORD.follow] as number;
  }

  /** Where the times that were read end. */
  get end(): number {
    return this.#at;
  }

  next(): Time {
    this.#last = [this.#record.readDoubleLE(this.#at), this.#record.readUInt32LE(this.#at + 8)];
    this.#at += TIME_BYTES;
    return this.#last;
  }

  nextIf(flag: number): Time {
    return (this.#follow & flag) === 0 ? this.#last : this.next();
  }
}

/** Returns where the next one goes. */
function writeTime(record: Buffer, at: number, [seconds, nanoseconds]: Time): number {
  record.writeDoubleLE(seconds, at);
  record.writeUInt32LE(nanoseconds, at + 8);
  return at + TIME_BYTES;
}
