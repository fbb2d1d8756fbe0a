import type { TransactionName } from "../server/server-database.ts";

/**
 * The name of an XA transaction has two parts of at most 64 bytes. Ours are `drydock-PLAN` and
 * `RESOURCE-SERIAL`.
 */
export function xaName({ planId, resourceId, serial }: TransactionName): string {
  return `'drydock-${planId}','${resourceId}-${serial}'`;
}

/**
 * Parses a row of XA RECOVER, which has the lengths of the parts, and both parts in one text; undefined if
 * the name is none of ours.
 */
export function nameFromXa(firstLength: number, data: string): TransactionName | undefined {
  const planId = /^drydock-(\w+)$/.exec(data.slice(0, firstLength))?.[1];
  const [, resourceId, serial] = /^(\w+)-(\w+)$/.exec(data.slice(firstLength)) ?? [];
  return planId === undefined || resourceId === undefined || serial === undefined
    ? undefined
    : { planId, resourceId, serial };
}
