import { UsageError } from "../../core/errors/errors.ts";
import type { PolicyLine } from "../../core/values/run-policy.ts";
import { type PublishedPort, parsePublishedPort } from "../../system/network/published-port.ts";
import type { NetworkInForce } from "./network-policy.ts";

/** A published port, and the line that says so. */
export interface PortLine extends PublishedPort {
  readonly from: string;
}

/** The ports that lead to a command: those of the policy, and those that the user names for this command. */
export function portsInForce(
  { mode }: NetworkInForce,
  policy: readonly PolicyLine[],
  asked: readonly string[] = [],
): readonly PortLine[] {
  if (mode !== "open") {
    const lines = [...policy, ...asked.map((value) => ({ value, from: "--publish" }))];
    return lines.map(({ value, from }) => ({ ...parsePublishedPort(value), from }));
  }
  if (asked.length === 0) return [];
  throw new UsageError("The command uses this machine's network: its servers need no published port.", {
    hint: "Reach it at its own port, or run it with --network none or --network allow=NAME.",
  });
}
