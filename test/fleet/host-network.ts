import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OWNER, TestPostgres, whyNoServer } from "../support/database-servers.ts";
import { fastFolder } from "../support/fast-folder.ts";

const SERVER_ADDRESS = "10.77.0.1";

/**
 * Hosts on a network of their own: each has a network namespace with one link to a bridge, where a real
 * PostgreSQL listens. Links are cut and restored on the side of the bridge, so a host hears nothing of it, as
 * when a cable is pulled elsewhere.
 *
 * A namespace lives as long as the process in it that reads from a pipe of this one: nothing of the network
 * has a name outside, and all of it is gone with this process, however that ends.
 */
export class HostNetwork {
  readonly server: TestPostgres;
  readonly #bridge: Namespace;
  readonly #hosts: Namespace[] = [];

  static async open(): Promise<HostNetwork> {
    const bridge = await Namespace.open();
    bridge.ip("link", "add", "bridge", "type", "bridge");
    bridge.ip("addr", "add", `${SERVER_ADDRESS}/24`, "dev", "bridge");
    bridge.ip("link", "set", "bridge", "up");
    const server = new BridgedPostgres(bridge);
    try {
      await server.startFilled();
      return new HostNetwork(bridge, server);
    } catch (error) {
      server.remove();
      bridge.close();
      throw error;
    }
  }

  private constructor(bridge: Namespace, server: TestPostgres) {
    this.#bridge = bridge;
    this.server = server;
  }

  /** The database, as hosts reach it. */
  get url(): string {
    const { user, password } = OWNER;
    return `postgres://${user}:${encodeURIComponent(password)}@${SERVER_ADDRESS}:5432/app`;
  }

  /** One more host. */
  async host(): Promise<HostPlace> {
    const namespace = await Namespace.open();
    this.#hosts.push(namespace);
    const [number, link] = [this.#hosts.length, `host${this.#hosts.length}`];
    const peer = ["peer", "name", "eth0", "netns", String(namespace.pid)];
    this.#bridge.ip("link", "add", link, "type", "veth", ...peer);
    this.#bridge.ip("link", "set", link, "master", "bridge", "up");
    const address = `10.77.0.${number + 1}`;
    namespace.ip("addr", "add", `${address}/24`, "dev", "eth0");
    namespace.ip("link", "set", "eth0", "up");
    namespace.ip("link", "set", "lo", "up");
    return new HostPlace(namespace, address, (state) => this.#bridge.ip("link", "set", link, state));
  }

  close(): void {
    this.server.remove();
    for (const namespace of [...this.#hosts, this.#bridge]) namespace.close();
  }
}

/** Where the processes of one host run. */
export class HostPlace {
  readonly address: string;
  readonly #namespace: Namespace;
  readonly #setLink: (state: "up" | "down") => void;

  constructor(namespace: Namespace, address: string, setLink: (state: "up" | "down") => void) {
    this.#namespace = namespace;
    this.address = address;
    this.#setLink = setLink;
  }

  /** From now on nothing arrives at this host or from it. */
  cut(): void {
    this.#setLink("down");
  }

  restore(): void {
    this.#setLink("up");
  }

  /** A command, as it is started on this host. */
  command(file: string, ...args: readonly string[]): readonly [file: string, args: string[]] {
    // It ends with the process of the test, however that ends.
    return ["setpriv", ["--pdeathsig", "KILL", "nsenter", ...this.#namespace.enter, file, ...args]];
  }
}

/** A network namespace, held by a process that ends with this one. */
class Namespace {
  readonly #holder: ChildProcess;

  static async open(): Promise<Namespace> {
    const holder = spawn("unshare", ["--net", "--", "sh", "-c", "echo up; exec cat"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const [word] = await Promise.race([once(holder.stdout, "data"), once(holder, "exit")]);
    if (String(word).trim() !== "up") throw new Error("A network namespace can't be made here.");
    return new Namespace(holder);
  }

  private constructor(holder: ChildProcess) {
    this.#holder = holder;
  }

  get pid(): number {
    return this.#holder.pid as number;
  }

  get enter(): readonly string[] {
    return [`--net=/proc/${this.pid}/ns/net`, "--"];
  }

  ip(...args: readonly string[]): void {
    const { status, stderr, error } = spawnSync("nsenter", [...this.enter, "ip", ...args], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`ip ${args.join(" ")} failed: ${error?.message ?? stderr}`);
  }

  close(): void {
    this.#holder.stdin?.end();
    this.#holder.kill("SIGKILL");
  }
}

/** A server that listens at the bridge. */
class BridgedPostgres extends TestPostgres {
  readonly #bridge: Namespace;

  constructor(bridge: Namespace) {
    super([`listen_addresses=${SERVER_ADDRESS}`], fastFolder());
    this.#bridge = bridge;
  }

  protected override makeData(): void {
    super.makeData();
    const file = join(this.data, "pg_hba.conf");
    writeFileSync(file, `${readFileSync(file, "utf8")}host all all 10.77.0.0/24 scram-sha-256\n`);
  }

  protected override launched(command: readonly string[]): readonly string[] {
    return ["nsenter", ...this.#bridge.enter, ...command];
  }
}

/** Why no hosts can be had here; undefined if they can. */
export function whyNoHosts(): string | undefined {
  if (process.getuid?.() !== 0) return "only root can make a network of hosts";
  if (spawnSync("ip", ["-V"]).error !== undefined) return "ip (Debian: iproute2) is missing";
  const link = ["ip", "link", "add", "name", "link", "type", "veth", "peer", "name", "peer"];
  if (spawnSync("unshare", ["--net", "--", ...link]).status !== 0)
    return "this kernel or container gives no network namespaces with links";
  return whyNoServer("postgres");
}
