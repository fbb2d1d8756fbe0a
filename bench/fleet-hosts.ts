import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Drydock } from "../src/index.ts";
import { Running } from "../test/end-to-end/workplace.ts";
import type { TestPostgres } from "../test/support/database-servers.ts";
import type { Row } from "./answer.ts";
import { buildProject } from "./build-project.ts";
import { alternate, median, type Side } from "./measure.ts";

/** Over how many hosts a plan is. */
const COUNTS = [1, 2, 4, 8] as const;
const ROUNDS = 5;
/** Plans that are made, changed and applied at once, each over folders of its own. */
const AT_ONCE = 4;

/** A host with a service, which all share the processors of this machine. */
class BenchHost {
  readonly name: string;
  readonly home: string;
  readonly service: Running;
  readonly config: string;

  constructor(name: string, home: string, url: string, program: string) {
    this.name = name;
    this.home = home;
    for (let at = 0; at < AT_ONCE; at += 1) mkdirSync(this.folder(at), { recursive: true });
    this.config = join(home, "drydock.yaml");
    const fleet = { database: url, host: name, lend: [{ location: home }] };
    writeFileSync(this.config, `fleet: ${JSON.stringify(fleet)}\n`);
    const env = { ...process.env, DRYDOCK_STATE_DIR: this.stateDir, DRYDOCK_CONFIG: this.config };
    this.service = new Running(spawn(program, ["host", "start"], { env, stdio: ["pipe", "pipe", "pipe"] }));
  }

  get stateDir(): string {
    return join(this.home, "state");
  }

  folder(at: number): string {
    return join(this.home, `app-${at}`);
  }
}

/**
 * How many plans per second land over 1, 2, 4 and 8 hosts, in a fleet of 8, beside those of a machine that is
 * alone? A plan has a folder on each host, of which one file changes. All hosts share one machine, so that
 * many of them have no more processors than one.
 */
export async function hostRows(server: TestPostgres): Promise<readonly Row[]> {
  const built = buildProject();
  const { openDrydock } = (await import(join(built, "dist/index.js"))) as typeof import("../src/index.ts");
  const home = mkdtempSync(join(tmpdir(), "drydock-bench-hosts-"));
  const hosts: BenchHost[] = [];
  try {
    for (let at = 1; at <= Math.max(...COUNTS); at += 1) {
      const place = join(home, `web${at}`);
      mkdirSync(place);
      hosts.push(new BenchHost(`web${at}`, place, server.url(), join(built, "bin/drydock")));
    }
    for (const { service, name } of hosts)
      await service.until(() => service.stdout.includes(`${name} is up`));
    const [{ stateDir, config }] = hosts as [BenchHost];
    await using many = await openDrydock({ stateDir, config });
    await using alone = await openDrydock({ stateDir: join(home, "alone"), cwd: home, environment: {} });
    const sides = Object.fromEntries(COUNTS.map((count) => [count, side(many, hosts.slice(0, count))]));
    const times = await alternate(ROUNDS, { ...sides, alone: side(alone, hosts.slice(0, 1)) });
    const perSecond = (name: string) => (AT_ONCE * 1000) / median(times[name as "alone"]);
    return COUNTS.map((count, at) => ({
      what: at === 0 ? `plans per second over 1 host, ${AT_ONCE} at once` : `over ${count} hosts`,
      ours: `${perSecond(String(count)).toFixed(1)}/s`,
      peer: `${at === 0 ? "one machine alone " : ""}${perSecond("alone").toFixed(1)}/s`,
      ratio: `${(perSecond(String(count)) / perSecond("alone")).toFixed(2)}×`,
      goal: "",
      verdict: "",
    }));
  } finally {
    for (const { service } of hosts) {
      const ended = service.ended();
      service.signal("SIGKILL");
      await ended;
    }
    rmSync(home, { recursive: true, force: true });
  }
}

function side(drydock: Drydock, hosts: readonly BenchHost[]): Side {
  let round = 0;
  return {
    run: async () => {
      round += 1;
      await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => landed(drydock, hosts, at, round)));
    },
  };
}

async function landed(
  drydock: Drydock,
  hosts: readonly BenchHost[],
  at: number,
  round: number,
): Promise<void> {
  const resources = hosts.map((host, index) => ({
    name: host.name,
    location: index === 0 ? host.folder(at) : `${host.name}:${host.folder(at)}`,
    strategy: "filesystem_copy",
  }));
  const plan = await drydock.plans.create({ resources });
  for (const { name } of hosts) await plan.resource(name).write("file", `of round ${round}, ${plan.id}\n`);
  const { state } = await plan.apply();
  if (state !== "applied") throw new Error(`A plan is ${state}.`);
}
