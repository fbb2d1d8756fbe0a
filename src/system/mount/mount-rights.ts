import { readFileSync, readlinkSync } from "node:fs";
import { currentBootId } from "../process/process-identity.ts";
import { namespaceSettings } from "./namespaces.ts";

/** The lines of /proc/self/status that say what a process may do: its ids, capabilities and filters. */
const RIGHTS = /^(?:Uid|Gid|CapEff|CapBnd|NoNewPrivs|Seccomp):.*$/gm;

/**
 * Everything on which it depends whether this process may mount, as a text: this boot, the namespaces, rights
 * and security label of the process, and the settings of the machine. Two processes with the same text may
 * mount the same.
 */
export function mountRights(): string {
  return [
    currentBootId(),
    ...["user", "mnt"].map((kind) => readlinkSync(`/proc/self/ns/${kind}`)),
    ...(readFileSync("/proc/self/status", "latin1").match(RIGHTS) ?? []),
    securityLabel(),
    ...namespaceSettings(),
  ].join("\n");
}

/** Kernels without a security module refuse to read it. */
function securityLabel(): string {
  try {
    return readFileSync("/proc/self/attr/current", "latin1");
  } catch {
    return "";
  }
}
