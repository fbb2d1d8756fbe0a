import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { FleetSettings } from "../../config/settings.ts";
import { DrydockError, StateError, UsageError } from "../../core/errors/errors.ts";
import { splitSecret } from "../../core/resource/secret-url.ts";
import { SERVER_DOWN } from "../../database/server/server-errors.ts";
import { failpoint } from "../../system/failpoints.ts";
import { ensureStateFolder } from "../../system/state/state-folder.ts";
import { hasStateIdentity, recordStateIdentity } from "../../system/state/state-identity.ts";
import { Bell } from "../store/bell.ts";
import { FleetStore } from "../store/fleet-store.ts";
import { HostDirectory } from "../store/host-directory.ts";
import { HostView } from "../store/host-view.ts";
import { openPostgresRecords, type PostgresRecords } from "../store/postgres-store.ts";
import { CallQueue } from "./call-queue.ts";
import { Hosts } from "./hosts.ts";
import { TransactionRows } from "./transaction-rows.ts";

const FOLDER = failpoint("fleet.folder");
/** The database of a fleet answers within this time, or counts as out of reach. */
const PATIENCE_MS = 4_000;

/**
 * The connection of one process to the database of its fleet, in the name of its host. It is closed with its
 * store.
 */
export interface FleetLink {
  readonly host: string;
  /** This process in the database, for its answers. */
  readonly process: string;
  readonly settings: FleetSettings;
  readonly stateDir: string;
  readonly view: HostView;
  readonly directory: HostDirectory;
  readonly records: PostgresRecords;
  readonly store: FleetStore;
  readonly rows: TransactionRows;
  readonly hosts: Hosts;
  readonly queue: CallQueue;
  readonly bell: Bell;
}

/** Connects a process to its fleet. `isService`: it is the service of its host. */
export async function openFleetLink(
  settings: FleetSettings,
  stateDir: string,
  isService: boolean,
): Promise<FleetLink> {
  const host = settings.host ?? ownName();
  ensureStateFolder(FOLDER, stateDir);
  if (!hasStateIdentity(stateDir)) recordStateIdentity(FOLDER, stateDir);
  const { location, secret } = splitSecret(settings.database);
  const view = new HostView(host);
  const process = randomUUID();
  const bell = new Bell(isService ? [host, process] : [process]);
  const directory = new HostDirectory(stateDir);
  try {
    const records = await openPostgresRecords({ location, secret, patienceMs: PATIENCE_MS }, view, bell);
    const hosts = new Hosts(records);
    const link: FleetLink = {
      ...{ host, process, settings, stateDir, view, directory, records, hosts, bell },
      store: new FleetStore(records, isService, () => directory.close()),
      rows: new TransactionRows(records),
      queue: new CallQueue(records),
    };
    try {
      view.epoch = await hosts.join(host, directory.id);
    } catch (thrown) {
      records.close();
      throw thrown;
    }
    return link;
  } catch (thrown) {
    directory.close();
    if (!(thrown instanceof DrydockError && thrown.code === SERVER_DOWN)) throw thrown;
    throw new StateError(thrown.message, {
      hint: "Check that it is running, and that its URL is right. Plans of this machine alone go on with --local.",
      code: SERVER_DOWN,
      cause: thrown,
    });
  }
}

function ownName(): string {
  const name = hostname().split(".")[0] ?? "";
  if (/^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(name)) return name;
  throw new UsageError(`The name of this machine, '${name}', can't be that of a host of a fleet.`, {
    hint: "Name it by fleet.host in drydock.yaml: letters, digits, dots and dashes.",
  });
}
