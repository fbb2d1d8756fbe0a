import { escapeLiteral } from "pg";
import { StateError, UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { LentResource } from "../../core/resource/lending.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import { CONTRACT } from "../protocol/call.ts";
import { LEASE_TERMS } from "../protocol/lease.ts";
import {
  type DirectoryState,
  type Registration,
  type RegistrationProblem,
  registered,
  registrationProblem,
} from "../protocol/registration.ts";
import type { PostgresRecords } from "../store/postgres-store.ts";
import { ISO } from "./transaction-rows.ts";

/** A host as the database knows it. */
export interface FleetHost {
  readonly name: string;
  /** Whether its service runs, as far as its lease says. */
  readonly isUp: boolean;
  /** Since when its service runs, or since when nothing was heard of it; absent: it never ran. */
  readonly since?: string;
  readonly isDrained: boolean;
  readonly drydock: string;
  readonly contract: number;
  readonly lend: readonly LentResource[];
  readonly epoch: number;
  readonly start?: string;
  /** How many calls wait for it, or run there. */
  readonly waiting: number;
}

const POINTS = {
  join: failpoint("host.join"),
  register: failpoint("host.register"),
  lease: failpoint("host.lease"),
  renew: failpoint("host.renew"),
  leave: failpoint("host.leave"),
  drain: failpoint("host.drain"),
  remove: failpoint("host.remove"),
};
const text = escapeLiteral;
/** How many hosts an error names. */
const MOST_NAMED = 10;
const LEASE = `clock_timestamp() + interval '${LEASE_TERMS.lengthMs} ms'`;

/** The hosts of a fleet in its database: names, starts and leases. */
export class Hosts {
  readonly #records: PostgresRecords;

  constructor(records: PostgresRecords) {
    this.#records = records;
  }

  /** Gives a name to a state directory, unless another one has it. Returns the epoch of its lease. */
  async join(name: string, directory: string): Promise<number> {
    passFailpoint(POINTS.join);
    const [[owner, epoch] = []] = await this.#records.run(
      `INSERT INTO hosts (name, directory) SELECT ${text(name)}, ${text(directory)}
        WHERE NOT EXISTS (SELECT FROM hosts WHERE name = ${text(name)}) ON CONFLICT DO NOTHING`,
      `SELECT directory, epoch FROM hosts WHERE name = ${text(name)}`,
    );
    if (owner === directory) return Number(epoch);
    throw new StateError(
      `The name ${name} belongs to another host of the fleet, or to another state directory.`,
      {
        hint: "Give this host another name (fleet.host in drydock.yaml), or, if the other one is gone for good, remove it from the fleet on another host.",
        code: "HOST_NAME_TAKEN",
      },
    );
  }

  /** Starts a host from its directory, as the next link of its starts. */
  async register(
    name: string,
    state: DirectoryState,
    facts: { readonly drydock: string; readonly lend: readonly LentResource[] },
  ): Promise<Registration | RegistrationProblem> {
    for (;;) {
      passFailpoint(POINTS.register);
      const known = await this.#registration(name);
      const problem = registrationProblem(known.registration, state);
      if (problem !== undefined) return problem;
      const now = registered(state);
      const rows = await this.#records.run(
        `UPDATE hosts SET start = ${text(now.start)}, notes = greatest(notes, ${now.notes}),
          started_at = clock_timestamp(), drydock = ${text(facts.drydock)}, contract = ${CONTRACT},
          lend = ${text(JSON.stringify(facts.lend))}
          WHERE name = ${text(name)} AND directory = ${text(state.directory)}
          AND (start IS NOT DISTINCT FROM ${known.start === null ? "NULL" : text(known.start)}
            OR start = ${text(now.start)}) AND notes <= ${now.notes} RETURNING name`,
      );
      if (rows.length > 0) return now;
    }
  }

  async #registration(
    name: string,
  ): Promise<{ readonly registration: Registration | undefined; readonly start: string | null }> {
    const [[directory, start = null, notes] = []] = await this.#records.run(
      `SELECT directory, start, notes FROM hosts WHERE name = ${text(name)}`,
    );
    if (directory === undefined || directory === null) throw gone(name);
    const registration = start === null ? undefined : { directory, start, notes: Number(notes) };
    return { registration, start };
  }

  /** Takes the lease anew; undefined, with the epoch it is in, if that is not the one before. */
  async takeLease(
    name: string,
    from: Registration,
    follows: number,
  ): Promise<{ readonly isTaken: boolean; readonly epoch: number }> {
    passFailpoint(POINTS.lease);
    const [[epoch] = []] = await this.#records.run(
      `UPDATE hosts SET epoch = epoch + 1, until = ${LEASE}
        WHERE ${is(name, from)} AND epoch = ${follows} RETURNING epoch`,
    );
    if (epoch !== undefined) return { isTaken: true, epoch: Number(epoch) };
    const [[now] = []] = await this.#records.run(`SELECT epoch FROM hosts WHERE ${is(name, from)}`);
    if (now === undefined) throw gone(name);
    return { isTaken: false, epoch: Number(now) };
  }

  /** Prolongs the lease; false if it has run out or was taken since. */
  async renewLease(name: string, from: Registration, epoch: number): Promise<boolean> {
    passFailpoint(POINTS.renew);
    const rows = await this.#records.run(
      `UPDATE hosts SET until = ${LEASE} WHERE ${is(name, from)} AND epoch = ${epoch}
        AND until > clock_timestamp() RETURNING epoch`,
    );
    return rows.length > 0;
  }

  /** A host that ends says so: others need not wait for its lease to run out. */
  async leave(name: string, epoch: number): Promise<void> {
    passFailpoint(POINTS.leave);
    await this.#records.run(
      `UPDATE hosts SET until = clock_timestamp() WHERE name = ${text(name)} AND epoch = ${epoch}
        AND until > clock_timestamp()`,
    );
  }

  async all(): Promise<readonly FleetHost[]> {
    return (await this.#records.run(`SELECT ${HOST} FROM hosts h ORDER BY name`)).map(hostFrom);
  }

  /** Those of these hosts that there are. */
  async these(names: readonly string[]): Promise<readonly FleetHost[]> {
    const list = [...new Set(names)].map(text).join(", ");
    return (await this.#records.run(`SELECT ${HOST} FROM hosts h WHERE name IN (${list})`)).map(hostFrom);
  }

  async one(name: string): Promise<FleetHost> {
    const [row] = await this.#records.run(`SELECT ${HOST} FROM hosts h WHERE name = ${text(name)}`);
    if (row !== undefined) return hostFrom(row);
    const names = await this.#records.run(`SELECT name FROM hosts ORDER BY name LIMIT ${MOST_NAMED + 1}`);
    const named = names.slice(0, MOST_NAMED).join(", ");
    throw new UsageError(`There is no host called '${displayPath(name)}' in the fleet.`, {
      hint: `Its hosts are ${named}${names.length > MOST_NAMED ? " and others" : ""}. A host joins when its service starts.`,
      code: "UNKNOWN_HOST",
    });
  }

  /** A drained host gets no new sandboxes; what it has goes on. */
  async drain(name: string, isDrained: boolean): Promise<void> {
    passFailpoint(POINTS.drain);
    await this.#records.run(`UPDATE hosts SET is_drained = ${isDrained} WHERE name = ${text(name)}`);
  }

  /** Forgets a host that is gone for good, with the claims of its processes. */
  async remove(name: string): Promise<void> {
    passFailpoint(POINTS.remove);
    await this.#records.run(
      `DELETE FROM claims WHERE host = ${text(name)} AND transaction IS NULL
        AND NOT EXISTS (SELECT FROM hosts WHERE name = ${text(name)} AND until > clock_timestamp())`,
      `DELETE FROM hosts WHERE name = ${text(name)}
        AND (until IS NULL OR until < clock_timestamp())`,
    );
  }
}

const HOST = `name, coalesce(until > clock_timestamp(), false),
  CASE WHEN until > clock_timestamp() THEN ${ISO("started_at")} ELSE ${ISO("until")} END,
  is_drained, drydock, contract, lend, epoch, start,
  (SELECT count(*) FROM calls c WHERE c.host = h.name AND c.state IN ('queued', 'taken')
    AND c.deadline > clock_timestamp())`;

function hostFrom(row: readonly (string | null)[]): FleetHost {
  const [name, isUp, since, isDrained, drydock, contract, lend, epoch, start, waiting] = row;
  return {
    name: name ?? "",
    isUp: isUp === "t",
    ...(typeof since === "string" && { since }),
    isDrained: isDrained === "t",
    drydock: drydock ?? "",
    contract: Number(contract),
    lend: JSON.parse(lend ?? "[]") as readonly LentResource[],
    epoch: Number(epoch),
    ...(typeof start === "string" && { start }),
    waiting: Number(waiting),
  };
}

/** The row of a host, if these are the words of its last start. */
export function is(name: string, { directory, start }: Registration): string {
  return `name = ${text(name)} AND directory = ${text(directory)} AND start = ${text(start)}`;
}

function gone(name: string): StateError {
  return new StateError(
    `This is not the last start of the host ${name}: it was started elsewhere, or removed.`,
    {
      hint: "Look at the list of hosts.",
      code: "HOST_NAME_TAKEN",
    },
  );
}
