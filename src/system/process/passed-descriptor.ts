import { check, lazyCalls, PinnedBuffer } from "../calls/native.ts";

/** Passes descriptors to another process through a pair of sockets. */
const passing = lazyCalls({
  socketpair: "int socketpair(int family, int type, int protocol, void *pair)",
  sendmsg: "long sendmsg(int fd, const void *message, int flags)",
  recvmsg: "long recvmsg(int fd, void *message, int flags)",
  recv: "long recv(int fd, void *buffer, size_t size, int flags)",
});
const AF_UNIX = 1;
const SOCK_SEQPACKET_CLOEXEC = 5 | 0o2000000;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const MSG_DONTWAIT = 0x40;
const MSG_CMSG_CLOEXEC = 0x4000_0000;
const LABEL = "a passed descriptor";

/** A pair of connected sockets. */
export function socketPair(): readonly [number, number] {
  const pair = Buffer.alloc(8);
  check(passing.socketpair(AF_UNIX, SOCK_SEQPACKET_CLOEXEC, 0, pair), "socketpair", LABEL);
  return [pair.readInt32LE(0), pair.readInt32LE(4)];
}

export function passDescriptor(socket: number, fd: number): void {
  const message = newMessage(fd);
  check(passing.sendmsg(socket, message.bytes, 0), "sendmsg", LABEL);
}

/** Receives the next descriptor, which must have been sent already. */
export function takeDescriptor(socket: number): number {
  const message = newMessage(-1);
  check(passing.recvmsg(socket, message.bytes, MSG_DONTWAIT | MSG_CMSG_CLOEXEC), "recvmsg", LABEL);
  return message.bytes.readInt32LE(DESCRIPTOR);
}

/** The next message, if one has been sent; no more than this many bytes of it. */
export function receiveText(socket: number, most = 4096): string | undefined {
  const bytes = Buffer.alloc(most);
  const length = Number(passing.recv(socket, bytes, most, MSG_DONTWAIT));
  return length <= 0 ? undefined : bytes.toString("utf8", 0, length);
}

const HEADER = 56;
const VECTOR = HEADER;
const CONTROL = VECTOR + 16;
const DESCRIPTOR = CONTROL + 16;
const BYTE = CONTROL + 24;

/** struct msghdr with one byte of data and one descriptor, all in one buffer. */
function newMessage(fd: number): PinnedBuffer {
  const message = new PinnedBuffer(BYTE + 8);
  const { bytes, address } = message;
  const pointer = (at: number, to: number) => bytes.writeBigUInt64LE(BigInt(address + to), at);
  bytes.fill(0);
  pointer(16, VECTOR);
  bytes.writeBigUInt64LE(1n, 24);
  pointer(32, CONTROL);
  bytes.writeBigUInt64LE(24n, 40);
  pointer(VECTOR, BYTE);
  bytes.writeBigUInt64LE(1n, VECTOR + 8);
  bytes.writeBigUInt64LE(20n, CONTROL);
  bytes.writeInt32LE(SOL_SOCKET, CONTROL + 8);
  bytes.writeInt32LE(SCM_RIGHTS, CONTROL + 12);
  bytes.writeInt32LE(fd, DESCRIPTOR);
  return message;
}
