import type { PlanRecord } from "../core/plan.ts";

type Environment = { readonly [name: string]: string | undefined };

/** The environment of a command. */
export interface CommandEnvironment {
  /** Variables that the shell which starts the command passes on unchanged. */
  readonly plain: { readonly [name: string]: string };
  /**
   * Variables that this shell must not see, or would drop: see `isOnlyForCommand`, and names that are not
   * valid in a shell.
   */
  readonly exact: readonly (readonly [name: string, value: string])[];
}

/** Variables that lead to a server, by the scheme of its URL. */
const CONNECTIONS: { readonly [scheme: string]: RegExp } = {
  postgres: /^(?:PG[A-Z]+|DATABASE_URL)$/,
  postgresql: /^(?:PG[A-Z]+|DATABASE_URL)$/,
  mysql: /^(?:(?:MYSQL|MARIADB)_\w+|DATABASE_URL)$/,
  mariadb: /^(?:(?:MYSQL|MARIADB)_\w+|DATABASE_URL)$/,
};
const ORDINARY_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Variables that decide which libraries, plug-ins and tables a program loads. */
const LOADING =
  /^(?:LD_|MALLOC_|LIBMOUNT_|LIBBLKID_|BLKID_|GCONV_PATH$|GETCONF_DIR$|GLIBC_TUNABLES$|LOCPATH$|NLSPATH$|SHELLOPTS$|BASHOPTS$|ENV$|BASH_ENV$)/;

/**
 * The user's environment, and the paths of the plan's resources. If the plan holds a database, the user's
 * connection variables are left out, so that a command does not change the original by accident.
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
 * Whether only the command may have this variable. The shell that waits for the command must not load what an
 * earlier command wrote.
 */
function isOnlyForCommand(name: string): boolean {
  return LOADING.test(name);
}

/** `DRYDOCK_RESOURCE_MY_APP` for a resource called "my-app". */
export function resourceVariable(name: string): string {
  return `DRYDOCK_RESOURCE_${name.toUpperCase().replace(/[^A-Z0-9]/gu, "_")}`;
}
