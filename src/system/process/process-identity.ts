import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { Owner } from "../../core/owner.ts";
import { randomBytes } from "../random-bytes.ts";
import { statFields } from "./processes.ts";

let bootId: string | undefined;

/** The id of this boot of this machine. */
export function currentBootId(): string {
  bootId ??= readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return bootId;
}

/** This process, as other processes can identify it. */
export function currentOwner(command: string): Owner {
  return identityOf(process.pid, command);
}

export function newOwnerId(): string {
  return randomBytes(12).toString("hex");
}

/** A process of this machine, as other processes can identify it. */
export function identityOf(pid: number, command: string): Owner {
  return {
    id: newOwnerId(),
    host: hostname(),
    bootId: currentBootId(),
    pid,
    startTime: startTimeOf(pid) ?? "0",
    command,
  };
}

/**
 * Whether that very process is still running on this machine. A zombie is not: it holds and does nothing,
 * although kill(pid, 0) succeeds. A process of another host can't be checked from here and counts as alive.
 */
export function isProcessAlive(owner: Owner): boolean {
  if (owner.host !== hostname()) return true;
  return owner.bootId === currentBootId() && startTimeOf(owner.pid) === owner.startTime;
}

/** When the process started, in ticks since boot; undefined if it is gone or a zombie. */
export function startTimeOf(pid: number): string | undefined {
  const fields = statFields(pid);
  return fields?.[0] === "Z" || fields?.[0] === "X" ? undefined : fields?.[19];
}
