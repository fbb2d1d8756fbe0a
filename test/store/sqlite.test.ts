import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, afterEach } from "node:test";
import { openSqliteStore } from "../../src/store/sqlite-store.ts";
import { describeClaims } from "./claims-suite.ts";
import { describeSandboxesOutside } from "./outside-suite.ts";
import { describeRecords } from "./records-suite.ts";
import type { StoreFixture } from "./store-fixture.ts";

let folder = "";

function removeState(): void {
  if (folder !== "") rmSync(folder, { recursive: true, force: true });
}

const fixture: StoreFixture = {
  name: "SQLite",
  openEmpty: async () => {
    folder = mkdtempSync(join(tmpdir(), "drydock-store-"));
    return await openSqliteStore({ stateDir: folder });
  },
  open: async () => await openSqliteStore({ stateDir: folder }),
  sql: async (statement) => {
    using database = new DatabaseSync(join(folder, "drydock.db"));
    database.exec(statement);
  },
};

afterEach(removeState);
after(removeState);
describeRecords(fixture);
describeClaims(fixture);
describeSandboxesOutside(fixture);
