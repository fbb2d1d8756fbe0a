import { isIP } from "node:net";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { addressClass, isIn, subnet } from "./address-class.ts";
import { NETWORK_GROUPS, type NetworkGroup } from "./network-groups.ts";

/**
 * What a command may reach: names or addresses, and ports. Written as
 *
 *     example.com            *.example.com:443      *            the names, those below, any
 *     10.0.0.5:5432          10.0.0.0/8             [fd00::1]    addresses
 *     example.com:8080       example.com:*                       ports; without one 80 and 443
 *     npm                                                        a group
 */
export interface NetworkRule {
  readonly host: NamePattern | AddressPattern;
  /** Absent: any. */
  readonly ports?: readonly number[];
}

interface NamePattern {
  /** In small letters; empty for any. */
  readonly name: string;
  /** Whether it stands for all names below, and not for itself. */
  readonly below: boolean;
}

interface AddressPattern {
  readonly address: string;
  readonly bits: number;
}

const USUAL_PORTS: readonly number[] = [80, 443];
const MOST_PORT = 65_535;
const RULE = /^(?:\[([0-9a-f:./]+)\]|([^:[\]]+))(?::(\*|[0-9]{1,5}))?$/;
const NAME =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const ADDRESS_BITS = { 4: 32, 6: 128 } as const;
/** Wider networks would name this machine along with others. */
const FEWEST_BITS = { 4: 8, 6: 7 } as const;

/** What a line says. Throws a UsageError that says what is wrong with it. */
export function parseNetworkRules(line: string): readonly NetworkRule[] {
  const text = line.toLowerCase();
  if (isGroup(text)) return NETWORK_GROUPS[text].map(parseRule);
  return [parseRule(text)];
}

function isGroup(text: string): text is NetworkGroup {
  return Object.hasOwn(NETWORK_GROUPS, text);
}

function parseRule(text: string): NetworkRule {
  const [, bracketed, plain, port] = RULE.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) throw unfit(text, "is neither a name nor an address, with a port or without");
  const ports = portsOf(text, port);
  const [address = "", bits] = host.split("/");
  if (isIP(address) !== 0) return { host: addressPattern(text, address, bits), ...ports };
  if (host === "*") return { host: { name: "", below: true }, ...ports };
  const below = host.startsWith("*.");
  const name = normalName(below ? host.slice(2) : host);
  if (name === undefined || bracketed !== undefined || /^[0-9.]+$/.test(name))
    throw unfit(text, "is neither a name nor an address");
  // Such a word is more likely a group that is misspelt.
  if (!name.includes(".") && port === undefined)
    throw unfit(text, `is no group (${Object.keys(NETWORK_GROUPS).join(", ")})`, `a name: ${text}:443`);
  return { host: { name, below }, ...ports };
}

function portsOf(text: string, port: string | undefined): Pick<NetworkRule, "ports"> {
  if (port === "*") return {};
  if (port === undefined) return { ports: USUAL_PORTS };
  if (Number(port) < 1 || Number(port) > MOST_PORT) throw unfit(text, "has no port from 1 to 65535");
  return { ports: [Number(port)] };
}

function addressPattern(text: string, address: string, given: string | undefined): AddressPattern {
  const family = isIP(address) as 4 | 6;
  const bits = given === undefined ? ADDRESS_BITS[family] : Number(given);
  if (!Number.isInteger(bits) || bits < FEWEST_BITS[family] || bits > ADDRESS_BITS[family])
    throw unfit(text, `is no network of ${FEWEST_BITS[family]} to ${ADDRESS_BITS[family]} bits`);
  if (addressClass(address) === "forbidden")
    throw unfit(text, "can't be allowed: it is link-local, of a metadata service, or of no machine");
  return { address, bits };
}

/** A host name in small letters, without the dot of the root; undefined if it is none. */
export function normalName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, "");
  return NAME.test(name) ? name : undefined;
}

function unfit(
  text: string,
  why: string,
  example = "example.com, '*.example.com:443', 10.0.0.5:5432",
): UsageError {
  return new UsageError(`'${displayPath(text)}' ${why}.`, { hint: `Write a group, or ${example}` });
}

export function allowsName({ host, ports }: NetworkRule, name: string, port: number): boolean {
  return "name" in host && isNamed(host, name) && ports?.includes(port) !== false;
}

export function allowsAddress({ host, ports }: NetworkRule, address: string, port: number): boolean {
  return (
    "address" in host && isIn(subnet(host.address, host.bits), address) && ports?.includes(port) !== false
  );
}

function isNamed(pattern: NamePattern, name: string): boolean {
  if (!pattern.below) return pattern.name === name;
  return pattern.name === "" || name.endsWith(`.${pattern.name}`);
}

/**
 * What both rules allow; undefined if that is nothing. A rule about names and one about addresses have
 * nothing in common, not even "*": it allows no near address.
 */
export function commonRule(one: NetworkRule, other: NetworkRule): NetworkRule | undefined {
  const host = within(one.host, other.host) ?? within(other.host, one.host);
  const ports = commonPorts(one.ports, other.ports);
  return host === undefined || ports?.length === 0
    ? undefined
    : { host, ...(ports !== undefined && { ports }) };
}

function commonPorts(one: NetworkRule["ports"], other: NetworkRule["ports"]): NetworkRule["ports"] {
  return other === undefined ? one : (one?.filter((port) => other.includes(port)) ?? other);
}

/** The inner pattern, if the outer one stands for all of it. */
function within(inner: NetworkRule["host"], outer: NetworkRule["host"]): NetworkRule["host"] | undefined {
  if ("address" in inner) {
    if (!("address" in outer) || inner.bits < outer.bits) return undefined;
    return isIn(subnet(outer.address, outer.bits), inner.address) ? inner : undefined;
  }
  if (!("name" in outer)) return undefined;
  if (outer.name === inner.name && outer.below === inner.below) return inner;
  return isNamed(outer, inner.name) && outer.below ? inner : undefined;
}

/** A rule as a user would write it. */
export function networkRuleText({ host, ports }: NetworkRule): string {
  const text =
    "address" in host ? addressText(host) : `${host.below ? "*." : ""}${host.name}`.replace(/\.$/, "");
  if (ports === undefined) return `${text}:*`;
  const isUsual = ports.join() === USUAL_PORTS.join();
  return isUsual ? text : `${text}:${ports.join(",")}`;
}

function addressText({ address, bits }: AddressPattern): string {
  const isSix = isIP(address) === 6;
  const text = bits === ADDRESS_BITS[isSix ? 6 : 4] ? address : `${address}/${bits}`;
  return isSix ? `[${text}]` : text;
}
