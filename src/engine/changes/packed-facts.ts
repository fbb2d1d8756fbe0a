import type { Facts, Time } from "../../system/calls/facts.ts";
import type { BaseFacts } from "../base/baseline.ts";
import { ByteHeap, offsetOf } from "./byte-heap.ts";

/**
 * A record: the number of its rest, 32 bits; size and inode, 64 each; which times follow, 8; the birth time;
 * these times. A time is its seconds, 64, and its nanoseconds, 32.
 */
const RECORD = { rest: 0, size: 4, ino: 12, follow: 20, times: 21 };
const TIME_BYTES = 12;
const TIMES = 4;

/** The times that follow the birth time. One that does not follow is the same as the one before it. */
const FOLLOWS = { mtime: 1, ctime: 2, atime: 4 };
const UNKNOWN_CTIME = 8;

/** The facts of a sandbox's entry that nearly all entries share with others. */
type RestOfNow = Omit<Facts, "size" | "ino" | "btime" | "mtime" | "ctime" | "atime">;
/** The same of a base. Hardly any entry has attributes, a target or the fields after it. */
type RestOfBase = Omit<BaseFacts, "size" | "ino" | "btime" | "mtime" | "ctime">;

const NO_XATTRS = Object.freeze({});

/**
 * The facts of many entries, in a tenth of the memory of objects: a change set may hold a million. Each
 * access makes a new object.
 */
export class PackedFacts {
  readonly #heap = new ByteHeap();
  readonly #rests: (RestOfNow | RestOfBase)[] = [];
  /** The number of each rest that is shared. */
  readonly #known = new Map<string, number>();
  /** The last one of a sandbox's entry: mostly the next one is the same. */
  #last: { readonly rest: RestOfNow; readonly number: number } | undefined;
  readonly #record = Buffer.alloc(RECORD.times + TIMES * TIME_BYTES);

  /** Adds these facts and returns their position. */
  addNow(facts: Facts): number {
    return this.#add(facts, this.#restOfNow(facts), facts.ctime, facts.atime);
  }

  addBase(facts: BaseFacts): number {
    return this.#add(facts, this.#restOfBase(facts), facts.ctime, facts.ctime ?? facts.mtime);
  }

  now(position: number): Facts {
    const [chunk, at] = [this.#heap.chunk(position), offsetOf(position)];
    const rest = this.#rests[chunk.readUInt32LE(at + RECORD.rest)] as RestOfNow;
    const times = new TimeReader(chunk, at);
    const [btime, mtime] = [times.next(), times.nextIf(FOLLOWS.mtime)];
    const ctime = times.nextIf(FOLLOWS.ctime);
    const atime = times.nextIf(FOLLOWS.atime);
    const [size, ino] = [chunk.readDoubleLE(at + RECORD.size), chunk.readDoubleLE(at + RECORD.ino)];
    return { ...rest, size, ino, btime, mtime, ctime, atime };
  }

  base(position: number): BaseFacts {
    const [chunk, at] = [this.#heap.chunk(position), offsetOf(position)];
    const rest = this.#rests[chunk.readUInt32LE(at + RECORD.rest)] as RestOfBase;
    const times = new TimeReader(chunk, at);
    const [btime, mtime] = [times.next(), times.nextIf(FOLLOWS.mtime)];
    const ctime = times.nextIf(FOLLOWS.ctime);
    const [size, ino] = [chunk.readDoubleLE(at + RECORD.size), chunk.readDoubleLE(at + RECORD.ino)];
    const isKnown = ((chunk[at + RECORD.follow] as number) & UNKNOWN_CTIME) === 0;
    return { ...rest, size, ino, btime, mtime, ...(isKnown && { ctime }) };
  }

  #add(
    { size, ino, btime, mtime }: BaseFacts | Facts,
    rest: number,
    ctime: Time | undefined,
    atime: Time,
  ): number {
    const record = this.#record;
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
    add(atime, FOLLOWS.atime);
    record[RECORD.follow] = follow;
    return this.#heap.add(record.subarray(0, end));
  }

  #restOfNow(facts: Facts): number {
    if (this.#last !== undefined && isRestOf(facts, this.#last.rest)) return this.#last.number;
    const { kind, mode, uid, gid, nlink, rdev, mountId, device, locked } = facts;
    const rest = { kind, mode, uid, gid, nlink, rdev, mountId, device, locked };
    const key = Object.values(rest).join(" ");
    const number = this.#known.get(key) ?? this.#share(key, rest);
    this.#last = { rest, number };
    return number;
  }

  #restOfBase({ kind, mode, uid, gid, nlink, xattrs, target, rdev, changedBefore }: BaseFacts): number {
    const plain = { kind, mode, uid, gid, nlink };
    const isPlain = target === undefined && rdev === undefined && changedBefore === undefined;
    if (!isPlain || Object.keys(xattrs).length > 0)
      return this.#keep({
        ...plain,
        xattrs,
        ...(target !== undefined && { target }),
        ...(rdev !== undefined && { rdev }),
        ...(changedBefore !== undefined && { changedBefore }),
      });
    const key = `${kind} ${mode} ${uid} ${gid} ${nlink}`;
    return this.#known.get(key) ?? this.#share(key, { ...plain, xattrs: NO_XATTRS });
  }

  #share(key: string, rest: RestOfNow | RestOfBase): number {
    const number = this.#keep(rest);
    this.#known.set(key, number);
    return number;
  }

  #keep(rest: RestOfNow | RestOfBase): number {
    return this.#rests.push(rest) - 1;
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

/** Reads the times of the record at `at`, in order. */
class TimeReader {
  readonly #chunk: Buffer;
  readonly #follow: number;
  #at: number;
  #last: Time = [0, 0];

  constructor(chunk: Buffer, at: number) {
    this.#chunk = chunk;
    this.#follow = chunk[at + RECORD.follow] as number;
    this.#at = at + RECORD.times;
  }

  next(): Time {
    this.#last = [this.#chunk.readDoubleLE(this.#at), this.#chunk.readUInt32LE(this.#at + 8)];
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
