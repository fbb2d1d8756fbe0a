import { UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { PlanRecord } from "../../core/plan.ts";
import type { DeniedRequest } from "../../core/values/run-policy.ts";
import { serverKind } from "../../database/server/server-url.ts";
import { isThere } from "../../system/data/existence.ts";
import { type PublishedPort, publishedAddress } from "../../system/network/published-port.ts";
import type { GuardedRequests, NamedLocation } from "../call-supervisor/guarded-servers.ts";
import type { GuardedServer } from "../call-supervisor/server-addresses.ts";
import type { CommandRequest } from "../launch/command-spec.ts";
import { type OwnNetwork, UNGUARDED } from "../launch/launch-spec.ts";
import type { RunningCommandProcess } from "../launch/launcher.ts";
import type { NetworkInForce } from "../policy/network-policy.ts";
import type { PolicyInForce } from "../policy/policy-in-force.ts";
import type { PortLine } from "../policy/ports.ts";

import { DeniedRequests } from "./denied-requests.ts";
import type { PublishedPorts } from "./published-ports.ts";

const PAST_PLAN =
  "The command wanted to reach a database of the plan past the plan, which run.network.databases does not allow:";
/** The port of the command's own loopback at which the proxy listens. */
const PROXY_PORT = 3128;
const PROXY = `http://127.0.0.1:${PROXY_PORT}`;
/**
 * How many connections can lead inside at once, by each of these addresses. All wait in one socket until the
 * command is up.
 */
const MOST_INSIDE = 64;
const INSIDE = [
  { version: 4, host: "127.0.0.1" },
  { version: 6, host: "::1" },
] as const;
/** Missing on a machine without IPv6. */
const SIX = "/proc/net/if_inet6";
const NOT_PROXIED = "localhost,127.0.0.1,::1";
/** How programs find the proxy. Node 24 looks at the others only if the last one is set. */
const VARIABLES: { readonly [name: string]: string } = {
  ...Object.fromEntries(["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap(both(PROXY))),
  ...Object.fromEntries(["NO_PROXY"].flatMap(both(NOT_PROXIED))),
  NODE_USE_ENV_PROXY: "1",
};

function both(value: string) {
  return (name: string) => [name, name.toLowerCase()].map((each) => [each, value] as const);
}

function waysIn(): readonly (typeof INSIDE)[number][] {
  return INSIDE.filter(({ version }) => version === 4 || isThere(SIX));
}

function socketsIn(): readonly (4 | 6)[] {
  return waysIn().flatMap(({ version }) => Array.from({ length: MOST_INSIDE }, () => version));
}

function taken(running: RunningCommandProcess, count: number): readonly number[] {
  return Array.from({ length: count }, () => running.takeSocket());
}

/**
 * The network of one command: that of the machine, or one of its own, from which a proxy leads to what the
 * policy allows. The proxy runs in this process, so it ends with it, and the command too.
 */
export class CommandNetwork implements Disposable {
  readonly #policy: NetworkInForce;
  readonly #denied = new DeniedRequests();
  readonly #open = new DisposableStack();
  #published: PublishedPorts | undefined;
  #guards: readonly GuardedServer[] = [];
  #requests: GuardedRequests | undefined;

  constructor(policy: NetworkInForce) {
    this.#policy = policy;
  }

  /** What the launcher makes; undefined for a command in the network of the machine. */
  get own(): OwnNetwork | undefined {
    const { mode } = this.#policy;
    if (mode === "open") return undefined;
    return {
      ...(mode === "allow" && { proxyPort: PROXY_PORT }),
      ...(this.#published !== undefined && { sockets: socketsIn() }),
    };
  }

  /** Variables that lead programs to the proxy. */
  get variables(): { readonly [name: string]: string } {
    return this.#policy.mode === "allow" ? VARIABLES : {};
  }

  /** Whether a command without namespaces may use sockets of the network. */
  get isOpenInWalls(): boolean {
    if (this.#published !== undefined)
      throw new UnsupportedError("No port can be published here: that takes a network namespace.");
    if (this.#policy.mode === "allow")
      throw new UnsupportedError(
        "The network can't be limited to some names here: that takes a network namespace.",
        { hint: "Run it with --network none, or with --network open if it may reach everything." },
      );
    return this.#policy.mode === "open";
  }

  /** Whether there are servers that the command is kept from. */
  get isGuarding(): boolean {
    return this.#guards.length > 0;
  }

  /** What the launcher is told. */
  get spec(): Pick<CommandRequest, "network" | "guards"> {
    return { network: this.own, guards: this.#guards };
  }

  /** Gets ready for a command of a plan that is about to start. */
  async prepare(
    { ports, databases }: Pick<PolicyInForce, "ports" | "databases">,
    plan: PlanRecord,
  ): Promise<void> {
    if (!databases.isOn) await this.#guard(plan.resources.map(({ resource }) => resource));
    await this.#publish(ports);
  }

  /** Finds out how the servers of databases that a plan holds can be reached, so that the command can't. */
  async #guard(resources: readonly NamedLocation[]): Promise<void> {
    if (resources.every(({ location }) => serverKind(location) === undefined)) return;
    const { guardedServers } = await import("../call-supervisor/guarded-servers.ts");
    this.#guards = await guardedServers(resources);
  }

  /** Listens at ports of this machine. */
  async #publish(ports: readonly PortLine[]): Promise<void> {
    if (ports.length === 0) return;
    const { PublishedPorts } = await import("./published-ports.ts");
    this.#published = this.#open.use(new PublishedPorts());
    for (const port of ports) await this.#published.listen(port);
  }

  /** What is published, with a sentence about it. */
  get published(): readonly (PublishedPort & { readonly message: string })[] {
    return (this.#published?.list ?? []).map((port) => ({
      ...port,
      message: `${publishedAddress(port)} leads to port ${port.inside} of the command.`,
    }));
  }

  /** Opens the ways out and in for a command that has just started. */
  async connect(running: RunningCommandProcess, isWalled: boolean): Promise<void> {
    const listener = this.own?.proxyPort === undefined ? undefined : running.takeSocket();
    if (this.#published !== undefined) {
      const ways = waysIn().map(({ host }) => ({ host, sockets: taken(running, MOST_INSIDE) }));
      const { InnerSockets } = await import("./inner-sockets.ts");
      this.#published.lead(ways.map(({ host, sockets }) => new InnerSockets(host, sockets)));
    }
    if (this.isGuarding && !isWalled && !running.weaker.includes(UNGUARDED)) {
      const { GuardedRequests } = await import("../call-supervisor/guarded-servers.ts");
      this.#requests = this.#open.use(new GuardedRequests(running.takeSocket()));
    }
    if (listener === undefined) return;
    const { NetworkGate } = await import("./gate.ts");
    const { NetworkProxy } = await import("./proxy.ts");
    const rules = this.#policy.rules.map(({ rule }) => rule);
    this.#open.use(new NetworkProxy(new NetworkGate(rules, this.#denied), listener));
  }

  /** What the command asked for and did not get, and what to tell the user about it. */
  end(): { readonly denied: readonly DeniedRequest[]; readonly sentences: readonly string[] } {
    const past = this.#requests?.take() ?? [];
    const shown = past.map(({ destination, resource }) => `${displayPath(destination)} (${resource})`);
    return {
      denied: [...this.#denied.list, ...past.map(({ destination }) => ({ destination, times: 1 }))],
      sentences: [
        ...(this.#denied.list.length > 0 ? [this.#sentence] : []),
        ...(past.length > 0 ? [`${PAST_PLAN} ${shown.join("; ")}.`] : []),
      ],
    };
  }

  get #sentence(): string {
    const { list, others } = this.#denied;
    const told = list.map(({ destination, address, times }) => {
      const where = address === undefined || destination.startsWith(address) ? "" : ` (${address})`;
      return `${displayPath(destination)}${where}${times > 1 ? `, ${times} times` : ""}`;
    });
    const more = others > 0 ? `; and ${others} more requests` : "";
    return `The command was not allowed to reach ${told.join("; ")}${more}.`;
  }

  [Symbol.dispose](): void {
    this.#open.dispose();
  }
}
