import koffi from "koffi";

/**
 * Loaded before a program (`node --import`), makes the kernel answer it as one would that does not have
 * listxattrat and getxattrat yet: "not known", ENOSYS. By a filter of system calls (seccomp), of the process
 * and of what it starts.
 */
const NEW_CALLS = [464, 465];
const ENOSYS = 38;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_SET_SECCOMP = 22;
const SECCOMP_MODE_FILTER = 2;
const BPF = { loadWord: 0x20, jumpIfEqual: 0x15, return: 0x06 } as const;
const ALLOW = 0x7fff0000;
const FAIL_WITH = 0x00050000;

/**
 * struct sock_filter: what to do, 16 bits; how many to skip if so, and if not, 8 bits each; a number, 32
 * bits.
 */
function step(code: number, ifSo: number, ifNot: number, number: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifSo, 2);
  bytes.writeUInt8(ifNot, 3);
  bytes.writeUInt32LE(number, 4);
  return bytes;
}

const steps = [
  step(BPF.loadWord, 0, 0, 0),
  ...NEW_CALLS.map((call, at) => step(BPF.jumpIfEqual, NEW_CALLS.length - at, 0, call)),
  step(BPF.return, 0, 0, ALLOW),
  step(BPF.return, 0, 0, FAIL_WITH | ENOSYS),
];
const filter = Buffer.concat(steps);
const program = Buffer.alloc(16);
program.writeUInt16LE(steps.length, 0);
program.writeBigUInt64LE(BigInt(koffi.address(filter)), 8);

const prctl = koffi.load(null).func("int prctl(int option, ulong a, void *b, ulong c, ulong d)");
if (
  prctl(PR_SET_NO_NEW_PRIVS, 1, null, 0, 0) !== 0 ||
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) !== 0
)
  throw new Error(`No filter of system calls could be set (errno ${koffi.errno()}).`);
