import { DatabaseSync } from "node:sqlite";
import type { TreeSnapshot } from "./tree-snapshot.ts";

/** How a sample database is made, and in what its change consists. */
export interface SampleDatabase {
  readonly journal: "wal" | "delete";
  readonly change: "rows" | "schema";
}

/** A database with one of everything that a landing has to keep exactly. */
export function buildDatabase(path: string, { journal }: Pick<SampleDatabase, "journal">): void {
  edit(
    path,
    `PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = ${journal};
    PRAGMA user_version = 7; PRAGMA application_id = 1234;
    CREATE TABLE plain(id INTEGER PRIMARY KEY, text TEXT COLLATE NOCASE, number REAL, bytes BLOB);
    INSERT INTO plain VALUES (1, 'one', 1.0, x'00ff'), (2, 'two', 2, NULL), (3, 'three', -0.5, zeroblob(3)), (9223372036854775807, '', 1e300, x'');
    CREATE TABLE named(name TEXT PRIMARY KEY COLLATE NOCASE, value);
    INSERT INTO named VALUES ('a', 1), ('b', 1.0), ('c', '1'), ('d', x'31');
    CREATE TABLE bare(value);
    INSERT INTO bare VALUES ('same'), ('same'), (NULL), (9007199254740993);
    CREATE TABLE pairs(a, b, c, PRIMARY KEY (b, a)) WITHOUT ROWID;
    INSERT INTO pairs VALUES (1, 'x', 'old'), (2, 'x', 'old');
    CREATE TABLE counted(id INTEGER PRIMARY KEY AUTOINCREMENT, total INTEGER, doubled AS (total * 2) STORED);
    INSERT INTO counted(total) VALUES (10), (20);
    CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES counted(id) ON DELETE CASCADE);
    INSERT INTO child VALUES (1, 1), (2, 2);
    CREATE TABLE audit(entry TEXT);
    CREATE TRIGGER audit_plain AFTER UPDATE ON plain BEGIN INSERT INTO audit VALUES ('plain ' || new.id); END;
    CREATE TRIGGER audit_new AFTER INSERT ON plain BEGIN INSERT INTO audit VALUES ('new ' || new.id); END;
    CREATE VIEW totals AS SELECT sum(total) AS total FROM counted;
    CREATE UNIQUE INDEX plain_text ON plain(text);
    CREATE VIRTUAL TABLE notes USING fts5(body);
    INSERT INTO notes VALUES ('a note about boats'), ('another about docks');`,
  );
}

/** What the plan does to it. */
export function changeDatabase(path: string, { change }: Pick<SampleDatabase, "change">): void {
  edit(
    path,
    `PRAGMA foreign_keys = ON;
    UPDATE plain SET text = 'ONE', number = 1 WHERE id = 1; INSERT INTO plain VALUES (4, 'four', NULL, x'01'); DELETE FROM plain WHERE id = 3;
    UPDATE named SET name = 'A' WHERE name = 'a'; UPDATE named SET value = 1 WHERE name = 'b'; DELETE FROM named WHERE name = 'c';
    INSERT INTO named VALUES ('e', 9223372036854775807);
    DELETE FROM bare WHERE rowid = 1; INSERT INTO bare VALUES ('same'), (0.1);
    UPDATE pairs SET c = 'new' WHERE a = 1; INSERT INTO pairs VALUES (3, 'y', NULL);
    INSERT INTO counted(total) VALUES (30); DELETE FROM counted WHERE id = 1; INSERT INTO child VALUES (3, 3);
    INSERT INTO notes VALUES ('a third about water'); DELETE FROM notes WHERE rowid = 1;`,
  );
  if (change === "schema")
    edit(
      path,
      `ALTER TABLE plain ADD COLUMN added DEFAULT 'new'; UPDATE plain SET added = id; ALTER TABLE bare RENAME TO renamed; DROP TABLE pairs;
      DROP VIEW totals; CREATE VIEW totals AS SELECT count(*) AS total FROM counted; CREATE INDEX child_parent ON child(parent);
      CREATE TABLE made(id TEXT PRIMARY KEY, v ANY) STRICT, WITHOUT ROWID; INSERT INTO made VALUES ('x', 1); DROP TRIGGER audit_new; CREATE VIRTUAL TABLE more USING fts5(t); INSERT INTO more VALUES ('words');
      PRAGMA user_version = 8; ANALYZE;`,
    );
}

/**
 * Everything that a program could tell apart in it, as lines of text: definitions, rows with their types, and
 * settings.
 */
export function snapshotDatabase(path: string): TreeSnapshot {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  try {
    const lines = new Map<string, string>();
    // SQLite makes the table of last ids by itself, and never lets go of it.
    const objects =
      "SELECT type, name, sql FROM sqlite_schema WHERE name <> 'sqlite_sequence' ORDER BY type, name";
    for (const { type, name, sql } of rowsOf(db, objects)) lines.set(`${type} ${name}`, String(sql));
    for (const pragma of [
      "page_size",
      "auto_vacuum",
      "journal_mode",
      "encoding",
      "user_version",
      "application_id",
    ])
      lines.set(pragma, JSON.stringify(rowsOf(db, `PRAGMA ${pragma}`)));
    for (const check of ["integrity_check", "foreign_key_check"])
      lines.set(check, JSON.stringify(rowsOf(db, `PRAGMA ${check}`)));
    const tables = rowsOf(db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0");
    for (const { name } of tables)
      for (const [at, row] of contentOf(db, String(name)).entries()) lines.set(`${name} ${at}`, row);
    return lines;
  } finally {
    db.close();
  }
}

function contentOf(db: DatabaseSync, table: string): string[] {
  const text = `'${table.replaceAll("'", "''")}'`;
  const info = rowsOf(db, `SELECT name, pk FROM pragma_table_xinfo(${text})`);
  const columns = info.map(({ name }) => `quote(${quoted(String(name))})`);
  // Where a primary key tells the rows apart, their rowids are SQLite's own affair.
  const hasKey = info.some(({ pk }) => pk !== 0) || table.startsWith("sqlite_");
  const list = [...(hasKey ? [] : ["_rowid_"]), ...columns].join(" || ' ' || ");
  return rowsOf(db, `SELECT ${list} AS line FROM ${quoted(table)}`)
    .map(({ line }) => String(line))
    .sort();
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function rowsOf(db: DatabaseSync, sql: string): { readonly [column: string]: unknown }[] {
  return db.prepare(sql).all();
}

function edit(path: string, sql: string): void {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  try {
    db.exec(sql);
  } finally {
    db.close();
  }
}
