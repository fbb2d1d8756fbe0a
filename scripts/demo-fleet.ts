import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { HostNetwork, type HostPlace, whyNoHosts } from "../test/fleet/host-network.ts";

/**
 * A plan over three hosts, end to end: `npm run demo:fleet`. Each host is a network namespace with a folder,
 * a state directory and `drydock host start`; the database is a real PostgreSQL on the bridge between them.
 * One host is killed before the decision, and nothing lands; then one is killed after it, and everything
 * lands as soon as that host is back. A step that does not end as it should fails the demo.
 */
const drydock = join(import.meta.dirname, "..", "bin", "drydock");
const NAMES = ["web1", "web2", "db1"] as const;
type Name = (typeof NAMES)[number];

const [OLD, NEW] = ["version 1\n", "version 2\n"];
const PATIENCE_S = 90;

/** A host of the demo. */
class DemoHost {
  readonly name: Name;
  readonly home: string;
  readonly #place: HostPlace;
  #service: ChildProcess | undefined;

  constructor(name: Name, home: string, place: HostPlace, url: string) {
    this.name = name;
    this.home = home;
    this.#place = place;
    mkdirSync(this.folder, { recursive: true });
    writeFileSync(join(this.folder, "release.txt"), OLD);
    const fleet = { database: url, host: name, lend: [{ location: this.folder }] };
    writeFileSync(join(home, "drydock.yaml"), `fleet: ${JSON.stringify(fleet)}\n`);
  }

  get folder(): string {
    return join(this.home, "app");
  }

  get content(): string {
    return readFileSync(join(this.folder, "release.txt"), "utf8");
  }

  /** Runs a command, shows it, and says how it ended. */
  run(args: readonly string[], input = ""): { readonly status: number | null; readonly stdout: string } {
    const echo = input === "" ? "" : `echo ${JSON.stringify(input.trim())} | `;
    process.stdout.write(`${this.name}$ ${echo}drydock ${args.join(" ")}\n`);
    const [file, words] = this.#place.command(drydock, ...args);
    const { status, stdout, stderr } = spawnSync(file, words, {
      ...this.#options(),
      input,
      encoding: "utf8",
    });
    process.stdout.write(stdout + stderr);
    return { status, stdout };
  }

  /** The same, where it has to succeed. */
  done(args: readonly string[], input?: string): string {
    const { status, stdout } = this.run(args, input);
    if (status !== 0) throw new Error(`this ended with ${status}, not with 0`);
    return stdout;
  }

  stateOf(plan: string): string {
    const [file, words] = this.#place.command(drydock, "plan", "show", plan, "--json");
    const { stdout } = spawnSync(file, words, { ...this.#options(), encoding: "utf8" });
    return JSON.parse(stdout).state;
  }

  async up(env: NodeJS.ProcessEnv = {}): Promise<void> {
    process.stdout.write(`${this.name}$ drydock host start\n`);
    const [file, words] = this.#place.command(drydock, "host", "start");
    const service = spawn(file, words, { ...this.#options(env), stdio: ["ignore", "pipe", "inherit"] });
    this.#service = service;
    const [said] = await Promise.race([once(service.stdout, "data"), once(service, "exit")]);
    if (!String(said).includes("is up")) throw new Error(`${this.name} does not start`);
    process.stdout.write(String(said));
  }

  /** Waits until its service has died. */
  async died(): Promise<void> {
    const service = this.#service;
    if (service === undefined || service.exitCode !== null || service.signalCode !== null) return;
    await once(service, "exit");
    process.stdout.write(`(${this.name} was killed)\n`);
  }

  kill(): void {
    this.#service?.kill("SIGKILL");
  }

  #options(env: NodeJS.ProcessEnv = {}) {
    const state = join(this.home, "state");
    const named = {
      DRYDOCK_STATE_DIR: state,
      DRYDOCK_CONFIG: join(this.home, "drydock.yaml"),
      NO_COLOR: "1",
    };
    return { cwd: this.home, env: { ...process.env, ...named, ...env } };
  }
}

function say(text: string): void {
  process.stdout.write(`\n# ${text}\n`);
}

/** Waits until all hosts have this content; meanwhile some may have the other. */
async function expectAll(hosts: readonly DemoHost[], content: string): Promise<void> {
  for (let tries = 0; hosts.some((host) => host.content !== content); tries += 1) {
    if (tries > PATIENCE_S * 10) throw new Error(`not all hosts have ${JSON.stringify(content)}`);
    await sleep(100);
  }
  for (const { name, content: has } of hosts) process.stdout.write(`${name}$ cat app/release.txt\n${has}`);
}

async function demo(hosts: readonly DemoHost[]): Promise<void> {
  const [web1, , db1] = hosts as readonly [DemoHost, DemoHost, DemoHost];
  say("Three hosts, one database, nothing listens on a port.");
  for (const host of hosts) await host.up();
  web1.done(["host", "list"]);

  say("A plan over all of them. Each sandbox is on the host of its original.");
  const resources = hosts.flatMap(({ name, folder }) => ["-r", `${name}=${name}:${folder}`]);
  web1.done(["plan", "create", "--name", "release", ...resources]);
  for (const { name } of hosts) web1.done(["plan", "write", "release", name, "release.txt"], NEW);
  web1.done(["plan", "diff", "release"]);

  say("db1 is killed while it prepares: nothing lands anywhere.");
  db1.kill();
  await db1.died();
  await db1.up({ DRYDOCK_FAILPOINT: "host.run:1=kill" });
  if (web1.run(["plan", "apply", "release"]).status === 0) throw new Error("this should not have landed");
  await db1.died();
  await db1.up();
  await expectAll(hosts, OLD);

  say("The same plan again. db1 is killed after the decision: the others land, and the plan waits for db1.");
  await waitUntil(web1, "open");
  db1.kill();
  await db1.died();
  await db1.up({ DRYDOCK_FAILPOINT: "land.exchange=kill" });
  web1.run(["plan", "apply", "release"]);
  await db1.died();
  web1.done(["plan", "show", "release"]);

  say("db1 is back, and lands before anything else.");
  await db1.up();
  await expectAll(hosts, NEW);

  say("All of it back.");
  await waitUntil(web1, "applied");
  web1.done(["plan", "undo", "release"]);
  await expectAll(hosts, OLD);
  say("Done: all or nothing on three hosts, whichever dies.");
}

/** Waits until the plan is in this state. */
async function waitUntil(host: DemoHost, state: string): Promise<void> {
  for (let tries = 0; host.stateOf("release") !== state; tries += 1) {
    if (tries > PATIENCE_S) throw new Error(`the plan never is ${state}`);
    await sleep(1_000);
  }
}

const lacking = whyNoHosts();
if (lacking !== undefined) {
  console.error(`This demo can't run here: ${lacking}.`);
  console.error("It needs root, and on Debian: apt-get install -y iproute2 util-linux postgresql");
  process.exit(2);
}
const home = mkdtempSync(join(tmpdir(), "drydock-demo-fleet-"));
const network = await HostNetwork.open();
const hosts: DemoHost[] = [];
try {
  for (const name of NAMES) {
    const place = join(home, name);
    mkdirSync(place);
    hosts.push(new DemoHost(name, place, await network.host(), network.url));
  }
  await demo(hosts);
} catch (thrown) {
  process.stderr.write(`\nthe demo failed: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  process.exitCode = 1;
} finally {
  for (const host of hosts) host.kill();
  network.close();
  rmSync(home, { recursive: true, force: true });
}
