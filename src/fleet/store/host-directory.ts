import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StateError } from "../../core/errors/errors.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import { ensureStateFile } from "../../system/state/state-folder.ts";
import type { Note } from "../protocol/note.ts";
import type { DirectoryState } from "../protocol/registration.ts";

const POINTS = {
  make: failpoint("host.directory"),
  note: failpoint("host.note"),
  noted: failpoint("host.noted"),
  forget: failpoint("host.forget-note"),
  start: failpoint("host.pending-start"),
  started: failpoint("host.started"),
};

/**
 * What a host keeps of itself in its state directory, in `host.db`: its id, the chain of its starts, and what
 * it has noted of transactions (protocol/note.ts, protocol/registration.ts). Every write is on the disk when
 * it returns.
 */
export class HostDirectory {
  readonly id: string;
  readonly #database: DatabaseSync;

  /** Opens it, and makes it if it is missing. */
  constructor(stateDir: string) {
    const file = join(stateDir, "host.db");
    ensureStateFile(POINTS.make, file);
    passFailpoint(POINTS.make);
    this.#database = new DatabaseSync(file, { timeout: 10_000 });
    this.#database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS notes (
        work TEXT NOT NULL, sandbox TEXT NOT NULL, original TEXT NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY (work, sandbox)
      );
      CREATE INDEX IF NOT EXISTS notes_by_original ON notes (original);`);
    this.#database
      .prepare("INSERT INTO facts (name, value) VALUES ('id', ?) ON CONFLICT DO NOTHING")
      .run(randomUUID());
    this.id = this.#fact("id") ?? "";
    if (this.id === "")
      throw new StateError(`${file} is damaged: the host does not know its id.`, {
        hint: "Restore the state directory from a backup.",
      });
  }

  /** How much it has noted. */
  get count(): number {
    return Number(this.#fact("count") ?? 0);
  }

  /** What it says of itself when its host starts: with a new start, noted as asked for. */
  starting(): DirectoryState {
    passFailpoint(POINTS.start);
    const last = this.#fact("last");
    const asked = this.#asked();
    const start = randomUUID();
    this.#setFact("asked", JSON.stringify([...asked, start]));
    const earlier = [...(last === undefined ? [] : [last]), ...asked];
    return { directory: this.id, earlier, start, notes: this.count };
  }

  /** The database has taken the start. */
  started({ start }: DirectoryState): void {
    passFailpoint(POINTS.started);
    this.#database.exec("BEGIN IMMEDIATE");
    this.#setFact("last", start);
    this.#setFact("asked", "[]");
    this.#database.exec("COMMIT");
  }

  /** The starts that were asked for since the last one that was taken. */
  #asked(): readonly string[] {
    return JSON.parse(this.#fact("asked") ?? "[]") as string[];
  }

  note(work: string, sandbox: string): Note | undefined {
    const row = this.#database
      .prepare("SELECT record FROM notes WHERE work = ? AND sandbox = ?")
      .get(work, sandbox);
    return row === undefined ? undefined : noteFrom(row);
  }

  notes(): readonly Note[] {
    return this.#database.prepare("SELECT record FROM notes").all().map(noteFrom);
  }

  notesOf(original: string): readonly Note[] {
    return this.#database.prepare("SELECT record FROM notes WHERE original = ?").all(original).map(noteFrom);
  }

  write(note: Note): void {
    passFailpoint(POINTS.note);
    this.#database.exec("BEGIN IMMEDIATE");
    this.#database
      .prepare(
        "INSERT INTO notes (work, sandbox, original, record) VALUES (?, ?, ?, ?) ON CONFLICT (work, sandbox) DO UPDATE SET record = excluded.record",
      )
      .run(note.work, note.sandbox, note.original, JSON.stringify(note));
    this.#setFact("count", String(this.count + 1));
    this.#database.exec("COMMIT");
    passFailpoint(POINTS.noted);
  }

  /** The count stays as it is. */
  forget({ work, sandbox }: Note): void {
    passFailpoint(POINTS.forget);
    this.#database.prepare("DELETE FROM notes WHERE work = ? AND sandbox = ?").run(work, sandbox);
  }

  close(): void {
    this.#database.close();
  }

  #fact(name: string): string | undefined {
    const row = this.#database.prepare("SELECT value FROM facts WHERE name = ?").get(name);
    return row === undefined ? undefined : String(row["value"]);
  }

  #setFact(name: string, value: string): void {
    this.#database
      .prepare(
        "INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      )
      .run(name, value);
  }
}

function noteFrom(row: { readonly [column: string]: unknown }): Note {
  return JSON.parse(String(row["record"])) as Note;
}
