import { nextEffect } from "../../core/commit-machine.ts";
import type { PlanRecord } from "../../core/plan.ts";
import type { AwaitedHost } from "../../core/resource/awaited-host.ts";
import type { TransactionRecord } from "../../core/transaction.ts";
import type { FleetLink } from "../link/fleet-link.ts";
import type { FleetHost } from "../link/hosts.ts";

/** The hosts that have to do something before a transaction ends. `me` has the participants without a host.
 */
export function awaitedHosts(
  record: TransactionRecord,
  {
    me,
    hosts,
    since,
  }: { readonly me: string; readonly hosts: readonly FleetHost[]; readonly since?: string },
): readonly AwaitedHost[] {
  const effect = nextEffect(record);
  const indexes = effect === undefined ? [] : "indexes" in effect ? effect.indexes : [];
  const one = effect !== undefined && "index" in effect ? [effect.index] : [];
  const participants = record.participants.filter((_, index) => [...indexes, ...one].includes(index));
  const byHost = Map.groupBy(participants, ({ ref }) => ref.host ?? me);
  const to = effect?.do === "land" ? "land" : effect?.do === "take-back" ? "take back" : "prepare";
  return [...byHost].map(([host, those]) => {
    const row = hosts.find(({ name }) => name === host);
    return {
      ...{ host, to, resources: those.map(({ resource }) => resource), isUp: row?.isUp === true },
      ...(since !== undefined && { since }),
      ...(row?.since !== undefined && { hostSince: row.since }),
    };
  });
}

/** The hosts of a transaction. `me` has the participants without a host. */
export function hostsOf({ participants }: TransactionRecord, me: string): readonly string[] {
  return participants.map(({ ref }) => ref.host ?? me);
}

/** A sentence on a host that is waited for. */
export function awaitedText({ host, isUp, hostSince }: AwaitedHost): string {
  if (isUp) return `it waits for ${host}, which is up and has not done it yet`;
  return hostSince === undefined
    ? `it waits for ${host}, which was never started`
    : `it waits for ${host}, which is not up since ${hostSince}`;
}

/** The hosts for which a plan waits. */
export async function waitsOf(
  { host, hosts, rows }: FleetLink,
  plan: PlanRecord,
): Promise<readonly AwaitedHost[]> {
  const [open] = await rows.open(plan.id);
  const row = open === undefined ? undefined : await rows.read(open.id);
  if (open === undefined || row === undefined) return [];
  const involved = await hosts.these(hostsOf(row.record, host));
  return awaitedHosts(row.record, { me: host, hosts: involved, since: open.since });
}
