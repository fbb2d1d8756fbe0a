import { readFileSync } from "node:fs";

const CAP_SYS_ADMIN = 21n;
const CAP_WAKE_ALARM = 35n;
/** All ids mapped to themselves: the initial user namespace, which owns the machine. */
const WHOLE_MACHINE = /^\s*0\s+0\s+4294967295\s*$/;

/** By effective user id: changing that is the only way for Node to give up rights. */
const known = new Map<number, boolean>();

/**
 * Whether this process may mount freely on the machine. Root of a container often may not: it has fewer
 * rights, or is root of a user namespace only, where mounts from outside are locked together.
 */
export function mayMountOnMachine(): boolean {
  const user = process.geteuid?.() ?? 0;
  const answer = known.get(user) ?? (user === 0 && isRootOfMachine());
  known.set(user, answer);
  return answer;
}

function isRootOfMachine(): boolean {
  if (!WHOLE_MACHINE.test(readFileSync("/proc/self/uid_map", "latin1"))) return false;
  return hasCapability(CAP_SYS_ADMIN);
}

function hasCapability(number: bigint): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1] ?? "0";
  return ((BigInt(`0x${effective}`) >> number) & 1n) === 1n;
}

/**
 * A capability of this root that a command can do without. Root of a container lacks the one that no command
 * misses.
 */
export function spareCapability(): "wake_alarm" | "sys_chroot" {
  return hasCapability(CAP_WAKE_ALARM) ? "wake_alarm" : "sys_chroot";
}
