import { readFileSync } from "node:fs";
import { calls, check, PinnedBuffer } from "../calls/native.ts";
import { LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF, launchCalls } from "./calls.ts";
import { type FilterOptions, seccompFilter } from "./seccomp-filter.ts";

const PR_SET_PDEATHSIG = 1;
const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
const SIGKILL = 9;
const CAPABILITY_VERSION_3 = 0x2008_0522;
const SECCOMP = process.arch === "arm64" ? 277 : 317;
const SECCOMP_SET_MODE_FILTER = 1;
const NEW_LISTENER = 8;
/** A caller whose call was received can only be killed, not interrupted (Linux 5.19 or later). */
const WAIT_KILLABLE = 32;
const LANDLOCK_CREATE_RULESET_VERSION = 1;
const LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET = 1;
/** The first version of Landlock that has scopes. */
const VERSION_WITH_SCOPES = 6;

/** Capabilities by their numbers. */
const CAPABILITIES = {
  chown: 0,
  dac_override: 1,
  fowner: 3,
  fsetid: 4,
  kill: 5,
  setgid: 6,
  setuid: 7,
  setpcap: 8,
  net_bind_service: 10,
  sys_chroot: 18,
  sys_ptrace: 19,
  mknod: 27,
  audit_write: 29,
  setfcap: 31,
  wake_alarm: 35,
} as const;

export type Capability = keyof typeof CAPABILITIES;

/**
 * Gives up every capability but these, for this process and its descendants. No program regains one:
 * no_new_privs disables set-id bits and file capabilities.
 */
export function keepOnly(kept: readonly Capability[]): void {
  prctl("no_new_privs", PR_SET_NO_NEW_PRIVS, 1);
  prctl("capabilities", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL);
  const own = permitted();
  const numbers = new Set(kept.map((name) => CAPABILITIES[name] as number).filter((each) => own.has(each)));
  for (let number = 0; number < 64; number += 1)
    // The kernel does not know this number, so the list ends here.
    if (!numbers.has(number) && launchCalls.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) !== 0) break;
  setCapabilities([...numbers].reduce((set, number) => set | (1n << BigInt(number)), 0n));
  // The kernel resets this when credentials change, so it comes last.
  dieWithParent();
}

/** This process, and the program that it becomes, are killed when their parent ends. */
export function dieWithParent(): void {
  prctl("pdeathsig", PR_SET_PDEATHSIG, SIGKILL);
}

/** The capabilities of this process. Root of a container lacks most. */
function permitted(): ReadonlySet<number> {
  const found = /^CapPrm:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1] ?? "0";
  const set = BigInt(`0x${found}`);
  return new Set(Array.from({ length: 64 }, (_, at) => at).filter((at) => ((set >> BigInt(at)) & 1n) === 1n));
}

function setCapabilities(set: bigint): void {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(CAPABILITY_VERSION_3, 0);
  // Effective, permitted, inheritable: the lower halves of all three, then the upper ones.
  const data = Buffer.alloc(24);
  for (const [at, half] of [[0, set & 0xffff_ffffn] as const, [12, set >> 32n] as const]) {
    data.writeUInt32LE(Number(half), at);
    data.writeUInt32LE(Number(half), at + 4);
  }
  check(launchCalls.capset(header, data), "capset", "this process");
}

/** Installs the filter of system calls, see seccomp-filter.ts. */
export function filterCalls(options: FilterOptions): void {
  check(installFilter(options, 0), "seccomp", "this process");
}

/**
 * The same with a supervisor, and returns the descriptor by which it listens; undefined if there can't be
 * one, because an outer filter of this process has one. Then nothing is installed.
 */
export function filterSupervisedCalls(options: FilterOptions): number | undefined {
  for (const flags of [NEW_LISTENER | WAIT_KILLABLE, NEW_LISTENER]) {
    const listener = installFilter(options, flags);
    if (listener >= 0) return listener;
  }
  return undefined;
}

function installFilter(options: FilterOptions, flags: number): number {
  const filter = seccompFilter(process.arch, options);
  if (filter === undefined) throw new Error(`there is no filter of system calls for ${process.arch} yet`);
  const program = new PinnedBuffer(16 + filter.length);
  program.bytes.fill(0, 0, 16).writeUInt16LE(filter.length / 8, 0);
  program.bytes.writeBigUInt64LE(BigInt(program.address + 16), 8);
  filter.copy(program.bytes, 16);
  return launchCalls.seccomp(SECCOMP, SECCOMP_SET_MODE_FILTER, flags, program.bytes);
}

/** Blocks abstract sockets of processes outside, where the kernel can (Linux 6.12 or later). */
export function leaveAbstractSockets(): void {
  const version = launchCalls.landlockCreate(
    LANDLOCK_CREATE_RULESET,
    null,
    0,
    LANDLOCK_CREATE_RULESET_VERSION,
  );
  if (version < VERSION_WITH_SCOPES) return;
  // Rights over files, over the network, scopes.
  const attributes = Buffer.alloc(24);
  attributes.writeBigUInt64LE(BigInt(LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET), 16);
  const created = launchCalls.landlockCreate(LANDLOCK_CREATE_RULESET, attributes, attributes.length, 0);
  const ruleset = check(created, "landlock", "this process");
  check(launchCalls.landlockRestrict(LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock", "this process");
  calls.close(ruleset);
}

function prctl(label: string, option: number, value: number): void {
  check(launchCalls.prctl(option, value, 0, 0, 0), "prctl", label);
}
