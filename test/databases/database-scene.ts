import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import { type DriverEnd, type DriverOptions, type DriverRequest, runDriver } from "../crash/run-driver.ts";

export const PLAN = "work";

/** A folder with a database, a folder beside it, and a state directory; goes with all that is in it. */
export class DatabaseScene implements Disposable {
  readonly root: string;
  readonly database: string;
  readonly folder: string;
  readonly stateDir: string;

  constructor(name = "app.db", place = tmpdir()) {
    this.root = mkdtempSync(join(place, "drydock-database-"));
    this.database = join(this.root, "data", name);
    this.folder = join(this.root, "code");
    this.stateDir = join(this.root, "state");
    for (const folder of [dirname(this.database), this.folder]) mkdirSync(folder);
  }

  /** Runs statements in the original, as another program would. */
  sql(script: string, path = this.database): void {
    const db = new DatabaseSync(path, { enableForeignKeyConstraints: false, timeout: 5000 });
    try {
      db.exec(script);
    } finally {
      db.close();
    }
  }

  /** The rows that a query gives, each as the list of its values. */
  rows(query: string, path = this.database): unknown[][] {
    const db = new DatabaseSync(path, { timeout: 5000, readBigInts: true });
    try {
      return db
        .prepare(query)
        .all()
        .map((row) => Object.values(row).map((value) => (typeof value === "bigint" ? Number(value) : value)));
    } finally {
      db.close();
    }
  }

  /**
   * The same by another program with its own SQLite, in a process of its own, that does not wait; says what
   * it said.
   */
  rival(script: string): { readonly status: number | null; readonly said: string } {
    const { status, stdout, stderr } = spawnSync("sqlite3", [this.database, script], { encoding: "utf8" });
    return { status, said: `${stdout}${stderr}`.trim() };
  }

  /**
   * Another process writes and takes its time; resolves when it has the lock, and the promise in it when it
   * is done.
   */
  async holdingLock(statement: string, milliseconds: number): Promise<{ readonly done: Promise<unknown> }> {
    const program = `const { DatabaseSync } = require("node:sqlite"); const db = new DatabaseSync(process.argv[1]);
      db.exec("BEGIN IMMEDIATE"); db.exec(process.argv[2]); console.log("locked");
      setTimeout(() => { db.exec("COMMIT"); db.close(); }, Number(process.argv[3]));`;
    const child = spawn(process.execPath, ["-e", program, this.database, statement, String(milliseconds)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    return { done: once(child, "exit") };
  }

  async with<T>(action: (drydock: Services) => Promise<T>): Promise<T> {
    const drydock = await openServices({ stateDir: this.stateDir, cwd: this.root, environment: {} });
    try {
      return await action(drydock);
    } finally {
      await drydock.close();
    }
  }

  /** Makes a plan over the database, and the folder too, and runs statements in it. */
  async plan(script: string, { withFolder = false } = {}): Promise<void> {
    const resources = [
      { location: this.database, name: "db" },
      ...(withFolder ? [{ location: this.folder, name: "code", strategy: "filesystem_copy" }] : []),
    ];
    await this.with(async ({ plans }) => {
      await plans.create({ name: PLAN, resources });
      if (script !== "") await plans.sql(PLAN, "db", script);
      if (withFolder) await plans.write(PLAN, "code", "new", Buffer.from("new\n"));
    });
  }

  /** Lets another process do it, with failpoints. */
  async drive(operation: DriverRequest["operation"], options: DriverOptions = {}): Promise<DriverEnd> {
    return await runDriver({ operation, stateDir: this.stateDir, plan: PLAN }, options);
  }

  /** The records of what landed, as paths. */
  records(): string[] {
    const names = readdirSync(this.stateDir, { recursive: true, encoding: "utf8" });
    return names.filter((name) => name.endsWith("changes.db")).map((name) => join(this.stateDir, name));
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
