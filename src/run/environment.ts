import type { PlanRecord } from "../core/plan.ts";

type Environment = { readonly [name: string]: string | undefined };

/** What a command finds in its environment. */
export interface CommandEnvironment {
  /** Passed as it is. */
  readonly plain: { readonly [name: string]: string };
  /**
   * What the shell that starts it must not have, or would drop: names that no shell knows, and what is only
   * for the command (see below).
   */
  readonly exact: readonly (readonly [name: string, value: string])[];
}

/** Ways to reach a server, by the scheme of its URL. */
const CONNECTIONS: { readonly [scheme: string]: RegExp } = {
  postgres: /^(?:PG[A-Z]+|DATABASE_URL)$/,
  postgresql: /^(?:PG[A-Z]+|DATABASE_URL)$/,
  mysql: /^(?:(?:MYSQL|MARIADB)_\w+|DATABASE_URL)$/,
  mariadb: /^(?:(?:MYSQL|MARIADB)_\w+|DATABASE_URL)$/,
};
const ORDINARY_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** What says which libraries, plug-ins and tables a program loads. */
const LOADING =
  /^(?:LD_|MALLOC_|LIBMOUNT_|LIBBLKID_|BLKID_|GCONV_PATH$|GETCONF_DIR$|GLIBC_TUNABLES$|LOCPATH$|NLSPATH$|SHELLOPTS$|BASHOPTS$|ENV$|BASH_ENV$)/;

/**
 * The user's own environment, and where the plan's resources are. If the plan holds a database, inherited
 * ways to reach one are left out, so that nothing inside changes the original by accident.
 */
export function commandEnvironment(
  plan: PlanRecord,
  inherited: Environment,
  more: Environment,
): CommandEnvironment {
  const hidden = plan.resources.flatMap(({ resource }) => connectionsTo(resource.location) ?? []);
  const kept = Object.entries(inherited).filter(([name]) => !hidden.some((pattern) => pattern.test(name)));
  const ours = plan.resources
    .filter(({ resource }) => connectionsTo(resource.location) === undefined)
    .map(({ resource }) => [resourceVariable(resource.name), resource.location] as const);
  const all = { ...Object.fromEntries(kept), DRYDOCK_PLAN: plan.id, ...Object.fromEntries(ours), ...more };
  const entries = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const isPlain = ([name]: readonly [string, string]) => ORDINARY_NAME.test(name) && !isOnlyForCommand(name);
  return {
    plain: Object.fromEntries(entries.filter(isPlain)),
    exact: entries.filter((entry) => !isPlain(entry)),
  };
}

function connectionsTo(location: string): RegExp | undefined {
  return CONNECTIONS[/^([a-z]+):\/\//.exec(location)?.[1] ?? ""];
}

/**
 * Whether no program but the command may have this variable: the shell that waits for it must not load what
 * an earlier command has left.
 */
function isOnlyForCommand(name: string): boolean {
  return LOADING.test(name);
}

/** `DRYDOCK_RESOURCE_MY_APP` for a resource called "my-app". */
export function resourceVariable(name: string): string {
  return `DRYDOCK_RESOURCE_${name.toUpperCase().replace(/[^A-Z0-9]/gu, "_")}`;
}
