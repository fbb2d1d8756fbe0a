import type { PlanRecord } from "../core/plan.ts";

type Environment = { readonly [name: string]: string | undefined };

/** What a command finds in its environment. */
export interface CommandEnvironment {
  /** Passed as it is. */
  readonly plain: { readonly [name: string]: string };
  /** What Node can't pass: names that no shell knows, values that are not UTF-8. */
  readonly exact: readonly (readonly [name: string, value: string])[];
}

const CONNECTIONS: { readonly [type: string]: RegExp } = {
  "postgres-database": /^(?:PG[A-Z]+|DATABASE_URL)$/,
  "mysql-database": /^(?:MYSQL_\w+|DATABASE_URL)$/,
};
const ORDINARY_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * The user's own environment, and where the plan's resources are. If the plan holds a database, inherited ways to reach one are left out, so
 * that nothing inside changes the original by accident.
 */
export function commandEnvironment(plan: PlanRecord, inherited: Environment, more: Environment): CommandEnvironment {
  const hidden = plan.resources.flatMap(({ resource }) => CONNECTIONS[resource.type] ?? []);
  const kept = Object.entries(inherited).filter(([name]) => !hidden.some((pattern) => pattern.test(name)));
  const ours = plan.resources.map(({ resource }) => [resourceVariable(resource.name), resource.location] as const);
  const all = { ...Object.fromEntries(kept), DRYDOCK_PLAN: plan.id, ...Object.fromEntries(ours), ...more };
  const entries = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  const isPlain = ([name, value]: readonly [string, string]) =>
    ORDINARY_NAME.test(name) && name !== "OLDPWD" && !LONE_SURROGATE.test(value);
  return {
    plain: Object.fromEntries(entries.filter(isPlain)),
    exact: entries.filter((entry) => !isPlain(entry)),
  };
}

/** `DRYDOCK_RESOURCE_MY_APP` for a resource called "my-app". */
function resourceVariable(name: string): string {
  return `DRYDOCK_RESOURCE_${name.toUpperCase().replace(/[^A-Z0-9]/gu, "_")}`;
}
