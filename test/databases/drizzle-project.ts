import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fastFolder } from "../support/fast-folder.ts";
import { removeFolder } from "../support/remove-folder.ts";

const DRIZZLE = join(import.meta.dirname, "../../node_modules/.bin/drizzle-kit");
const configOf = (dialect: Dialect) => `export default {
  dialect: "${dialect}", schema: "./schema.ts", out: "./drizzle", dbCredentials: { url: process.env.DATABASE_URL },
};
`;
type Dialect = "postgresql" | "mysql";
const BREAK = "\n--> statement-breakpoint\n";
interface Migrations {
  readonly [tag: string]: readonly string[];
}

const POSTGRES: Migrations = {
  "0000_first": [
    "CREATE SCHEMA shop;",
    "CREATE TYPE shop.state AS ENUM('new', 'paid');",
    `CREATE TABLE shop.customers (
      id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name text NOT NULL, CONSTRAINT one_name UNIQUE(name)
    );`,
    `CREATE TABLE shop.orders (
      id serial PRIMARY KEY, customer integer NOT NULL, state shop.state DEFAULT 'new' NOT NULL, at timestamp
    );`,
    `ALTER TABLE shop.orders ADD CONSTRAINT of_customer FOREIGN KEY (customer)
      REFERENCES shop.customers(id) ON DELETE cascade DEFERRABLE INITIALLY DEFERRED;`,
    "CREATE INDEX by_state ON shop.orders USING btree (state);",
  ],
  "0001_rows": [
    `INSERT INTO shop.orders (customer, state) VALUES (1, 'paid'), (2, 'new');
     INSERT INTO shop.customers (name) VALUES ('Ann; --'), ('it''s \\ Bob');`,
    "ALTER TYPE shop.state ADD VALUE 'sent';",
    "ALTER TABLE shop.customers ADD COLUMN email text DEFAULT 'none' NOT NULL;",
    `CREATE FUNCTION shop.paid() RETURNS bigint LANGUAGE plpgsql AS $$
     BEGIN RETURN (SELECT count(*) FROM shop.orders WHERE state = 'paid'); END $$;`,
    "UPDATE shop.customers SET email = lower(name) || shop.paid() || '@example.com';",
  ],
};

/** MySQL changes a schema only outside of transactions, so only the rows are something for a plan. */
const MYSQL: Migrations = { "0000_first": ["ALTER TABLE customers ADD CONSTRAINT one_name UNIQUE(name);"] };
const MYSQL_ROWS: Migrations = {
  "0001_rows": [
    "INSERT INTO customers (id, name) VALUES (1, 'Ann; --'), (2, 'wrong');",
    "UPDATE customers SET name = 'it''s Bob' WHERE id = 2;",
  ],
};

/** The schemas that the migrations make, with that in which the tool notes them. */
export const MIGRATED = ["shop", "drizzle"];

/** A folder with migrations of drizzle-kit; removed when it goes out of scope (`using`). */
export class DrizzleProject implements Disposable {
  readonly folder = mkdtempSync(join(fastFolder(), "drydock-drizzle-"));

  readonly migrations = join(this.folder, "drizzle");
  readonly #dialect: Dialect;

  constructor(dialect: Dialect = "postgresql") {
    this.#dialect = dialect;
    mkdirSync(join(this.folder, "drizzle", "meta"), { recursive: true });
    writeFileSync(join(this.folder, "drizzle.config.ts"), configOf(dialect));
    this.#write(dialect === "mysql" ? MYSQL : POSTGRES);
  }

  /** Adds a migration that only changes rows, for MySQL. */
  addRows(): void {
    this.#write({ ...MYSQL, ...MYSQL_ROWS });
  }

  #write(migrations: Migrations): void {
    const entries = Object.entries(migrations).map(([tag, statements], idx) => {
      writeFileSync(join(this.folder, "drizzle", `${tag}.sql`), statements.join(BREAK));
      return { idx, version: "7", when: 1_700_000_000_000 + idx, tag, breakpoints: true };
    });
    const journal = { version: "7", dialect: this.#dialect, entries };
    writeFileSync(join(this.folder, "drizzle", "meta", "_journal.json"), JSON.stringify(journal));
  }

  /** Runs the migrations that a database does not have yet. */
  migrate(url: string): { readonly status: number | null; readonly said: string } {
    const { status, stdout, stderr } = spawnSync(DRIZZLE, ["migrate"], {
      cwd: this.folder,
      env: { ...process.env, DATABASE_URL: url },
      encoding: "utf8",
    });
    return { status, said: stdout + stderr };
  }

  [Symbol.dispose](): void {
    removeFolder(this.folder);
  }
}
