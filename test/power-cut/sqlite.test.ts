import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { IMAGE_FILE_SYSTEMS, whyNoImages } from "../support/file-systems.ts";
import { IS_LONG } from "../support/long-form.ts";
import { assertAllOrNothing, assertLosesWithout } from "./all-or-nothing.ts";
import type { Originals } from "./cut-landings.ts";

const ROWS = 2_000;
const FLUSHES_OFF = "sqlite.flush-record=skip,sqlite.flush-landed=skip";
const noImages = whyNoImages();
const rooted = noImages === undefined ? { timeout: 170_000 } : { skip: noImages };

/**
 * Moments of an apply of two databases: before the decision, between their transactions, and when both have
 * landed.
 */
const MOMENTS = [
  "sqlite.record:2",
  "sqlite.flush-record:1",
  "sqlite.lock:2",
  "sqlite.commit:1",
  "sqlite.note-landed:1",
  "sqlite.flush-landed:1",
  "sqlite.remove-marker:1",
  "sqlite.commit:2",
  "sqlite.remove-marker:2",
  "sqlite.cleanup:1",
] as const;
/** After the decision, which the databases have to follow. */
const DECIDED = [
  "sqlite.commit:1",
  "sqlite.note-landed:1",
  "sqlite.remove-marker:1",
  "sqlite.commit:2",
] as const;

/**
 * In a short run every other moment, on one file system; with the other journal the two between which it is
 * decided.
 */
const SHORT = {
  wal: MOMENTS.filter((_, at) => at % 2 === 1),
  delete: ["sqlite.flush-record:1", "sqlite.commit:2"],
} as const;
const fileSystems = IMAGE_FILE_SYSTEMS.filter((_, at) => IS_LONG || at === 0);

function databases(journal: "wal" | "delete"): Originals {
  return {
    strategy: "snapshot",
    file: "app.db",
    make: (folder) =>
      edit(
        join(folder, "app.db"),
        `PRAGMA journal_mode = ${journal}; CREATE TABLE t(id INTEGER PRIMARY KEY, side TEXT);
        INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS}) SELECT i, 'old' FROM n`,
      ),
    change: (path) => edit(path, "UPDATE t SET side = 'new'; DELETE FROM t WHERE id = 1"),
    differences: (folder, side) => {
      const path = join(folder, "app.db");
      if (!existsSync(path)) return ["there is no database"];
      try {
        return differences(path, side);
      } catch (thrown) {
        return [String(thrown)];
      }
    },
  };
}

function edit(path: string, sql: string): void {
  using db = new DatabaseSync(path);
  db.exec(sql);
}

function differences(path: string, side: "old" | "new"): string[] {
  using db = new DatabaseSync(path);
  const text = (sql: string) =>
    JSON.stringify(
      db
        .prepare(sql)
        .all()
        .map((row) => Object.values(row)),
    );
  const found = {
    rows: text("SELECT side, count(*) FROM t GROUP BY side"),
    tables: text("SELECT name FROM sqlite_schema"),
    check: text("PRAGMA integrity_check"),
  };
  const wanted = {
    rows: JSON.stringify([[side, side === "old" ? ROWS : ROWS - 1]]),
    tables: '[["t"]]',
    check: '[["ok"]]',
  };
  return Object.entries(wanted).flatMap(([what, value]) => {
    const seen = found[what as keyof typeof found];
    return seen === value ? [] : [`${what}: ${seen} instead of ${value}`];
  });
}

describe("A power cut during an apply of SQLite databases", () => {
  for (const kind of fileSystems)
    for (const journal of ["wal", "delete"] as const)
      it(
        `[A3][T2] with a journal of the kind ${journal} on ${kind} leaves all old or all new, whatever the moment`,
        rooted,
        () => assertAllOrNothing(kind, databases(journal), IS_LONG ? MOMENTS : SHORT[journal]),
      );

  it("[A3] would not, with the flushes switched off: so this test can tell", rooted, () =>
    assertLosesWithout(FLUSHES_OFF, databases("wal"), DECIDED),
  );
});
