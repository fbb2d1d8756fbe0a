import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

/**
 * What an address leads to:
 * - `public`: a machine of the internet.
 * - `near`: this machine, its local network, or one that only some machines have.
 * - `forbidden`: no machine, every machine, or the service that tells a virtual machine its secrets.
 */
export type AddressClass = "public" | "near" | "forbidden";

type Subnet = readonly [address: string, bits: number];

/** Link-local addresses hold the metadata service of most clouds; the single ones are those of others. */
const FORBIDDEN: readonly Subnet[] = [
  ...([
    ["0.0.0.0", 8],
    ["169.254.0.0", 16],
    ["224.0.0.0", 4],
    ["240.0.0.0", 4],
  ] as const),
  ...([
    ["100.100.100.200", 32],
    ["192.0.0.192", 32],
    ["168.63.129.16", 32],
  ] as const),
  ...([
    ["::", 128],
    ["fe80::", 10],
    ["ff00::", 8],
    ["fd00:ec2::254", 128],
    ["fd20:ce::254", 128],
  ] as const),
];

/** Loopback, private and special networks, and IPv6 addresses that wrap one of IPv4. */
const NEAR: readonly Subnet[] = [
  ...([
    ["127.0.0.0", 8],
    ["10.0.0.0", 8],
    ["172.16.0.0", 12],
    ["192.168.0.0", 16],
  ] as const),
  ...([
    ["100.64.0.0", 10],
    ["192.0.0.0", 24],
    ["192.0.2.0", 24],
    ["198.18.0.0", 15],
  ] as const),
  ...([
    ["198.51.100.0", 24],
    ["203.0.113.0", 24],
    ["192.88.99.0", 24],
  ] as const),
  ...([
    ["::", 96],
    ["fc00::", 7],
    ["fec0::", 10],
    ["64:ff9b::", 96],
    ["64:ff9b:1::", 48],
  ] as const),
  ...([
    ["100::", 64],
    ["2001::", 23],
    ["2001:db8::", 32],
    ["2002::", 16],
  ] as const),
];

/** The addresses of a subnet. An IPv6 address that maps one of IPv4 counts as that one. */
export function subnet(address: string, bits: number): BlockList {
  const list = new BlockList();
  list.addSubnet(address, bits, familyOf(address));
  return list;
}

export function isIn(list: BlockList, address: string): boolean {
  // The kernel may name an interface with an address: fe80::1%eth0.
  const [plain = ""] = address.split("%");
  return list.check(plain, familyOf(plain));
}

let known: { readonly forbidden: BlockList; readonly near: BlockList } | undefined;

export function addressClass(address: string): AddressClass {
  // Made when it is needed: most configs name no address.
  known ??= { forbidden: subnets(FORBIDDEN), near: subnets(NEAR) };
  if (isIn(known.forbidden, address)) return "forbidden";
  return isIn(known.near, address) || isOwn(address) ? "near" : "public";
}

/** Whether it is an address of this machine. */
function isOwn(address: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return own.some((each) => isIn(subnet(each.address, each.family === "IPv6" ? 128 : 32), address));
}

function subnets(all: readonly Subnet[]): BlockList {
  const list = new BlockList();
  for (const [address, bits] of all) list.addSubnet(address, bits, familyOf(address));
  return list;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
