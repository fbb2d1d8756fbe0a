import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { openSqliteStore } from "./sqlite-store.ts";

const SOURCE = JSON.stringify(new URL("./sqlite-store.ts", import.meta.url).href);
const FAILPOINTS = JSON.stringify(new URL("../system/failpoints.ts", import.meta.url).href);
const PROCESSES = 8;

/**
 * What every program below begins with: its arguments, the store's module, and a start at the same moment as
 * the others.
 */
const PRELUDE = `
  import { readFileSync, writeFileSync, writeSync } from "node:fs";
  import { setTimeout as sleep } from "node:timers/promises";
  import { openSqliteStore } from ${SOURCE};
  import { armFailpoints } from ${FAILPOINTS};
  const [stateDir, name] = process.argv.slice(1);
  const owner = { id: name, host: "host", bootId: "boot", pid: process.pid, startTime: "0", command: name };
  const entry = (event) => ({ put: "history", record: { planId: "P", at: "", actor: name, event, details: {} } });
  writeSync(1, "ready");
  readFileSync(0);
`;

interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderr: string;
}

let folder: string;
let children: ChildProcess[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "drydock-processes-"));
  children = [];
});

afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the program in that many processes, which begin together, and returns how each ended. */
async function runTogether(count: number, program: string): Promise<readonly Ending[]> {
  const started = Array.from({ length: count }, (_, index) => {
    const parameters = ["--input-type=module", "-e", PRELUDE + program, stateDir(), `p${index}`];
    return spawn(process.execPath, parameters, { stdio: "pipe" });
  });
  children.push(...started);
  const endings = started.map(async (child): Promise<Ending> => {
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const [code, signal] = await once(child, "close");
    return { code, signal, stderr };
  });
  await Promise.race([Promise.all(started.map((child) => once(child.stdout, "data"))), Promise.all(endings)]);
  for (const child of started) child.stdin.end();
  return Promise.all(endings);
}

function stateDir(): string {
  return join(folder, "deep", "state");
}

function assertAllEndedWell(endings: readonly Ending[]): void {
  for (const ending of endings) assert.deepEqual(ending, { code: 0, signal: null, stderr: "" });
}

async function eventsByActor(): Promise<ReadonlyMap<string, readonly string[]>> {
  const store = await openSqliteStore({ stateDir: stateDir() });
  try {
    return new Map(
      [...Map.groupBy(await store.history("P"), ({ actor }) => actor)].map(([actor, entries]) => [
        actor,
        entries.map(({ event }) => event),
      ]),
    );
  } finally {
    store.close();
  }
}

describe("the store with many processes at once", () => {
  it("opens fresh state directories in all of them", async () => {
    const program = `
      for (let fresh = 0; fresh < 12; fresh += 1) {
        const store = await openSqliteStore({ stateDir: stateDir + fresh });
        await store.write([entry("opened")], "ordered");
        store.close();
      }`;
    assertAllEndedWell(await runTogether(PROCESSES, program));
  });

  it("[L4] loses no write of any of them, opening and closing all the while", async () => {
    const rounds = 15;
    const program = `
      for (let round = 0; round < ${rounds}; round += 1) {
        const store = await openSqliteStore({ stateDir });
        await store.write([entry(String(round))], round % 3 === 0 ? "durable" : "ordered");
        if (round % 5 === 4) store.close();
      }
      process.exit(0);`;
    assertAllEndedWell(await runTogether(PROCESSES, program));
    const expected = Array.from({ length: rounds }, (_, round) => String(round));
    const written = await eventsByActor();
    assert.equal(written.size, PROCESSES);
    for (const events of written.values()) assert.deepEqual(events, expected);
  });

  it("shows to no process a part of a write", async () => {
    const program = `
      const store = await openSqliteStore({ stateDir });
      for (let round = 0; round < 40; round += 1) {
        await store.write([entry("a"), entry("b"), entry("c")], "ordered");
        const seen = (await store.history("P")).length;
        if (seen % 3 !== 0) throw new Error("saw " + seen + " entries");
      }
      store.close();`;
    assertAllEndedWell(await runTogether(4, program));
  });

  it("[A14] grants overlapping paths to one process at a time", async () => {
    const counter = join(folder, "counter");
    writeFileSync(counter, "0");
    const rounds = 6;
    const program = `
      const counter = ${JSON.stringify(counter)};
      const store = await openSqliteStore({ stateDir });
      const keys = [["path:/a"], ["path:/a/b", "plan:" + name], ["path:/"]];
      for (let done = 0; done < ${rounds}; ) {
        const wanted = keys[done % keys.length];
        if ((await store.claim(wanted, owner, () => true)).granted) {
          const seen = Number(readFileSync(counter, "utf8"));
          await sleep(2);
          writeFileSync(counter, String(seen + 1));
          await store.release(wanted, owner);
          done += 1;
        }
        await sleep(1 + Math.random() * 5);
      }
      store.close();`;
    assertAllEndedWell(await runTogether(PROCESSES, program));
    assert.equal(readFileSync(counter, "utf8"), String(PROCESSES * rounds));
  });

  it("[P3] shows a reader every entry of the history once, in its order, while several processes write", async () => {
    const [writers, rounds] = [4, 60];
    const writing = runTogether(
      writers,
      `
      const store = await openSqliteStore({ stateDir });
      for (let round = 0; round < ${rounds}; round += 1)
        await store.write([entry("a" + round), entry("b" + round)], round % 10 === 0 ? "durable" : "ordered");
      store.close();`,
    );
    const store = await openSqliteStore({ stateDir: stateDir() });
    try {
      const seen: string[] = [];
      let seq = 0;
      while (seen.length < writers * rounds * 2) {
        const page = await store.historyAfter(seq, { limit: 7 });
        seq = page.at(-1)?.seq ?? seq;
        seen.push(...page.map(({ entry }) => `${entry.actor} ${entry.event}`));
        if (page.length === 0) await setTimeout(1);
      }
      assertAllEndedWell(await writing);
      assert.deepEqual(
        seen,
        (await store.history("P")).map(({ actor, event }) => `${actor} ${event}`),
      );
      assert.equal(new Set(seen).size, seen.length);
    } finally {
      store.close();
    }
  });

  it("keeps an ordered write and a claim when the process is killed right after them", async () => {
    const program = `
      const store = await openSqliteStore({ stateDir });
      await store.claim(["path:/a"], owner, () => true);
      await store.write([entry("kept")], "ordered");
      process.kill(process.pid, "SIGKILL");`;
    const [ending] = await runTogether(1, program);
    assert.equal(ending?.signal, "SIGKILL", ending?.stderr);
    assert.deepEqual([...(await eventsByActor())], [["p0", ["kept"]]]);
    const store = await openSqliteStore({ stateDir: stateDir() });
    try {
      const heir = { id: "heir", host: "host", bootId: "boot", pid: 1, startTime: "0", command: "heir" };
      const refusal = await store.claim(["path:/a/b"], heir, () => true);
      assert.equal(refusal.granted ? undefined : refusal.holder.command, "p0");
      assert.deepEqual(await store.claim(["path:/a/b"], heir, () => false), { granted: true });
    } finally {
      store.close();
    }
  });

  const opening = [
    "store.folder",
    "store.file",
    "store.open",
    "store.migrate",
    "store.identity",
    "record.flush:2",
  ];
  for (const point of [...opening, "store.write", "store.close"]) {
    it(`[A3] works on after a process was killed at ${point}`, async () => {
      const program = (trap: string) => `
        armFailpoints(${JSON.stringify(trap)});
        const store = await openSqliteStore({ stateDir });
        await store.write([entry("one"), entry("two")], "durable");
        store.close();`;
      const [killed] = await runTogether(1, program(`${point}=kill`));
      assert.equal(killed?.signal, "SIGKILL", killed?.stderr);
      assert.deepEqual(
        [...(await eventsByActor()).values()],
        point === "store.close" ? [["one", "two"]] : [],
      );
      assertAllEndedWell(await runTogether(1, program("")));
      assert.deepEqual(readdirSync(stateDir()).sort(), ["drydock.db", "identity.json", "reserve"]);
    });
  }

  it("[A3] starts over after a process was killed that was about to, because the database was moved away", async () => {
    const program = (trap: string) => `
      armFailpoints(${JSON.stringify(trap)});
      const store = await openSqliteStore({ stateDir });
      await store.write([entry("new")], "durable");
      store.close();`;
    assertAllEndedWell(await runTogether(1, program("")));
    for (const point of ["store.start-over", "store.file", "store.open"]) {
      rmSync(join(stateDir(), "drydock.db"), { force: true });
      const [killed] = await runTogether(1, program(`${point}=kill`));
      assert.equal(killed?.signal, "SIGKILL", killed?.stderr);
      assertAllEndedWell(await runTogether(1, program("")));
      assert.deepEqual([...(await eventsByActor()).values()], [["new"]], point);
    }
  });
});
