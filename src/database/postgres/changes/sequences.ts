import type { Conflict } from "../../../core/errors/errors.ts";
import type { SequenceChange } from "../../server/clone/clone-changes.ts";
import { RECORD_SCHEMA } from "../clone/definition-record.ts";
import { quotedName } from "../clone/quoting.ts";
import type { PostgresConnection } from "../postgres-connection.ts";

/**
 * Sequences land by ALTER SEQUENCE, which is part of the transaction, where nextval and setval would not be.
 * A sequence that others have moved on meanwhile keeps the later value: what matters is that no number comes
 * twice.
 */

/** "LAST|is called". */
const STATES = `SELECT n.nspname, c.relname, s.seqincrement FROM pg_catalog.pg_sequence s
  JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relpersistence = 'p' AND n.nspname <> '${RECORD_SCHEMA}' AND n.nspname !~ '^pg_' ORDER BY 1, 2`;

/** The sequences that both sides have, in another state. */
export async function sequenceChanges(
  before: PostgresConnection,
  after: PostgresConnection,
): Promise<SequenceChange[]> {
  const changes: SequenceChange[] = [];
  const earlier = new Set((await before.run(STATES)).rows.map(([schema, name]) => `${schema}.${name}`));
  for (const [schema, name] of (await after.run(STATES)).rows.map((row) => row.map(String))) {
    if (schema === undefined || name === undefined || !earlier.has(`${schema}.${name}`)) continue;
    const states = [await stateOf(before, schema, name), await stateOf(after, schema, name)];
    const [old = "", fresh = ""] = states;
    if (old !== fresh) changes.push({ schema, name, before: old, after: fresh });
  }
  return changes;
}

/** Lands the states of sequences; returns those that another session moved in another direction. */
export async function landSequences(
  connection: PostgresConnection,
  sequences: readonly SequenceChange[],
): Promise<Conflict[]> {
  for (const { schema, name, before, after } of sequences) {
    const increment = await incrementOf(connection, schema, name);
    if (increment === undefined) return [{ path: `${schema}.${name}`, why: "the sequence is gone" }];
    const now = await stateOf(connection, schema, name);
    const next = nextOf(after, increment);
    const isAhead = increment > 0n ? nextOf(now, increment) >= next : nextOf(now, increment) <= next;
    if (now === after || (now !== before && isAhead)) continue;
    await connection.run(`ALTER SEQUENCE ${quotedName(schema)}.${quotedName(name)} RESTART WITH ${next}`);
  }
  return [];
}

async function stateOf(connection: PostgresConnection, schema: string, name: string): Promise<string> {
  const { rows } = await connection.run(
    `SELECT last_value || '|' || is_called FROM ${quotedName(schema)}.${quotedName(name)}`,
  );
  return String(rows[0]?.[0]);
}

async function incrementOf(
  connection: PostgresConnection,
  schema: string,
  name: string,
): Promise<bigint | undefined> {
  const { rows } = await connection.run(STATES);
  const row = rows.find(([inSchema, called]) => inSchema === schema && called === name);
  return row === undefined ? undefined : BigInt(String(row[2]));
}

/** The number that the sequence gives next. */
function nextOf(state: string, increment: bigint): bigint {
  const [last = "0", isCalled] = state.split("|");
  return isCalled === "true" ? BigInt(last) + increment : BigInt(last);
}
