import type { FleetLink } from "../link/fleet-link.ts";
import type { FleetHost } from "../link/hosts.ts";
import { CONTRACT } from "../protocol/call.ts";

/** What is looked at in a fleet, and whether it is as it should be. */
export interface FleetCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** What keeps a commit: a fleet's decisions are as durable as its database. */
const DURABLE = ["fsync", "full_page_writes", "synchronous_commit"] as const;

/** What a fleet has and lacks, as this host sees it. */
export async function fleetChecks(link: FleetLink): Promise<readonly FleetCheck[]> {
  const hosts = await link.hosts.all();
  return [ownService(link.host, hosts), otherHosts(link.host, hosts), await database(link)];
}

function ownService(name: string, hosts: readonly FleetHost[]): FleetCheck {
  const isUp = hosts.find((host) => host.name === name)?.isUp === true;
  const detail = isUp
    ? `the service of this host, ${name}, is up`
    : `the service of this host, ${name}, is not up, and plans over hosts need it`;
  return { name: "fleet", ok: isUp, detail };
}

function otherHosts(own: string, hosts: readonly FleetHost[]): FleetCheck {
  const others = hosts.filter(({ name }) => name !== own);
  const lacks = others.flatMap(({ name, isUp, since, contract }) => {
    if (!isUp) return [`${name} is not up${since === undefined ? "" : ` since ${since}`}`];
    return contract === CONTRACT ? [] : [`${name} has a Drydock that does not understand this one`];
  });
  const all = others.length === 1 ? "the other host is up" : `all ${others.length} other hosts are up`;
  return { name: "fleet hosts", ok: lacks.length === 0, detail: lacks.length === 0 ? all : lacks.join("; ") };
}

async function database({ records }: FleetLink): Promise<FleetCheck> {
  const [[version, standbys, unseen, late, ...settings] = []] = await records.run(
    `SELECT current_setting('server_version'), (SELECT count(*) FROM pg_stat_replication),
      (SELECT count(*) FROM pg_stat_replication WHERE sync_state IS NULL),
      (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('async', 'potential')),
      ${DURABLE.map((name) => `(SELECT reset_val FROM pg_settings WHERE name = '${name}')`).join(", ")}`,
  );
  const lacks = DURABLE.filter((_, at) => settings[at] === "off").map(
    (name) => `${name} is off, so a crash of its machine can lose decisions`,
  );
  if (unseen !== "0")
    lacks.push(
      "it has a standby, and its user may not see whether that is synchronous (GRANT pg_read_all_stats to it)",
    );
  const isLocal = settings[DURABLE.indexOf("synchronous_commit")] === "local";
  if (late !== "0" || (standbys !== "0" && isLocal))
    lacks.push("a standby of it is not synchronous: a failover to it can lose decisions");
  const detail = lacks.length === 0 ? `PostgreSQL ${version}` : `PostgreSQL ${version}: ${lacks.join("; ")}`;
  return { name: "fleet database", ok: lacks.length === 0, detail };
}
