import type { PlanRecord } from "../core/plan.ts";
import type { Resource } from "../core/resource/resource.ts";

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
  const ours = resourceVariables(plan, ({ location }) => location);
  const all = { ...Object.fromEntries(kept), DRYDOCK_PLAN: plan.id, ...ours, ...more };
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

/**
 * A variable for each resource that is no server: `DRYDOCK_RESOURCE_MY_APP` for one called "my-app". If an
 * earlier one of the plan has that variable, such as "my_app", it is `DRYDOCK_RESOURCE_MY_APP_2`: what
 * joins later takes none away. Resources without a value get none.
 */
export function resourceVariables(
  plan: Pick<PlanRecord, "resources">,
  of: (resource: Resource) => string | undefined,
): { readonly [name: string]: string } {
  const values = new Map<string, string | undefined>();
  for (const { resource } of plan.resources) {
    if (connectionsTo(resource.location) !== undefined) continue;
    const first = `DRYDOCK_RESOURCE_${resource.name.toUpperCase().replace(/[^A-Z0-9]/gu, "_")}`;
    let name = first;
    for (let count = 2; values.has(name); count += 1) name = `${first}_${count}`;
    values.set(name, of(resource));
  }
  const known = [...values].flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  return Object.fromEntries(known);
}
