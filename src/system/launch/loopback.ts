import { calls, check } from "../calls/native.ts";
import { launchCalls } from "./calls.ts";

const AF_INET = 2;
const SOCK_DGRAM = 2;
const SIOCSIFFLAGS = 0x8914;
const IFF_UP = 1;
const FLAGS_AT = 16;
const LABEL = "the loopback";

/** Brings up the loopback of a new network namespace. */
export function raiseLoopback(): void {
  const socket = check(launchCalls.socket(AF_INET, SOCK_DGRAM, 0), "socket", LABEL);
  // struct ifreq: a name, then the flags.
  const request = Buffer.alloc(40);
  request.write("lo");
  request.writeUInt16LE(IFF_UP, FLAGS_AT);
  check(calls.ioctlBuffer(socket, SIOCSIFFLAGS, request), "ioctl", LABEL);
  calls.close(socket);
}
