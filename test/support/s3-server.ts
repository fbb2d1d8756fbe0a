import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { removeFolder } from "./remove-folder.ts";

const PROGRAMS = ["ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "monmaptool", "osdmaptool"];
const PATIENCE_MS = 120_000;

/**
 * A real S3 server of a test's own, on loopback: a Ceph monitor, an object store in memory and the gateway
 * before it, all in one folder and on ports that were free. The map of the one store and the key of all three
 * are made beforehand, and proposals do not wait for more, so that it is up in seconds. They end with the
 * test process, however that ends.
 */
export class TestS3 {
  readonly accessKey = "TESTKEY";
  readonly secretKey = "test-s3cret/word";
  readonly region = "us-east-1";
  readonly #folder = mkdtempSync(join(tmpdir(), "drydock-s3-"));
  readonly #daemons: ChildProcess[] = [];
  #port = 0;

  static async start(): Promise<TestS3> {
    const server = new TestS3();
    try {
      await server.#start();
      return server;
    } catch (thrown) {
      await server.remove();
      throw thrown;
    }
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** What programs find it by. */
  get environment(): { readonly [name: string]: string } {
    return {
      AWS_ENDPOINT_URL: this.endpoint,
      AWS_REGION: this.region,
      AWS_ACCESS_KEY_ID: this.accessKey,
      AWS_SECRET_ACCESS_KEY: this.secretKey,
    };
  }

  async remove(): Promise<void> {
    for (const daemon of this.#daemons.reverse()) {
      if (daemon.exitCode !== null || daemon.signalCode !== null) continue;
      const ended = once(daemon, "exit");
      daemon.kill("SIGKILL");
      await ended;
    }
    removeFolder(this.#folder);
  }

  async #start(): Promise<void> {
    const [monitor, gateway] = [await freePort(), await freePort()];
    this.#port = gateway;
    const fsid = randomUUID();
    for (const name of ["mon", "osd", "rgw", "run"]) mkdirSync(this.#at(name));
    writeFileSync(this.#at("keyring"), keyring(), { mode: 0o600 });
    writeFileSync(this.#at("ceph.conf"), this.#settings(fsid, monitor));
    this.#run(
      "monmaptool",
      "--create",
      "--fsid",
      fsid,
      "--addv",
      "a",
      `[v2:127.0.0.1:${monitor}]`,
      this.#at("monmap"),
    );
    this.#run("osdmaptool", "--createsimple", "1", this.#at("osdmap"));
    const maps = [
      "--monmap",
      this.#at("monmap"),
      "--osdmap",
      this.#at("osdmap"),
      "--keyring",
      this.#at("keyring"),
    ];
    this.#run("ceph-mon", "--mkfs", "-i", "a", "--fsid", fsid, ...maps);
    this.#daemon("ceph-mon", "-i", "a");
    this.#run("ceph-osd", "--mkfs", "-i", "0", "--osd-uuid", randomUUID());
    this.#daemon("ceph-osd", "-i", "0");
    const keys = ["--access-key", this.accessKey, "--secret-key", this.secretKey];
    this.#run("radosgw-admin", "user", "create", "--uid", "tester", "--display-name", "tester", ...keys);
    await this.#isUp(this.#daemon("radosgw", "-n", "client.admin"));
  }

  async #isUp(gateway: ChildProcess): Promise<void> {
    for (const giveUpAt = Date.now() + PATIENCE_MS; Date.now() < giveUpAt; await sleep(50)) {
      if (gateway.exitCode !== null) break;
      if (await answers(this.endpoint)) return;
    }
    throw new Error(
      `The S3 server does not start: ${readFileSync(this.#at("radosgw.out"), "utf8").slice(-2000)}`,
    );
  }

  #daemon(program: string, ...args: readonly string[]): ChildProcess {
    const script = 'exec >"$1" 2>&1; shift; exec setpriv --pdeathsig KILL -- "$@"';
    const command = [program, "-c", this.#at("ceph.conf"), "-f", ...args];
    const daemon = spawn("sh", ["-c", script, "sh", this.#at(`${program}.out`), ...command], {
      stdio: "ignore",
    });
    this.#daemons.push(daemon);
    return daemon;
  }

  #run(program: string, ...args: readonly string[]): void {
    const { status, stderr, error } = spawnSync(program, ["-c", this.#at("ceph.conf"), ...args], {
      encoding: "utf8",
      timeout: PATIENCE_MS,
    });
    if (status !== 0)
      throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? stderr.slice(-2000)}`);
  }

  #settings(fsid: string, monitor: number): string {
    const folder = this.#folder;
    return `[global]
fsid = ${fsid}
mon host = [v2:127.0.0.1:${monitor}]
keyring = ${folder}/keyring
auth allow insecure global id reclaim = true
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
run dir = ${folder}/run
admin socket = ${folder}/run/$name.asok
log file = ${folder}/$name.log
pid file = ${folder}/run/$name.pid
mon data = ${folder}/mon
mon data avail crit = 1
mon allow pool size one = true
mon max pg per osd = 1000
paxos propose interval = 0.02
paxos min wait = 0.01
osd data = ${folder}/osd
osd objectstore = memstore
memstore device bytes = 1073741824
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd class load list = *
osd class default list = *
[client.admin]
rgw frontends = beast endpoint=127.0.0.1:${this.#port} tcp_nodelay=1
rgw data = ${folder}/rgw
rgw zone = default
rgw override bucket index max shards = 1
`;
  }

  #at(name: string): string {
    return join(this.#folder, name);
  }
}

/** Why there is no S3 server to test with; undefined if there is. */
export function whyNoS3(): string | undefined {
  const missing = PROGRAMS.filter((program) => spawnSync(program, ["--version"]).error !== undefined);
  return missing.length === 0
    ? undefined
    : `${missing.join(", ")} (Debian: ceph-mon ceph-osd radosgw) is missing`;
}

/**
 * One key for all. A key is its type (1: AES), the time it was made in seconds and nanoseconds, its length,
 * and 16 random bytes.
 */
function keyring(): string {
  const key = Buffer.concat([Buffer.from([1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 16, 0]), randomBytes(16)]).toString(
    "base64",
  );
  const caps = {
    "mon.": ['mon = "allow *"'],
    "osd.0": ['mon = "allow profile osd"', 'osd = "allow *"'],
    "client.admin": ['mon = "allow *"', 'osd = "allow *"'],
  };
  return Object.entries(caps)
    .map(([name, all]) => [`[${name}]`, `key = ${key}`, ...all.map((each) => `caps ${each}`), ""].join("\n"))
    .join("");
}

async function answers(endpoint: string): Promise<boolean> {
  try {
    const response = await fetch(endpoint, { signal: AbortSignal.timeout(5_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("There is no free port.");
  return address.port;
}
