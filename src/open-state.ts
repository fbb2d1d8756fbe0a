import { join } from "node:path";
import { nearestConfig } from "./config/nearest-config.ts";
import { DEFAULT_SETTINGS, type Settings } from "./config/settings.ts";
import type { TrustStore } from "./config/trust/trust.ts";
import type { Notice } from "./core/values/notice.ts";
import type { FleetLink } from "./fleet/link/fleet-link.ts";
import type { ServicesOptions } from "./services.ts";
import { openSqliteStore } from "./store/sqlite-store.ts";
import type { Store } from "./store/store.ts";
import { stateDirOf } from "./system/state/state-dir.ts";

/** Where a process is, and when. */
export interface Surroundings {
  readonly cwd: string;
  readonly now: () => Date;
  readonly environment: NonNullable<ServicesOptions["environment"]>;
}

/** A state directory with its store, and the settings in force. */
export interface OpenedState {
  readonly settings: Settings;
  readonly stateDir: string;
  readonly store: Store;
  readonly fleet: FleetLink | undefined;
  /** The configs that the user trusts. */
  readonly trusted: () => Promise<TrustStore>;
}

/** Reads the config, and opens the state that it leads to: of this machine, or of its fleet. */
export async function openState(options: ServicesOptions, around: Surroundings): Promise<OpenedState> {
  const { cwd, now, environment } = around;
  const ownStateDir = stateDirOf(options, environment, cwd);
  const trusted = async () => {
    const { TrustStore } = await import("./config/trust/trust.ts");
    const user = { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
    return new TrustStore({ stateDir: ownStateDir, user, now });
  };
  const settingsFrom = async (file: string | undefined) => {
    const { settingsInForce } = await import("./config/settings-in-force.ts");
    const search = { cwd, environment, ...(file !== undefined && { explicit: file }) };
    const notice = (ignored: Notice) => options.onNotice?.(ignored);
    return await settingsInForce({ ...search, trusted: await trusted(), notice });
  };
  const explicit = options.config ?? environment["DRYDOCK_CONFIG"];
  const hasConfig = explicit !== undefined || nearestConfig(cwd) !== undefined;
  const settings = hasConfig ? await settingsFrom(explicit) : DEFAULT_SETTINGS;
  const fleet = await openFleet(settings, ownStateDir, options);
  const stateDir = fleet?.stateDir ?? ownStateDir;
  const store = fleet?.store ?? (await openSqliteStore({ stateDir, makesRoom: options.makesRoom === true }));
  return { settings, stateDir, store, fleet, trusted };
}

/** Connects to the fleet of the config; undefined without one. */
async function openFleet(
  { fleet }: Settings,
  stateDir: string,
  options: ServicesOptions,
): Promise<FleetLink | undefined> {
  if (fleet === undefined || options.local === true) return undefined;
  const { openFleetLink } = await import("./fleet/link/fleet-link.ts");
  // Apart from the state of this machine alone, so that each knows what of the sandboxes here is its own.
  return await openFleetLink(fleet, join(stateDir, "fleet"), options.isHostService === true);
}
