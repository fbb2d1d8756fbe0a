/**
 * The filter of system calls for a command and everything it starts.
 *
 * Capabilities and mounts are the walls. The filter closes the ways around them: injecting input into a
 * terminal; keyrings, which belong to no namespace; new namespaces, in which a command would regain all
 * capabilities; sockets that see foreign packets; and parts of the kernel that no build, test or agent needs
 * and in which most escapes were found.
 *
 * It is a program over `struct seccomp_data`: the number of the call at 0, the processor at 4, the arguments
 * from 16 on, 8 bytes each. The kernel reads only the lower half of an `int` argument, and so does the
 * filter.
 */
export interface FilterOptions {
  /**
   * Whether the command may make a user namespace, without others: the last step of an unprivileged launcher
   * makes one.
   */
  readonly mayNestUsers: boolean;
  /** The calls that a supervisor answers. */
  readonly supervised?: readonly SupervisedCall[];
  /** Without sockets of the network, where the command has no network of its own to be alone in. */
  readonly noNetwork?: boolean;
  /** Without `truncate`, which Landlock bounds only from its third version on. */
  readonly noTruncate?: boolean;
}

/** Numbers for x86-64 and for arm64. */
const NUMBERS = {
  ioctl: [16, 29],
  clone: [56, 220],
  unshare: [272, 97],
  socket: [41, 198],
  socketpair: [53, 199],
  truncate: [76, 45],
  sendto: [44, 206],
  sendmsg: [46, 211],
  sendmmsg: [307, 269],
} as const;

/** Refused as if this user had no permission. */
const REFUSED: readonly (readonly [name: string, x64: number, arm64: number])[] = [
  ["add_key", 248, 217],
  ["request_key", 249, 218],
  ["keyctl", 250, 219],
  ["setns", 308, 268],
  ["mount", 165, 40],
  ["umount2", 166, 39],
  ["pivot_root", 155, 41],
  ["open_tree", 428, 428],
  ["move_mount", 429, 429],
  ["fsopen", 430, 430],
  ["fsconfig", 431, 431],
  ["fsmount", 432, 432],
  ["fspick", 433, 433],
  ["mount_setattr", 442, 442],
  ["open_tree_attr", 467, 467],
  ["open_by_handle_at", 304, 265],
  ["bpf", 321, 280],
  ["perf_event_open", 298, 241],
  ["userfaultfd", 323, 282],
  ["syslog", 103, 116],
  ["vhangup", 153, 58],
  ["acct", 163, 89],
  ["swapon", 167, 224],
  ["swapoff", 168, 225],
  ["reboot", 169, 142],
  ["settimeofday", 164, 170],
  ["clock_settime", 227, 112],
  ["init_module", 175, 105],
  ["finit_module", 313, 273],
  ["delete_module", 176, 106],
  ["kexec_load", 246, 104],
  ["kexec_file_load", 320, 294],
];

/**
 * Calls that a supervisor can get to see (run/call-supervisor/): renames; the one by which a program confines
 * itself further, because the supervisor must not do for it what it may not do itself; and connections.
 */
const SUPERVISED = {
  rename: [82, undefined],
  renameat: [264, 38],
  renameat2: [316, 276],
  landlock_restrict_self: [446, 446],
  connect: [42, 203],
} as const;

export type SupervisedCall = keyof typeof SUPERVISED;

/** The number of such a call on this processor, if it has one. */
export function numberOf(name: SupervisedCall): number | undefined {
  return SUPERVISED[name][process.arch === "x64" ? 0 : 1];
}

/**
 * Refused as if the kernel lacked them; programs then use older calls. clone3 hides its flags, io_uring makes
 * calls past the filter.
 */
const ABSENT = [435, 425, 426, 427];

const PROCESSORS = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
/** On x86-64, numbers from here on are a second table of the same calls (x32). */
const SECOND_TABLE = 0x4000_0000;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const CLONE_NEWUSER = 0x1000_0000;
/** Mounts, control groups, host name, IPC, processes, network. */
const OTHER_NAMESPACES = 0x0002_0000 + 0x0200_0000 + 0x0400_0000 + 0x0800_0000 + 0x2000_0000 + 0x4000_0000;
/** In `clone` this bit is part of the exit signal. */
const CLONE_NEWTIME = 0x80;
/** Unix, and netlink, which reaches only the kernel. */
const LOCAL_FAMILIES = [1, 16];
/** IPv4, and IPv6. */
const NETWORK_FAMILIES = [2, 10];

/** Connects by itself, without `connect`. */
const MSG_FASTOPEN = 0x2000_0000;

const EPERM = 1;
const ENOSYS = 38;
const EOPNOTSUPP = 95;
const EAFNOSUPPORT = 97;

type Instruction = readonly [code: number, yes: number, no: number, value: number];

const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const loadNumber = load(0);
const loadArgument = (index: number): Instruction => load(16 + 8 * index);
const unlessEqual = (value: number, skip: number): Instruction => [0x15, 0, skip, value];
const ifEqual = (value: number, skip: number): Instruction => [0x15, skip, 0, value];
const unlessAtLeast = (value: number, skip: number): Instruction => [0x35, 0, skip, value];
const unlessAnyBit = (value: number, skip: number): Instruction => [0x45, 0, skip, value];
const fail = (errno: number): Instruction => [0x06, 0, 0, 0x0005_0000 + errno];
const allow: Instruction = [0x06, 0, 0, 0x7fff_0000];
const askSupervisor: Instruction = [0x06, 0, 0, 0x7fc0_0000];

/** The instructions, 8 bytes each; undefined on a processor whose call numbers are unknown. */
export function seccompFilter(processor: string, options: FilterOptions): Buffer | undefined {
  if (processor !== "x64" && processor !== "arm64") return undefined;
  const { mayNestUsers, supervised = [], noNetwork = false, noTruncate = false } = options;
  const at = processor === "x64" ? 0 : 1;
  const families = noNetwork ? LOCAL_FAMILIES : [...LOCAL_FAMILIES, ...NETWORK_FAMILIES];
  const namespaces = OTHER_NAMESPACES + (mayNestUsers ? 0 : CLONE_NEWUSER);
  return encoded([
    load(4),
    ifEqual(PROCESSORS[processor], 1),
    fail(ENOSYS),
    loadNumber,
    unlessAtLeast(SECOND_TABLE, 1),
    fail(ENOSYS),
    ...ABSENT.flatMap((number) => [unlessEqual(number, 1), fail(ENOSYS)]),
    ...REFUSED.flatMap(([, ...numbers]) => [unlessEqual(numbers[at] ?? 0, 1), fail(EPERM)]),
    ...supervised.flatMap((name) => asked(SUPERVISED[name][at])),
    ...(noTruncate ? [unlessEqual(NUMBERS.truncate[at], 1), fail(EPERM)] : []),
    ...about(NUMBERS.ioctl[at], 1, [
      unlessEqual(TIOCSTI, 1),
      fail(EPERM),
      unlessEqual(TIOCLINUX, 1),
      fail(EPERM),
    ]),
    ...about(NUMBERS.unshare[at], 0, [unlessAnyBit(namespaces + CLONE_NEWTIME, 1), fail(EPERM)]),
    ...about(NUMBERS.clone[at], 0, [unlessAnyBit(OTHER_NAMESPACES + CLONE_NEWUSER, 1), fail(EPERM)]),
    ...(supervised.includes("connect") ? withoutFastOpen(at) : []),
    ...about(NUMBERS.socket[at], 0, only(families)),
    ...about(NUMBERS.socketpair[at], 0, only(families)),
    allow,
  ]);
}

/** Checks one argument of one call, and allows what no check refuses. */
function about(number: number, argument: number, checks: readonly Instruction[]): readonly Instruction[] {
  return [unlessEqual(number, checks.length + 2), loadArgument(argument), ...checks, allow];
}

/** The kernel's answer where this is switched off; programs then connect first. */
function withoutFastOpen(at: 0 | 1): readonly Instruction[] {
  const { sendto, sendmsg, sendmmsg } = NUMBERS;
  const checks = [unlessAnyBit(MSG_FASTOPEN, 1), fail(EOPNOTSUPP)];
  return [
    ...about(sendto[at], 3, checks),
    ...about(sendmsg[at], 2, checks),
    ...about(sendmmsg[at], 3, checks),
  ];
}

function asked(number: number | undefined): readonly Instruction[] {
  return number === undefined ? [] : [unlessEqual(number, 1), askSupervisor];
}

function only(families: readonly number[]): readonly Instruction[] {
  return [...families.map((family, index) => ifEqual(family, families.length - index)), fail(EAFNOSUPPORT)];
}

function encoded(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, yes, no, value], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(yes, index * 8 + 2);
    bytes.writeUInt8(no, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  });
  return bytes;
}
