import { calls, check } from "../calls/native.ts";
import { launchCalls } from "./calls.ts";

const CLONE_NEWNET = 0x4000_0000;
const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const SIOCSIFFLAGS = 0x8914;
const IFF_UP = 1;
const FLAGS_AT = 16;
const BACKLOG = 512;
const LABEL = "the loopback";
const LOOPBACK = [127, 0, 0, 1];

/** Gives this process a network of its own, which has only a loopback. */
export function makeOwnNetwork(): void {
  check(launchCalls.unshare(CLONE_NEWNET), "unshare", "a new network");
  const socket = check(launchCalls.socket(AF_INET, SOCK_DGRAM, 0), "socket", LABEL);
  // struct ifreq: a name, then the flags.
  const request = Buffer.alloc(40);
  request.write("lo");
  request.writeUInt16LE(IFF_UP, FLAGS_AT);
  check(calls.ioctlBuffer(socket, SIOCSIFFLAGS, request), "ioctl", LABEL);
  calls.close(socket);
}

/** A socket of this network. Whichever process has it, it stays in this network. */
export function newSocket(version: 4 | 6): number {
  const family = version === 4 ? AF_INET : AF_INET6;
  return check(launchCalls.socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket", LABEL);
}

/** A socket that listens at a port of the loopback; 0 is any. */
export function listenAt(port: number): number {
  const socket = newSocket(4);
  // struct sockaddr_in: the family, then port and address with their most significant byte first.
  const address = Buffer.alloc(16);
  address.writeUInt16LE(AF_INET, 0);
  address.writeUInt16BE(port, 2);
  address.set(LOOPBACK, 4);
  check(launchCalls.bind(socket, address, address.length), "bind", LABEL);
  check(launchCalls.listen(socket, BACKLOG), "listen", LABEL);
  return socket;
}
