/**
 * Packets of MySQL's protocol: three bytes of length, a sequence number, and the content. Content of 16 MiB
 * and more goes on in the next packet. This file knows nothing of sessions.
 */
const LONGEST_PACKET = 0xff_ff_ff;
const HEAD = 4;

/** What a peer sends is not MySQL's protocol. */
export class ProtocolViolation extends Error {}

/** An error as a client gets it. */
export interface ClientError {
  readonly code: number;
  readonly state: string;
  readonly message: string;
}

/** Flags of the status that a server tells with each result. */
export const STATUS = {
  inTransaction: 0x0001,
  autocommit: 0x0002,
  moreResults: 0x0008,
  cursor: 0x0040,
  noBackslashes: 0x0200,
  inReadOnlyTransaction: 0x2000,
} as const;

/** Content as packets, numbered from `sequence` on. */
export function packets(content: Buffer, sequence: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0, number = sequence; ; at += LONGEST_PACKET, number += 1) {
    const part = content.subarray(at, at + LONGEST_PACKET);
    const head = Buffer.alloc(HEAD);
    head.writeUIntLE(part.length, 0, 3);
    head[3] = number & 0xff;
    parts.push(head, part);
    if (part.length < LONGEST_PACKET) return Buffer.concat(parts);
  }
}

/** One packet as it came. */
export interface Packet {
  readonly content: Buffer;
  readonly sequence: number;
  /** Whether it goes on with the content of the packet before. */
  readonly goesOn: boolean;
}

/** Cuts a stream of bytes into packets. */
export class PacketReader {
  #waiting: Buffer[] = [];
  #length = 0;
  #goesOn = false;

  /** Bytes that are not a whole packet yet. */
  get rest(): Buffer {
    return Buffer.concat(this.#waiting);
  }

  /** Whether the next packet goes on with the content of the last one. */
  get isInside(): boolean {
    return this.#goesOn;
  }

  push(bytes: Buffer, take: (packet: Packet) => void): void {
    this.#waiting.push(bytes);
    this.#length += bytes.length;
    if (this.#length < HEAD || this.#length < this.#needed()) return;
    let all = this.#all();
    while (all.length >= HEAD && all.length >= HEAD + all.readUIntLE(0, 3)) {
      const end = HEAD + all.readUIntLE(0, 3);
      const goesOn = this.#goesOn;
      this.#goesOn = end - HEAD === LONGEST_PACKET;
      const packet = { content: all.subarray(HEAD, end), sequence: all[3] ?? 0, goesOn };
      all = all.subarray(end);
      this.#waiting = all.length === 0 ? [] : [all];
      this.#length = all.length;
      take(packet);
    }
  }

  #needed(): number {
    if ((this.#waiting[0]?.length ?? 0) < HEAD) this.#all();
    return HEAD + (this.#waiting[0] as Buffer).readUIntLE(0, 3);
  }

  #all(): Buffer {
    if (this.#waiting.length > 1) this.#waiting = [Buffer.concat(this.#waiting)];
    return this.#waiting[0] ?? Buffer.alloc(0);
  }
}

/** Reads the fields of a packet, one after the other. */
export class ContentReader {
  readonly #content: Buffer;
  at: number;

  constructor(content: Buffer, at = 0) {
    this.#content = content;
    this.at = at;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#content.length;
  }

  bytes(length: number): Buffer {
    const end = this.at + length;
    if (length < 0 || end > this.#content.length) throw new ProtocolViolation("a packet is too short");
    const bytes = this.#content.subarray(this.at, end);
    this.at = end;
    return bytes;
  }

  /** A number of so many bytes. */
  number(length: number): number {
    return this.bytes(length).readUIntLE(0, length);
  }

  /** A number whose first byte says how long it is. */
  counted(): bigint {
    const first = this.number(1);
    if (first < 0xfb) return BigInt(first);
    if (first === 0xfc) return BigInt(this.number(2));
    if (first === 0xfd) return BigInt(this.number(3));
    if (first === 0xfe) return this.bytes(8).readBigUInt64LE();
    throw new ProtocolViolation("a length is none");
  }

  /** Bytes after a number that says how many they are. */
  countedBytes(): Buffer {
    return this.bytes(Number(this.counted()));
  }

  /** The value of a column in a row of text; undefined for NULL. */
  value(): Buffer | undefined {
    if (this.#content[this.at] !== 0xfb) return this.countedBytes();
    this.at += 1;
    return undefined;
  }

  /** Bytes up to a zero, or to the end. */
  untilZero(): Buffer {
    const end = this.#content.indexOf(0, this.at);
    const bytes = this.#content.subarray(this.at, end < 0 ? undefined : end);
    this.at += bytes.length + 1;
    return bytes;
  }

  rest(): Buffer {
    const bytes = this.#content.subarray(this.at);
    this.at = this.#content.length;
    return bytes;
  }
}

function counted(value: bigint | number): Buffer {
  const number = BigInt(value);
  if (number < 0xfbn) return Buffer.of(Number(number));
  const [mark, length] = number < 1n << 16n ? [0xfc, 2] : number < 1n << 24n ? [0xfd, 3] : [0xfe, 8];
  const bytes = Buffer.alloc(1 + length);
  bytes[0] = mark;
  if (length === 8) bytes.writeBigUInt64LE(number, 1);
  else bytes.writeUIntLE(Number(number), 1, length);
  return bytes;
}

/** The outcome of a statement without rows. */
export interface Ok {
  readonly affected: bigint;
  readonly insertId: bigint;
  readonly status: number;
  readonly warnings: number;
  readonly info: Buffer;
}

export function okFrom(content: Buffer): Ok {
  const reader = new ContentReader(content, 1);
  const [affected, insertId] = [reader.counted(), reader.counted()];
  return { affected, insertId, status: reader.number(2), warnings: reader.number(2), info: reader.rest() };
}

const NO_INFO = Buffer.alloc(0);

export function okContent({
  affected = 0n,
  insertId = 0n,
  status,
  warnings = 0,
  info = NO_INFO,
}: Partial<Ok> & { readonly status: number }): Buffer {
  const fixed = Buffer.alloc(4);
  fixed.writeUInt16LE(status, 0);
  fixed.writeUInt16LE(warnings, 2);
  return Buffer.concat([Buffer.of(0), counted(affected), counted(insertId), fixed, info]);
}

/** The end of columns or rows, with another status. */
export function eofContent(status: number, warnings = 0): Buffer {
  const content = Buffer.of(0xfe, 0, 0, 0, 0);
  content.writeUInt16LE(warnings, 1);
  content.writeUInt16LE(status, 3);
  return content;
}

export function errorContent({ code, state, message }: ClientError): Buffer {
  const head = Buffer.alloc(3);
  head[0] = 0xff;
  head.writeUInt16LE(code, 1);
  return Buffer.concat([head, Buffer.from(`#${state}${message}`)]);
}

export function errorFrom(content: Buffer): ClientError {
  const text = content.subarray(3).toString();
  const [, state = "HY000", message = text] = /^#(.{5})(.*)$/s.exec(text) ?? [];
  return { code: content.length >= 3 ? content.readUInt16LE(1) : 0, state, message };
}

/**
 * The definition of a column without what only clients understand that ask for it: MariaDB puts a sixth text
 * after the name if they do.
 */
export function plainColumn(content: Buffer): Buffer {
  const reader = new ContentReader(content);
  for (let texts = 0; texts < 6; texts += 1) reader.countedBytes();
  const start = reader.at;
  reader.countedBytes();
  return Buffer.concat([content.subarray(0, start), content.subarray(reader.at)]);
}
