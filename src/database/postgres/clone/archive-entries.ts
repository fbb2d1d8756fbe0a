import { StateError, UnsupportedError } from "../../../core/errors/errors.ts";
import { runProcess } from "../../../system/process/run-process.ts";
import type { Definition } from "../../server/clone/clone-changes.ts";
import { RECORD_SCHEMA } from "./definition-record.ts";
import type { PostgresCloneServer } from "./postgres-clone-server.ts";

/** One definition of a database, as an archive of pg_dump has it. */
export interface ArchivedDefinition extends Definition {
  /** The statement that removes it; empty if there is none. */
  readonly drop: string;
}

const DUMP_MS = 10 * 60_000;
/** Settings of the dump itself, and the database as a whole, which `surroundings` covers. */
const NOT_DEFINITIONS = ["ENCODING", "STDSTRINGS", "SEARCHPATH", "DATABASE", "DATABASE PROPERTIES"];

/** All definitions of a database of a clone, in the order in which they can be made. */
export async function definitionsOf(
  server: PostgresCloneServer,
  database: string,
  signal: AbortSignal,
): Promise<readonly ArchivedDefinition[]> {
  const { code, stdout, stderr } = await runProcess(
    {
      file: `${server.programs.folder}/pg_dump`,
      args: ["--format=custom", "--compress=0", "--schema-only", "--exclude-schema", RECORD_SCHEMA],
      environment: server.environment(database),
    },
    { limitMs: DUMP_MS, signal },
  );
  if (code !== 0) throw new StateError(`The definitions of the clone can't be read: ${stderr.trim()}`);
  return readEntries(stdout).filter(
    ({ type, schema, name }) =>
      !NOT_DEFINITIONS.includes(type) && !(schema === "" && name.startsWith("DATABASE ")),
  );
}

/**
 * Reads the table of contents of an archive in the custom format: a head, then for each entry numbers and
 * texts. A number is a byte for its sign and bytes from the lowest; a text has its length before it, and -1
 * if there is none. The layout is that of the versions 1.14 to 1.16 of the format, from PostgreSQL 12 on.
 */
function readEntries(archive: Buffer): ArchivedDefinition[] {
  const reader = new ArchiveReader(archive);
  const version = reader.head();
  const count = reader.number();
  return Array.from({ length: count }, () => readEntry(reader, version));
}

function readEntry(reader: ArchiveReader, version: number): ArchivedDefinition {
  reader.number();
  reader.number();
  reader.text();
  reader.text();
  const name = reader.text();
  const type = reader.text();
  reader.number();
  const sql = reader.text();
  const drop = reader.text();
  reader.text();
  const schema = reader.text();
  reader.text();
  reader.text();
  if (version >= 16) reader.number();
  const owner = reader.text();
  reader.text();
  while (reader.optionalText() !== undefined);
  reader.offset();
  return { type, schema, name, owner, sql, drop };
}

class ArchiveReader {
  readonly #bytes: Buffer;
  #at = 0;
  #numberSize = 4;
  #offsetSize = 8;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Returns the second number of the version, if the layout is known. */
  head(): number {
    const magic = this.#take(5).toString("latin1");
    const [major = 0, minor = 0] = this.#take(3);
    if (magic !== "PGDMP" || major !== 1 || minor < 14 || minor > 16)
      throw new UnsupportedError(
        `pg_dump writes archives of the version ${major}.${minor}, which is not known.`,
      );
    [this.#numberSize = 4, this.#offsetSize = 8] = this.#take(3);
    // How it is compressed: a number, later a byte.
    if (minor >= 15) this.#take(1);
    else this.number();
    for (let part = 0; part < 7; part += 1) this.number();
    for (let part = 0; part < 3; part += 1) this.text();
    return minor;
  }

  number(): number {
    const [sign = 0, ...bytes] = this.#take(1 + this.#numberSize);
    const value = bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);
    return sign === 0 ? value : -value;
  }

  text(): string {
    return this.optionalText() ?? "";
  }

  optionalText(): string | undefined {
    const length = this.number();
    return length < 0 ? undefined : this.#take(length).toString();
  }

  offset(): void {
    this.#take(1 + this.#offsetSize);
  }

  #take(length: number): Buffer {
    const taken = this.#bytes.subarray(this.#at, this.#at + length);
    if (taken.length < length) throw new UnsupportedError("The archive of pg_dump is cut off.");
    this.#at += length;
    return taken;
  }
}
