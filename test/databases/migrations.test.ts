import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { type Ended, Workplace } from "../end-to-end/workplace.ts";

const PACKAGES = join(import.meta.dirname, "../../node_modules");
const DRIZZLE = join(PACKAGES, ".bin", "drizzle-kit");
const CONFIG = `import { defineConfig } from "drizzle-kit";
export default defineConfig({ dialect: "sqlite", schema: "./schema.ts", out: "./drizzle", dbCredentials: { url: "file:../data/app.db" } });
`;

const SCHEMA = `import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
export const users = sqliteTable("users", { id: integer().primaryKey(), name: text().notNull() });
`;

/** A project with its schema in code, and a database that a first migration made. */
class Project implements Disposable {
  readonly place = new Workplace();
  readonly code = join(this.place.path, "code");
  readonly database = join(this.place.path, "data", "app.db");

  static make(): Project {
    const project = new Project();
    project.place.folder("code", {
      "drizzle.config.ts": CONFIG,
      "schema.ts": SCHEMA,
      "package.json": "{}\n",
    });
    symlinkSync(PACKAGES, join(project.code, "node_modules"));
    mkdirSync(join(project.place.path, "data"));
    const made = project.place.shell(`${DRIZZLE} generate --name first && ${DRIZZLE} migrate`, {
      cwd: project.code,
    });
    assert.equal(made.status, 0, made.stderr);
    const db = new DatabaseSync(project.database);
    db.exec("PRAGMA journal_mode = wal; INSERT INTO users(name) VALUES ('Ann'), ('Bob'), ('Ann')");
    db.close();
    return project;
  }

  copy(): Project {
    const copy = new Project();
    for (const name of ["code", "data"])
      cpSync(join(this.place.path, name), join(copy.place.path, name), {
        recursive: true,
        verbatimSymlinks: true,
      });
    return copy;
  }

  /** A migration that somebody wrote himself, which is to be run yet. */
  addMigration(name: string, ...statements: readonly string[]): void {
    const journal = JSON.parse(this.place.read("code/drizzle/meta/_journal.json"));
    const [first] = journal.entries;
    journal.entries.push({ ...first, idx: 1, when: first.when + 1, tag: name });
    this.place.write("code/drizzle/meta/_journal.json", JSON.stringify(journal));
    this.place.write(`code/drizzle/${name}.sql`, statements.join("\n--> statement-breakpoint\n"));
  }

  /** The tool at work in a sandbox, landing what it did. */
  run(script: string): Ended {
    const resources = ["-r", this.code, "-r", this.database];
    return this.place.drydock(["run", ...resources, "--apply", "--", "sh", "-c", script], { cwd: this.code });
  }

  rows(query: string): unknown[][] {
    const db = new DatabaseSync(this.database);
    try {
      return db
        .prepare(query)
        .all()
        .map((row) => Object.values(row));
    } finally {
      db.close();
    }
  }

  /** The code, and everything in the database. */
  state() {
    const { status, stdout } = this.place.run("sqlite3", [this.database, ".dump"]);
    assert.equal(status, 0);
    const files = ["code", "data"].flatMap((folder) => readdirSync(join(this.place.path, folder)));
    return {
      files,
      migrations: this.place.tree("code/drizzle"),
      schema: this.place.read("code/schema.ts"),
      dump: stdout,
    };
  }

  [Symbol.dispose](): void {
    this.place[Symbol.dispose]();
  }
}

describe("a migration tool inside 'drydock run'", () => {
  let template: Project;
  before(() => {
    template = Project.make();
  });
  after(() => template?.[Symbol.dispose]());

  it("[T2] the schema in the code, the migration generated from it and the migrated database land together", () => {
    using project = template.copy();
    const ended = project.run(
      `sed -i 's/notNull()/notNull(), email: text()/' schema.ts && ${DRIZZLE} generate --name email && ${DRIZZLE} migrate`,
    );
    assert.equal(ended.status, 0, ended.stderr + ended.stdout);
    assert.deepEqual(project.rows("SELECT name, email FROM users WHERE id < 3"), [
      ["Ann", null],
      ["Bob", null],
    ]);
    assert.deepEqual(project.rows("SELECT count(*) FROM __drizzle_migrations"), [[2]]);
    assert.match(project.place.read("code/schema.ts"), /email/);
    assert.match(project.place.read("code/drizzle/0001_email.sql"), /ADD `email` text/);
    assert.deepEqual(Object.keys(project.place.tree("data")), ["app.db"]);
  });

  it("[T2] a migration that only changes rows lands too, with what the tool notes of it", () => {
    using project = template.copy();
    project.addMigration(
      "rows",
      "UPDATE users SET name = upper(name);",
      "INSERT INTO users(name) VALUES ('Cid');",
    );
    const ended = project.run(`echo upper > names && ${DRIZZLE} migrate`);
    assert.equal(ended.status, 0, ended.stderr + ended.stdout);
    assert.deepEqual(project.rows("SELECT group_concat(name) FROM users"), [["ANN,BOB,ANN,Cid"]]);
    // Its rows have no primary key to be told apart by: the tool leaves it NULL.
    assert.deepEqual(project.rows("SELECT id, count(*) FROM __drizzle_migrations"), [[null, 2]]);
    assert.equal(project.place.read("code/names"), "upper\n");
  });

  it("[T2][A1] a migration that fails changes nothing anywhere", () => {
    using project = template.copy();
    project.addMigration(
      "unique",
      "DELETE FROM users WHERE id = 2;",
      "CREATE UNIQUE INDEX one ON users(name);",
    );
    const before = project.state();
    const ended = project.run(`echo unique > names && ${DRIZZLE} migrate`);
    assert.equal(ended.status, 1, ended.stderr);
    assert.match(ended.stdout, /applying migrations/);
    assert.match(ended.stderr, /Not applied, because the command ended with exit code 1/);
    assert.deepEqual(project.state(), before);
  });
});
