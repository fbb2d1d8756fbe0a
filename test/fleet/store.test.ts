import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { PlanRecord } from "../../src/core/plan.ts";
import { splitSecret } from "../../src/core/resource/secret-url.ts";
import { openPostgresStore } from "../../src/fleet/store/postgres-store.ts";
import type { Store } from "../../src/store/store.ts";
import { COMPILED } from "../support/compile-cache.ts";
import { HostNetwork, type HostPlace, whyNoHosts } from "./host-network.ts";

const PATIENT = 30_000;
const IMPATIENT = 1_500;
const PLAN: PlanRecord = {
  id: "P",
  name: "plan",
  state: "open",
  readOnly: false,
  allowIrreversible: false,
  createdAt: "2026-01-01T00:00:00.000Z",
  resources: [],
};

describe("a host and the fleet's database", { skip: whyNoHosts() ?? false }, () => {
  let network: HostNetwork;
  let store: Store;

  before(async () => {
    network = await HostNetwork.open();
    // It reaches the server beside the bridge, so that no cut link matters to it.
    const { location, secret } = splitSecret(network.server.url());
    store = await openPostgresStore({ location, secret, patienceMs: PATIENT });
    await store.write([{ put: "plan", record: PLAN }], "durable");
  });

  after(() => {
    store?.close();
    network?.close();
  });

  it("[M1] loses and doubles nothing while links are cut and the server restarts, stands still and is killed", async () => {
    const host = await network.host();
    using client = new StoreClient(host, "write", network.url, PATIENT);
    assert.equal(await client.line(), "writing");
    for (const trouble of [
      () => flicker(host, 300),
      () => restart(network),
      () => flicker(host, 2_000),
      () => standStill(network),
    ]) {
      await trouble();
      await moreEntries(store);
    }
    const last = Number(await client.end());
    assert.deepEqual(await numbers(store), upTo(last));
  });

  it("[M1] says that the server can't be reached when a link stays cut, and what it said was written is there once", async () => {
    await forget(store);
    const host = await network.host();
    using client = new StoreClient(host, "write", network.url, IMPATIENT);
    assert.equal(await client.line(), "writing");
    host.cut();
    const [written, code] = (await client.line()).split(" ");
    assert.equal(code, "SERVER_DOWN");
    host.restore();
    const found = await numbers(store);
    // Nobody knows of the last one: it is there whole, or not at all.
    assert.deepEqual(found, upTo(found.length));
    assert.ok(found.length === Number(written) || found.length === Number(written) + 1);
  });

  it("[M1] that is cut off or stands still in the middle of a transaction keeps its rows from others for a while only", async () => {
    for (const fail of [
      (host: HostPlace) => host.cut(),
      (_: HostPlace, client: StoreClient) => client.signal("SIGSTOP"),
    ]) {
      const host = await network.host();
      using client = new StoreClient(host, "hold", network.url, IMPATIENT);
      assert.equal(await client.line(), "holding");
      fail(host, client);
      await store.write([{ put: "plan", record: PLAN }], "durable");
    }
  });

  // It would hold up an update of the tables for two hours.
  it("[M1] is no session of the server any more when it is gone without a word", {
    timeout: 300_000,
  }, async () => {
    const host = await network.host();
    using client = new StoreClient(host, "write", network.url, PATIENT);
    assert.equal(await client.line(), "writing");
    const sessions = `SELECT count(*) FROM pg_stat_activity WHERE client_addr = '${host.address}'`;
    assert.equal(await network.server.sql(sessions), "1");
    host.cut();
    client.signal("SIGKILL");
    while ((await network.server.sql(sessions)) !== "0") await sleep(500);
  });
});

/** A process of a host, see store-client-program.ts. */
class StoreClient {
  readonly #process: ChildProcess;
  #said = "";

  constructor(host: HostPlace, what: "write" | "hold", url: string, patienceMs: number) {
    const program = join(import.meta.dirname, "store-client-program.ts");
    const flags = ["--conditions=drydock-source", program, what, url, String(patienceMs)];
    const [file, args] = host.command(process.execPath, ...flags);
    const env = { ...process.env, ...COMPILED };
    this.#process = spawn(file, args, { stdio: ["pipe", "pipe", "inherit"], env });
    this.#process.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#said += text;
    });
  }

  /** The next line that it says. */
  async line(): Promise<string> {
    while (!this.#said.includes("\n")) {
      if (this.#process.exitCode !== null) throw new Error("The process of the host has ended.");
      await sleep(5);
    }
    const [line = "", ...rest] = this.#said.split("\n");
    this.#said = rest.join("\n");
    return line;
  }

  /** Ends its work, and returns the last that it says. */
  async end(): Promise<string> {
    this.#process.stdin?.end();
    return await this.line();
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  [Symbol.dispose](): void {
    this.#process.kill("SIGKILL");
  }
}

async function flicker(host: HostPlace, ms: number): Promise<void> {
  host.cut();
  await sleep(ms);
  host.restore();
}

async function restart({ server }: HostNetwork): Promise<void> {
  await server.crash();
  await server.start();
}

async function standStill({ server }: HostNetwork): Promise<void> {
  server.signal("SIGSTOP");
  await sleep(1_000);
  server.signal("SIGCONT");
}

/** Waits until the host goes on. */
async function moreEntries(store: Store): Promise<void> {
  const before = await store.historyEnd();
  while ((await store.historyEnd()) < before + 3) await sleep(20);
}

async function numbers(store: Store): Promise<readonly unknown[]> {
  return (await store.history("P")).map(({ details }) => details["number"]);
}

function upTo(last: number): readonly number[] {
  return Array.from({ length: last }, (_, at) => at + 1);
}

async function forget(store: Store): Promise<void> {
  await store.write(
    [
      { drop: "plan", planId: "P" },
      { put: "plan", record: PLAN },
    ],
    "durable",
  );
}
