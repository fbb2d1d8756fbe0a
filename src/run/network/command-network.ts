import { UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { DeniedRequest } from "../../core/values/run-policy.ts";
import type { OwnNetwork } from "../launch/launch-spec.ts";
import type { RunningCommandProcess } from "../launch/launcher.ts";
import type { NetworkInForce } from "../policy/network-policy.ts";

import { DeniedRequests } from "./denied-requests.ts";

/** The port of the command's own loopback at which the proxy listens. */
const PROXY_PORT = 3128;
const PROXY = `http://127.0.0.1:${PROXY_PORT}`;
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

/**
 * The network of one command: that of the machine, or one of its own, from which a proxy leads to what the
 * policy allows. The proxy runs in this process, so it ends with it, and the command too.
 */
export class CommandNetwork implements Disposable {
  readonly #policy: NetworkInForce;
  readonly #denied = new DeniedRequests();
  readonly #open = new DisposableStack();

  constructor(policy: NetworkInForce) {
    this.#policy = policy;
  }

  /** What the launcher makes; undefined for a command in the network of the machine. */
  get own(): OwnNetwork | undefined {
    const { mode } = this.#policy;
    if (mode === "open") return undefined;
    return mode === "none" ? {} : { proxyPort: PROXY_PORT };
  }

  /** Variables that lead programs to the proxy. */
  get variables(): { readonly [name: string]: string } {
    return this.#policy.mode === "allow" ? VARIABLES : {};
  }

  /** Whether a command without namespaces may use sockets of the network. */
  get isOpenInWalls(): boolean {
    if (this.#policy.mode === "allow")
      throw new UnsupportedError(
        "The network can't be limited to some names here: that takes a network namespace.",
        { hint: "Run it with --network none, or with --network open if it may reach everything." },
      );
    return this.#policy.mode === "open";
  }

  /** Opens the way out for a command that has just started. */
  async connect(running: RunningCommandProcess): Promise<void> {
    if (this.own?.proxyPort === undefined) return;
    const listener = running.takeSocket();
    const { NetworkGate } = await import("./gate.ts");
    const { NetworkProxy } = await import("./proxy.ts");
    const rules = this.#policy.rules.map(({ rule }) => rule);
    this.#open.use(new NetworkProxy(new NetworkGate(rules, this.#denied), listener));
  }

  /** What the command asked for and did not get. */
  get denied(): readonly DeniedRequest[] {
    return this.#denied.list;
  }

  /** Tells the user what was denied. */
  get sentence(): string {
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
