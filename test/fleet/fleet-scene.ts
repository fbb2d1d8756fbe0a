import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { referenceTo } from "../../src/config/yaml/environment-references.ts";
import { type Ended, type Running, Workplace } from "../end-to-end/workplace.ts";
import { TestPostgres } from "../support/database-servers.ts";

/** A host of a fleet in a test: a place with a state directory, and the service that serves it. */
export class TestHost extends Workplace {
  readonly name: string;
  /** The URL of the fleet's database. */
  url: string;
  service: Running | undefined;

  constructor(name: string, url: string, lend: readonly object[] = [{ location: "/", run: true }]) {
    super();
    this.name = name;
    this.url = url;
    this.lend(lend);
  }

  /** Sets what it lends, from its next start on. */
  lend(lend: readonly object[]): void {
    const settings = { database: referenceTo("FLEET_URL"), host: this.name, lend };
    this.write("drydock.yaml", `fleet: ${JSON.stringify(settings)}\n`);
  }

  override get environment(): NodeJS.ProcessEnv {
    const config = join(this.path, "drydock.yaml");
    return { ...super.environment, DRYDOCK_CONFIG: config, FLEET_URL: this.url };
  }

  /** Starts the service, which may die before it is up. */
  begin(env: NodeJS.ProcessEnv = {}): Running {
    this.service = this.start(["host", "start"], env);
    return this.service;
  }

  /** Starts the service, and waits until it is up. */
  async up(env: NodeJS.ProcessEnv = {}): Promise<void> {
    const service = this.begin(env);
    await service.until(() => service.stdout.includes(`${this.name} is up`));
  }

  /** Kills the service. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Ends the service as systemd does. */
  async end(): Promise<Ended | undefined> {
    return await this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<Ended | undefined> {
    const { service } = this;
    this.service = undefined;
    if (service === undefined || service.hasEnded) return undefined;
    const ended = service.endedWithin(60);
    service.signal(signal);
    return await ended;
  }

  /** The text of a file, or undefined. */
  text(path: string): string | undefined {
    const file = join(this.path, path);
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  }
}

/** Makes a plan on the first host, over the folder `app` of both, with a change in each. */
export function planOverBoth(web1: TestHost, web2: TestHost): string {
  const there = `there=web2:${web2.path}/app`;
  const { id } = web1.answer("plan", "create", "-r", `${web1.path}/app`, "-r", there);
  for (const resource of ["app", "there"]) {
    const { status, stderr } = web1.drydock(["plan", "write", id, resource, "a.txt"], { input: "new\n" });
    assert.equal(status, 0, stderr);
  }
  return id;
}

/** A fleet on one machine: a real PostgreSQL, and a place with a state directory for each host. */
export class FleetScene {
  readonly server: TestPostgres;
  readonly hosts: TestHost[] = [];

  private constructor(server: TestPostgres) {
    this.server = server;
  }

  static async start(): Promise<FleetScene> {
    const server = new TestPostgres();
    await server.startFilled();
    return new FleetScene(server);
  }

  get url(): string {
    return this.server.url();
  }

  host(name: string, lend?: readonly object[]): TestHost {
    const host = new TestHost(name, this.url, lend);
    this.hosts.push(host);
    return host;
  }

  /** Forgets everything in the database. */
  async clear(): Promise<void> {
    for (const host of this.hosts.splice(0)) {
      await host.kill();
      host[Symbol.dispose]();
    }
    await this.server.sql("DROP SCHEMA IF EXISTS drydock CASCADE");
  }

  async end(): Promise<void> {
    await this.clear();
    this.server.remove();
  }
}
