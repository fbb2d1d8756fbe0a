import { lookup } from "node:dns/promises";
import { connect, isIP, type Socket } from "node:net";
import { messageOf } from "../../core/errors/errors.ts";
import { addressClass } from "../../system/network/address-class.ts";
import {
  allowsAddress,
  allowsName,
  type NetworkRule,
  normalName,
} from "../../system/network/network-rule.ts";

import type { DeniedRequests } from "./denied-requests.ts";

/** The addresses of a name. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** A request that may not be made; its message is for the program that made it. */
export class DeniedError extends Error {}

/** A server that can't be reached; its message is for the program that asked for it. */
export class UnreachableError extends Error {}

const CONNECT_MS = 30_000;

/**
 * The only way out of a command's network. It resolves a name itself, checks the addresses, and connects to
 * one that it has checked: a name that leads elsewhere a moment later changes nothing.
 *
 * - A name must be allowed by a rule for names, before it is resolved: also a question can tell a secret.
 * - A public address then needs no rule. One of this machine, or of its local network, needs one of its own.
 * - Some addresses can't be reached whatever the rules say: system/network/address-class.ts.
 */
export class NetworkGate {
  readonly #rules: readonly NetworkRule[];
  readonly #denied: DeniedRequests;
  readonly #resolve: Resolve;

  constructor(rules: readonly NetworkRule[], denied: DeniedRequests, resolve: Resolve = addressesOf) {
    this.#rules = rules;
    this.#denied = denied;
    this.#resolve = resolve;
  }

  /** Connects to a server. Fails with a DeniedError or an UnreachableError. */
  async connect(host: string, port: number): Promise<Socket> {
    const addresses = await this.allowed(host, port);
    for (const [at, address] of addresses.entries()) {
      try {
        return await connected(address, port);
      } catch (thrown) {
        if (at + 1 < addresses.length) continue;
        throw new UnreachableError(`${host} can't be reached at port ${port}: ${messageOf(thrown)}`, {
          cause: thrown,
        });
      }
    }
    throw new UnreachableError(`${host} has no address.`);
  }

  /** The addresses of a server to which this command may connect: at least one. */
  async allowed(host: string, port: number): Promise<readonly string[]> {
    const isAddress = isIP(host) !== 0;
    const name = isAddress ? host : normalName(host);
    const destination = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
    // "*" allows addresses of the internet too.
    const any = this.#rules.some((rule) => allowsName(rule, isAddress ? "" : (name ?? ""), port));
    if (name === undefined || (!isAddress && !any)) throw this.#refusal(destination);
    const addresses = isAddress ? [host] : await this.#addresses(name);
    const fit = addresses.filter((address) => this.#mayReach(address, port, any));
    const [first] = addresses;
    if (fit.length > 0 || first === undefined) return fit;
    throw this.#refusal(destination, isAddress && addressClass(host) === "public" ? undefined : first);
  }

  #mayReach(address: string, port: number, isNamed: boolean): boolean {
    const kind = addressClass(address);
    if (kind === "forbidden") return false;
    const isAllowed = this.#rules.some((rule) => allowsAddress(rule, address, port));
    return isAllowed || (isNamed && kind === "public");
  }

  async #addresses(name: string): Promise<readonly string[]> {
    try {
      return await this.#resolve(name);
    } catch (thrown) {
      throw new UnreachableError(`${name} can't be found: ${messageOf(thrown)}`, { cause: thrown });
    }
  }

  #refusal(destination: string, address?: string): DeniedError {
    this.#denied.add(destination, address);
    return new DeniedError(
      address === undefined
        ? `Drydock: ${destination} is not allowed by the network policy of this command.`
        : `Drydock: ${destination} leads to ${address}, ${whyNot(address)}.`,
    );
  }
}

function whyNot(address: string): string {
  return addressClass(address) === "forbidden"
    ? "which no command can reach"
    : "an address of this machine or its local network that the network policy does not name";
}

async function addressesOf(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
}

async function connected(address: string, port: number): Promise<Socket> {
  return await new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
    const clock = setTimeout(() => socket.destroy(new Error("it does not answer.")), CONNECT_MS);
    socket.once("error", reject);
    socket.once("connect", () => {
      clearTimeout(clock);
      socket.off("error", reject);
      resolve(socket);
    });
    socket.once("close", () => clearTimeout(clock));
  });
}
