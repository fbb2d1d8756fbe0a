import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { bytesFromPath } from "../core/paths/byte-path.ts";
import { armFailpoints } from "../system/failpoints.ts";
import { openSqliteStore } from "./sqlite-store.ts";
import type { HistoryEntry, Store, StoreChange } from "./store.ts";

const SOURCE = JSON.stringify(new URL("./sqlite-store.ts", import.meta.url).href);

let folder: string;
let store: Store;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "drydock-connection-"));
  store = await openSqliteStore({ stateDir: folder });
});

afterEach(() => {
  armFailpoints(undefined);
  store.close();
  rmSync(folder, { recursive: true, force: true });
});

function entry(event: string, details: HistoryEntry["details"] = {}): StoreChange {
  return {
    put: "history",
    record: { planId: "P", at: "2026-01-01T00:00:00.000Z", actor: "me", event, details },
  };
}

async function events(from: Store): Promise<readonly string[]> {
  return (await from.history("P")).map(({ event }) => event);
}

describe("writes to the store", () => {
  it("make all of a list visible, or nothing of it", async () => {
    const unwritable = entry("never", { cause: 10n as unknown as number });
    await assert.rejects(store.write([entry("one"), entry("two"), unwritable], "durable"), TypeError);
    assert.deepEqual(await events(store), []);
    await store.write([entry("one"), entry("two")], "durable");
    assert.deepEqual(await events(store), ["one", "two"]);
  });

  it("change nothing when they fail before, and are there when something fails after", async () => {
    armFailpoints("store.write:1=error,store.written:1=enospc");
    await assert.rejects(store.write([entry("one")], "durable"), { code: "EIO" });
    assert.deepEqual(await events(store), []);
    await assert.rejects(store.write([entry("two")], "durable"), { code: "ENOSPC" });
    assert.deepEqual(await events(store), ["two"]);
  });

  it("are seen by every other connection at once", async () => {
    const other = await openSqliteStore({ stateDir: folder });
    try {
      await store.write([entry("ordered")], "ordered");
      assert.deepEqual(await events(other), ["ordered"]);
      await store.write([entry("durable")], "durable");
      assert.deepEqual(await events(other), ["ordered", "durable"]);
    } finally {
      other.close();
    }
  });

  it("are refused as busy, naming the state, when another process keeps it locked", async () => {
    const impatient = await openSqliteStore({ stateDir: folder, busyTimeoutMs: 20 });
    const rival = new DatabaseSync(join(folder, "drydock.db"));
    try {
      rival.exec("BEGIN IMMEDIATE");
      const refusal = { code: "BUSY", holder: "another Drydock process", message: /drydock\.db/ };
      await assert.rejects(impatient.write([entry("one")], "durable"), refusal);
      rival.exec("ROLLBACK");
      assert.deepEqual(await events(impatient), []);
      await impatient.write([entry("two")], "durable");
    } finally {
      rival.close();
      impatient.close();
    }
  });

  it("[A3] flush the log when they are durable, even if they change nothing, and do not when they are ordered", () => {
    const trace = join(folder, "trace");
    const state = join(folder, "traced");
    const program = `
      import { writeSync } from "node:fs";
      import { openSqliteStore } from ${SOURCE};
      const entry = { put: "history", record: { planId: "P", at: "", actor: "", event: "", details: {} } };
      const store = await openSqliteStore({ stateDir: ${JSON.stringify(state)} });
      await store.write([entry], "ordered");
      for (const [name, changes, durability] of [
        ["ordered", [entry], "ordered"], ["durable", [entry], "durable"], ["again ordered", [entry], "ordered"],
        ["durable without a change", [{ drop: "intents", sandboxId: "none" }], "durable"], ["empty durable", [], "durable"],
        ["claim", null],
      ]) {
        writeSync(1, "step " + name + "\\n");
        if (changes === null) await store.claim(["path:/a"], { id: "me" }, () => true);
        else await store.write(changes, durability);
      }
      writeSync(1, "step end\\n");
      store.close();`;
    const command = ["-f", "-y", "-e", "trace=write,fsync,fdatasync", "-o", trace, process.execPath];
    const child = spawnSync("strace", [...command, "--input-type=module", "-e", program], {
      encoding: "utf8",
    });
    assert.equal(child.status, 0, child.error?.message ?? child.stderr);
    const flushes = new Map<string, number>();
    let step = "";
    for (const line of readFileSync(trace, "utf8").split("\n")) {
      step = /"step ([a-z ]+)\\n"/.exec(line)?.[1] ?? step;
      if (/ f(?:data)?sync\(\d+<.*drydock\.db-wal>\)/.test(line))
        flushes.set(step, (flushes.get(step) ?? 0) + 1);
    }
    for (const name of ["", "end"]) flushes.delete(name);
    const expected = ["durable", "durable without a change", "empty durable"];
    assert.deepEqual(
      [...flushes],
      expected.map((name) => [name, 1]),
    );
  });
});

describe("opening and closing the store", () => {
  it("makes the state directory and its files for the user alone", async () => {
    const stateDir = join(folder, "not", "yet");
    const fresh = await openSqliteStore({ stateDir });
    try {
      await fresh.write([entry("one")], "ordered");
      const modes = readdirSync(stateDir).map((name) => [name, statSync(join(stateDir, name)).mode & 0o777]);
      assert.deepEqual(Object.fromEntries(modes), {
        "drydock.db": 0o600,
        "drydock.db-shm": 0o600,
        "drydock.db-wal": 0o600,
        "identity.json": 0o600,
        reserve: 0o600,
      });
      assert.equal(statSync(stateDir).mode & 0o777, 0o700);
      assert.equal(statSync(join(folder, "not")).mode & 0o777, 0o700);
    } finally {
      fresh.close();
    }
  });

  it("works in a directory whose name is any bytes", async () => {
    const stateDir = `${folder}/file:odd?mode=memory#%00 \n\udcff`;
    const odd = await openSqliteStore({ stateDir });
    try {
      await odd.write([entry("one")], "durable");
      assert.deepEqual(await events(odd), ["one"]);
      assert.ok(statSync(bytesFromPath(`${stateDir}/drydock.db`)).size > 0);
    } finally {
      odd.close();
    }
  });

  it("waits for a rival that is making the same fresh state, but not for ever", async () => {
    const stateDir = join(folder, "fresh");
    mkdirSync(stateDir, { mode: 0o700 });
    writeFileSync(join(stateDir, "drydock.db"), "", { mode: 0o600 });
    const rival = new DatabaseSync(join(stateDir, "drydock.db"));
    try {
      rival.exec("BEGIN IMMEDIATE");
      await assert.rejects(openSqliteStore({ stateDir, busyTimeoutMs: 30 }), { code: "BUSY" });
      const opening = openSqliteStore({ stateDir });
      await sleep(30);
      rival.exec("ROLLBACK");
      const opened = await opening;
      await opened.write([entry("one")], "ordered");
      opened.close();
    } finally {
      rival.close();
    }
  });

  it("changes nothing on disk when the state is current and nothing is written", async () => {
    await store.write([entry("one")], "durable");
    store.close();
    const facts = () => {
      const { mtimeNs, ctimeNs, size } = statSync(join(folder, "drydock.db"), { bigint: true });
      return { mtimeNs, ctimeNs, size };
    };
    const before = facts();
    store = await openSqliteStore({ stateDir: folder });
    assert.deepEqual(await events(store), ["one"]);
    store.close();
    assert.deepEqual(facts(), before);
  });

  it("leaves nothing but the database, the reserve, and what the directory knows itself by, also when it closes twice", () => {
    store.close();
    store.close();
    assert.deepEqual(readdirSync(folder).sort(), ["drydock.db", "identity.json", "reserve"]);
  });

  for (const point of ["store.folder", "store.file", "store.open", "store.migrate", "store.identity"]) {
    it(`goes on after a failure at ${point} as if nothing had been`, async () => {
      const stateDir = join(folder, "fresh");
      armFailpoints(`${point}:1=error`);
      await assert.rejects(openSqliteStore({ stateDir }), { code: "EIO" });
      const second = await openSqliteStore({ stateDir });
      try {
        await second.write([entry("one")], "durable");
        assert.deepEqual(await events(second), ["one"]);
      } finally {
        second.close();
      }
    });
  }
});
