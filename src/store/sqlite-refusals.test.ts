import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, it } from "node:test";
import { SCHEMA_VERSION } from "./schema.ts";
import { openSqliteStore } from "./sqlite-store.ts";
import type { HistoryEntry, StoreChange } from "./store.ts";

const SOURCE = JSON.stringify(new URL("./sqlite-store.ts", import.meta.url).href);
const DAMAGED = {
  name: "StateError",
  code: "STATE",
  message: /drydock\.db is damaged: /,
  hint: /backup.*move it/,
};
const isRoot = process.geteuid?.() === 0;

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "drydock-refusals-"));
  file = join(folder, "drydock.db");
});

afterEach(() => {
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true, force: true });
});

function entry(event: string): StoreChange & { readonly record: HistoryEntry } {
  return { put: "history", record: { planId: "P", at: "", actor: "me", event, details: {} } };
}

/** A state with enough in it to have many pages. */
async function makeState(): Promise<void> {
  const store = await openSqliteStore({ stateDir: folder });
  await store.write(
    Array.from({ length: 200 }, (_, index) => entry(`${index} ${"x".repeat(500)}`)),
    "durable",
  );
  store.close();
}

function changeDirectly(sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}

async function readHistory(): Promise<readonly HistoryEntry[]> {
  const store = await openSqliteStore({ stateDir: folder });
  try {
    return await store.history("P");
  } finally {
    store.close();
  }
}

/**
 * Opens and writes in a child that is started by `command`; returns the error's facts, or the number of
 * entries before it failed.
 */
function writeInChild(command: readonly string[], rounds = 1): { readonly [fact: string]: unknown } {
  const program = `
    import { openSqliteStore } from ${SOURCE};
    const entry = { put: "history", record: { planId: "P", at: "", actor: "", event: "x".repeat(20_000), details: {} } };
    let written = 0;
    try {
      const store = await openSqliteStore({ stateDir: ${JSON.stringify(folder)} });
      try {
        for (; written < ${rounds}; written += 1) await store.write([entry], "durable");
      } finally {
        if (written > 0) written = [written, (await store.history("P")).length];
        store.close();
      }
      console.log(JSON.stringify({ written }));
    } catch ({ name, code, message, hint }) {
      console.log(JSON.stringify({ written, name, code, message, hint }));
    }`;
  const [name = "", ...parameters] = [...command, process.execPath, "--input-type=module", "-e", program];
  const child = spawnSync(name, parameters, { encoding: "utf8" });
  assert.equal(child.status, 0, child.error?.message ?? child.stderr);
  return JSON.parse(child.stdout);
}

describe("a state that cannot be used", () => {
  it("[X4] is refused when it is no database at all", async () => {
    const text = "This is not a database. ".repeat(100);
    writeFileSync(file, text, { mode: 0o600 });
    await assert.rejects(openSqliteStore({ stateDir: folder }), DAMAGED);
    assert.equal(readFileSync(file, "utf8"), text);
  });

  it("[X4] is refused when it was cut off", async () => {
    await makeState();
    truncateSync(file, 10_000);
    await assert.rejects(readHistory(), DAMAGED);
  });

  it("[X4] is refused, untouched, when it was emptied; one that was moved away is begun anew", async () => {
    await makeState();
    truncateSync(file, 0);
    await assert.rejects(openSqliteStore({ stateDir: folder }), DAMAGED);
    assert.equal(readFileSync(file).length, 0);
    rmSync(file);
    assert.deepEqual(await readHistory(), []);
  });

  it("[X4] is refused when pages of it are overwritten", async () => {
    await makeState();
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0xa5, 4096));
    await assert.rejects(readHistory(), DAMAGED);
  });

  it("[X4] is refused when a record of it is not what we write", async () => {
    await makeState();
    changeDirectly("UPDATE history SET record = '{\"planId\": ' WHERE seq = 7");
    await assert.rejects(readHistory(), DAMAGED);
  });

  for (const [record, problem] of [
    ["null", "it is no object"],
    ["[]", "it is no object"],
    ['{"planId": 1}', "planId is no text"],
    ['{"planId": "P", "at": "", "actor": "me", "event": "x"}', "details is no object"],
  ] as const)
    it(`[X4] is refused when a record of it is ${record}`, async () => {
      await makeState();
      changeDirectly(`UPDATE history SET record = '${record}' WHERE seq = 7`);
      const message = new RegExp(`is damaged: a record in it is not as Drydock writes it: ${problem}`);
      await assert.rejects(readHistory(), { ...DAMAGED, message });
    });

  it("[X4] is refused, untouched, when it is another program's database", async () => {
    for (const sql of ["CREATE TABLE theirs (x)", "PRAGMA user_version = 1"]) {
      rmSync(file, { force: true });
      changeDirectly(sql);
      chmodSync(file, 0o600);
      const before = readFileSync(file);
      const refusal = { code: "STATE", message: /another program/ };
      await assert.rejects(openSqliteStore({ stateDir: folder }), refusal);
      assert.deepEqual(readFileSync(file), before);
      assert.deepEqual(readdirSync(folder), ["drydock.db"]);
    }
  });

  it("[X4] is refused when a newer Drydock wrote it, saying which version it needs", async () => {
    await makeState();
    changeDirectly("PRAGMA user_version = 987");
    const message = new RegExp(
      `needs schema version 987; this Drydock knows versions up to ${SCHEMA_VERSION}\\.`,
    );
    await assert.rejects(openSqliteStore({ stateDir: folder }), {
      name: "StateError",
      message,
      hint: /newer Drydock/,
    });
  });

  it("[X4] is not written any more once a newer Drydock has changed its schema", async () => {
    const store = await openSqliteStore({ stateDir: folder });
    try {
      await store.write([entry("before")], "durable");
      changeDirectly(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
      await assert.rejects(store.write([entry("after")], "durable"), {
        name: "StateError",
        message: /needs schema version/,
      });
      assert.equal((await store.history("P")).length, 1);
    } finally {
      store.close();
    }
  });

  it("[X4] is refused when it cannot be read back", async () => {
    const store = await openSqliteStore({ stateDir: folder });
    try {
      await store.write([entry("in the log")], "durable");
      truncateSync(`${file}-wal`);
      await assert.rejects(readHistory(), {
        name: "StateError",
        message: /cannot be read or written/,
        hint: /kernel log/,
      });
    } finally {
      store.close();
    }
  });

  it("leaves what is a defect of ours as it is", async () => {
    await makeState();
    changeDirectly("DROP TABLE history");
    await assert.rejects(readHistory(), { code: "ERR_SQLITE_ERROR", message: /no such table: history/ });
  });
});

describe("a place that cannot hold the state", () => {
  // Without capabilities root is bound by permissions like anybody else.
  const unprivileged = isRoot ? ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] : [];
  const inMountNamespace = (script: string) => [
    "unshare",
    isRoot ? "-m" : "-Urm",
    "sh",
    "-ec",
    `${script}\nexec "$@"`,
    "sh",
  ];

  for (const fresh of [true, false]) {
    const which = fresh ? "a fresh state" : "a state that is there";

    it(`[X4] refuses a folder without write permission for ${which}`, async () => {
      if (!fresh) await makeState();
      chmodSync(folder, 0o500);
      const { written, name, message, hint } = writeInChild(unprivileged);
      assert.deepEqual([written, name], [0, "StateError"]);
      assert.match(`${message}`, /access failed on .*permission denied \(EACCES\)/);
      assert.match(`${hint}`, /permissions/);
    });

    it(`[X4] refuses a read-only file system for ${which}`, async () => {
      if (!fresh) await makeState();
      const mounted = `mount --bind '${folder}' '${folder}'; mount -o remount,bind,ro '${folder}'`;
      const { written, name, message, hint } = writeInChild(inMountNamespace(mounted));
      assert.deepEqual([written, name], [0, "StateError"]);
      assert.match(`${message}`, /read-only file system \(EROFS\)/);
      assert.match(`${hint}`, /remount it writable/);
    });
  }

  it("[X4] refuses a database without write permission", async () => {
    await makeState();
    chmodSync(file, 0o400);
    const { written, name, message } = writeInChild(unprivileged);
    assert.deepEqual([written, name], [0, "StateError"]);
    assert.match(`${message}`, /drydock\.db: permission denied \(EACCES\)/);
  });

  it("[X4] refuses to write, and keeps what is there, when the file system is full", () => {
    const mounted = `mount -t tmpfs -o size=512k,mode=0700 tmpfs '${folder}'`;
    const { written, name, message, hint } = writeInChild(inMountNamespace(mounted), 1000);
    assert.ok(Array.isArray(written) && written[0] > 5 && written[0] === written[1], `${written}`);
    assert.equal(name, "StateError");
    assert.match(`${message}`, /no room/);
    assert.match(`${hint}`, /Make room/);
  });

  it("[X4] refuses a log of the database that is not ours to use", async () => {
    await makeState();
    mkdirSync(`${file}-wal`);
    await assert.rejects(readHistory(), {
      name: "StateError",
      message: /cannot be opened/,
      hint: /every file in it/,
    });
  });
});
