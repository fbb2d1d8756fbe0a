import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { program, Running } from "../end-to-end/workplace.ts";
import { TestHost } from "./fleet-scene.ts";
import { HostNetwork, type HostPlace } from "./host-network.ts";

/** A host whose processes reach the database by a link that can be cut. */
export class NetworkHost extends TestHost {
  readonly place: HostPlace;
  readonly #url: string;

  constructor(name: string, network: HostNetwork, place: HostPlace) {
    // What a test runs to its end runs beside the bridge: no cut link matters to it.
    super(name, network.server.url());
    this.place = place;
    this.#url = network.url;
    this.folder("app", { "a.txt": OLD });
  }

  /** Starts a command on the host. */
  override start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    const [file, words] = this.place.command(program, ...args);
    const environment = { ...this.environment, FLEET_URL: this.#url, ...env };
    return new Running(
      spawn(file, words, { cwd: this.path, env: environment, stdio: ["pipe", "pipe", "pipe"] }),
    );
  }

  get isNew(): boolean {
    const text = this.text("app/a.txt");
    assert.ok(text === OLD || text === NEW, `${this.name} has ${text}`);
    return text === NEW;
  }
}

const OLD = "old\n";
const NEW = "new\n";

/** Hosts that are up, each with a folder and a link of its own. */
export class NetworkFleet {
  readonly network: HostNetwork;
  readonly hosts: readonly NetworkHost[];

  static async open(...names: readonly string[]): Promise<NetworkFleet> {
    const network = await HostNetwork.open();
    const hosts: NetworkHost[] = [];
    try {
      for (const name of names) hosts.push(new NetworkHost(name, network, await network.host()));
      for (const host of hosts) await host.up();
    } catch (error) {
      await close(network, hosts);
      throw error;
    }
    return new NetworkFleet(network, hosts);
  }

  private constructor(network: HostNetwork, hosts: readonly NetworkHost[]) {
    this.network = network;
    this.hosts = hosts;
  }

  /** A plan made on the first host, with a change on each. */
  plan(): string {
    const [first] = this.hosts;
    assert.ok(first !== undefined);
    const places = this.hosts.flatMap(({ name, path }) => ["-r", `on-${name}=${name}:${path}/app`]);
    const { id } = first.answer("plan", "create", ...places);
    for (const { name } of this.hosts) {
      const { status, stderr } = first.drydock(["plan", "write", id, `on-${name}`, "a.txt"], { input: NEW });
      assert.equal(status, 0, stderr);
    }
    return id;
  }

  /** Waits until the plan is neither landing nor being taken back, and all hosts hold the same. */
  async settled(plan: string): Promise<"applied" | "open"> {
    const [first] = this.hosts;
    let state = "";
    for (let tries = 0; tries < 600; tries += 1) {
      const { status, stdout } = first?.drydock(["plan", "show", plan, "--json"]) ?? {};
      state = status === 0 ? JSON.parse(stdout ?? "").state : `${status}`;
      if (state === "applied" || state === "open") break;
      await sleep(200);
    }
    assert.ok(state === "applied" || state === "open", `the plan is ${state}`);
    for (const host of this.hosts) assert.equal(host.isNew, state === "applied", `${host.name} of ${state}`);
    return state;
  }

  /** Waits until somebody has decided about the transaction of a plan. */
  async decided(plan: string, decision: string): Promise<void> {
    const asked = `SELECT decision FROM drydock.fleet_transactions WHERE plan_id = '${plan}' ORDER BY phase_at DESC LIMIT 1`;
    while ((await this.network.server.sql(asked)) === "") await sleep(100);
    assert.equal(await this.network.server.sql(asked), decision);
  }

  async close(): Promise<void> {
    await close(this.network, this.hosts);
  }
}

async function close(network: HostNetwork, hosts: readonly NetworkHost[]): Promise<void> {
  for (const host of hosts) {
    await host.kill();
    host[Symbol.dispose]();
  }
  network.close();
}
