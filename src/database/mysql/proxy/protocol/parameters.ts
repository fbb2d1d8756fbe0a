import { COMMAND } from "./commands.ts";
import { ContentReader } from "./wire.ts";

/** The parameters of one execution of a prepared statement. */
export interface Parameters {
  readonly count: number;
  /** Which are NULL, one bit for each. */
  readonly nulls: Buffer;
  /** Two bytes for each. */
  readonly types: Buffer;
  readonly values: Buffer;
  /** Values that came by themselves before, by number of the parameter. */
  readonly long: ReadonlyMap<number, Buffer>;
  readonly size: number;
}

/** Command, statement, flags, and how often to execute. */
const HEAD = 10;
const CURSOR_FLAGS = 0x07;

/** Reads the parameters of an execution. Without types, those of the last execution count. */
export function parametersFrom(
  content: Buffer,
  count: number,
  lastTypes: Buffer,
  long: ReadonlyMap<number, Buffer>,
): Parameters {
  const reader = new ContentReader(content, HEAD);
  const nulls = count === 0 ? NOTHING : Buffer.from(reader.bytes((count + 7) >> 3));
  const hasTypes = count > 0 && reader.number(1) === 1;
  const types = hasTypes ? Buffer.from(reader.bytes(count * 2)) : lastTypes;
  const values = Buffer.from(reader.rest());
  const size = values.length + [...long.values()].reduce((sum, { length }) => sum + length, 0);
  return { count, nulls, types, values, long: new Map(long), size };
}

const NOTHING = Buffer.alloc(0);

/** Whether an execution asks for a cursor, whose rows come later. */
export function asksForCursor(content: Buffer): boolean {
  return ((content[5] ?? 0) & CURSOR_FLAGS) !== 0;
}

/** The command that executes a statement with these parameters. */
export function executeCommand(id: number, { count, nulls, types, values }: Parameters): Buffer {
  const head = Buffer.alloc(HEAD);
  head[0] = COMMAND.execute;
  head.writeUInt32LE(id, 1);
  head.writeUInt32LE(1, 6);
  return Buffer.concat(count === 0 ? [head] : [head, nulls, Buffer.of(1), types, values]);
}

const PIECE = 1 << 20;

/** The commands that send long values. */
export function longDataCommands(id: number, { long }: Parameters): Buffer[] {
  return [...long].flatMap(([number, bytes]) => {
    const head = Buffer.alloc(7);
    head[0] = COMMAND.longData;
    head.writeUInt32LE(id, 1);
    head.writeUInt16LE(number, 5);
    const starts = Array.from(
      { length: Math.max(1, Math.ceil(bytes.length / PIECE)) },
      (_, at) => at * PIECE,
    );
    return starts.map((start) => Buffer.concat([head, bytes.subarray(start, start + PIECE)]));
  });
}

/** The command that ends a prepared statement. */
export function closeCommand(id: number): Buffer {
  const command = Buffer.of(COMMAND.closeStatement, 0, 0, 0, 0);
  command.writeUInt32LE(id, 1);
  return command;
}

const LONGEST_SHOWN = 60;
const MOST_SHOWN = 100;

/** The values for people. */
export function shownParameters({ count, nulls, types, values, long }: Parameters): string[] {
  const reader = new ContentReader(values);
  const shown: string[] = [];
  for (let at = 0; at < Math.min(count, MOST_SHOWN); at += 1) {
    const isNull = (((nulls[at >> 3] ?? 0) >> (at & 7)) & 1) === 1;
    const bytes = long.get(at);
    if (bytes !== undefined) shown.push(quoted(bytes));
    else
      shown.push(isNull ? "NULL" : valueAt(reader, types[at * 2] ?? 0, (types[at * 2 + 1] ?? 0) >> 7 === 1));
  }
  return shown;
}

function valueAt(reader: ContentReader, type: number, isUnsigned: boolean): string {
  const integer = (length: number) => {
    const bytes = reader.bytes(length);
    const value = length === 8 ? bytes.readBigUInt64LE() : BigInt(bytes.readUIntLE(0, length));
    return String(isUnsigned ? value : BigInt.asIntN(length * 8, value));
  };
  if (type === 1) return integer(1);
  if (type === 2 || type === 13) return integer(2);
  if (type === 3 || type === 9) return integer(4);
  if (type === 8) return integer(8);
  if (type === 4) return String(reader.bytes(4).readFloatLE());
  if (type === 5) return String(reader.bytes(8).readDoubleLE());
  if (type === 6) return "NULL";
  if (type === 7 || type === 10 || type === 12) return moment(reader.bytes(reader.number(1)));
  if (type === 11) return duration(reader.bytes(reader.number(1)));
  return quoted(reader.countedBytes());
}

function moment(bytes: Buffer): string {
  const two = (at: number) => String(bytes[at] ?? 0).padStart(2, "0");
  if (bytes.length < 4) return "'0000-00-00'";
  const date = `${String(bytes.readUInt16LE(0)).padStart(4, "0")}-${two(2)}-${two(3)}`;
  if (bytes.length < 7) return `'${date}'`;
  const parts = bytes.length < 11 ? "" : `.${String(bytes.readUInt32LE(7)).padStart(6, "0")}`;
  return `'${date} ${two(4)}:${two(5)}:${two(6)}${parts}'`;
}

function duration(bytes: Buffer): string {
  if (bytes.length < 8) return "'00:00:00'";
  const two = (value: number) => String(value).padStart(2, "0");
  const hours = bytes.readUInt32LE(1) * 24 + (bytes[5] ?? 0);
  const parts = bytes.length < 12 ? "" : `.${String(bytes.readUInt32LE(8)).padStart(6, "0")}`;
  return `'${bytes[0] === 1 ? "-" : ""}${two(hours)}:${two(bytes[6] ?? 0)}:${two(bytes[7] ?? 0)}${parts}'`;
}

function quoted(bytes: Buffer): string {
  const text = bytes.subarray(0, LONGEST_SHOWN * 4).toString();
  const isText = !text.includes("\ufffd");
  const all = isText ? text.replaceAll(/\s/g, " ") : `0x${bytes.subarray(0, LONGEST_SHOWN).toString("hex")}`;
  const short = all.length > LONGEST_SHOWN ? `${all.slice(0, LONGEST_SHOWN)}…` : all;
  return isText ? `'${short.replaceAll("'", "''")}'` : short;
}
