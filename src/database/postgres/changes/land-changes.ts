import {
  type Conflict,
  messageOf,
  SandboxCommitError,
  SandboxConflictError,
} from "../../../core/errors/errors.ts";
import { type CloneChanges, hasSameColumns, type TableChange } from "../../server/clone/clone-changes.ts";
import { tablePath } from "../../server/clone/row-paths.ts";
import { afterRecorded, runRecorded } from "../clone/definition-record.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { refusalCode } from "../postgres-errors.ts";
import { contentDigest } from "./clone-changes.ts";
import { landRows, type RowStep, takenKeys } from "./row-landing.ts";
import { landSequences } from "./sequences.ts";
import { TableOrder } from "./table-order.ts";
import { tableName, tableShapes } from "./table-shapes.ts";
import { withoutTriggers } from "./table-triggers.ts";

/** Codes of PostgreSQL: a key is there twice; another constraint does not hold. */
const UNIQUE = "23505";
const CONSTRAINT = /^23/;

/**
 * The orders in which rows land. The first satisfies references; the second lets a row take over a value that
 * must be unique from one that goes.
 */
const ORDERS: readonly (readonly RowStep[])[] = [
  ["insert", "update", "delete"],
  ["delete", "update", "insert"],
];

/**
 * Writes changes into a database, in an open transaction of `beginExact`. Everything that the changes come
 * from is checked: fails by `SandboxConflictError`, with every row that another session has changed, and by
 * `UnsupportedError` for what can't be done there.
 */
export async function landChanges(connection: PostgresConnection, changes: CloneChanges): Promise<void> {
  const { statements, tables, sequences } = changes;
  throwIfAny(await wholeConflicts(connection, changes));
  for (const statement of statements) await runStatement(connection, statement);
  await afterRecorded(connection);
  throwIfAny(await shapeConflicts(connection, tables));
  await withoutTriggers(connection, tables, async () => {
    const order = await TableOrder.of(connection, tables);
    await order.letWait(connection, true);
    await inSomeOrder(connection, order);
    throwIfAny(await landSequences(connection, sequences));
    await connection.run("SET CONSTRAINTS ALL IMMEDIATE", [], "").catch(rethrow);
    await order.letWait(connection, false);
  });
}

async function inSomeOrder(connection: PostgresConnection, order: TableOrder): Promise<void> {
  const taken: Conflict[] = [];
  for (const table of order.tables) taken.push(...(await takenKeys(connection, table)));
  await connection.run("SAVEPOINT drydock_rows");
  const [first = [], second = []] = ORDERS;
  try {
    throwIfAny(taken);
    await landAll(connection, order, first);
  } catch (thrown) {
    if (refusalCode(thrown) !== UNIQUE && taken.length === 0) rethrow(thrown);
    await connection.run("ROLLBACK TO SAVEPOINT drydock_rows");
    // A key that is taken may be that of a row which goes, in another spelling.
    await landAll(connection, order, second).catch((again: unknown) => {
      throwIfAny(again instanceof SandboxConflictError ? [...taken, ...again.conflicts] : taken);
      rethrow(again);
    });
  }
}

async function landAll(
  connection: PostgresConnection,
  order: TableOrder,
  steps: readonly RowStep[],
): Promise<void> {
  const conflicts: Conflict[] = [];
  await connection.run("SET CONSTRAINTS ALL DEFERRED");
  for (const step of steps) {
    // Rows that go leave those behind that they refer to.
    for (const table of step === "delete" ? order.tables.toReversed() : order.tables) {
      if (step === "delete") conflicts.push(...(await order.followers(connection, table)));
      if (step !== "insert" || conflicts.length === 0)
        conflicts.push(...(await landRows(connection, table, step)));
    }
  }
  throwIfAny(conflicts);
}

async function runStatement(
  connection: PostgresConnection,
  statement: CloneChanges["statements"][number],
): Promise<void> {
  try {
    await runRecorded(connection, statement, undefined);
  } catch (thrown) {
    const shown = statement.sql.length > 200 ? `${statement.sql.slice(0, 200)}…` : statement.sql;
    throw new SandboxCommitError(
      `A statement of the plan that changes definitions fails in the original: ${shown}: ${messageOf(thrown)}`,
      { cause: thrown, hint: "Nothing was changed. Another session may have changed the same definitions." },
    );
  }
}

/** A table that goes, or loses columns, must hold what the plan has seen. */
async function wholeConflicts(connection: PostgresConnection, { whole }: CloneChanges): Promise<Conflict[]> {
  const conflicts: Conflict[] = [];
  const there = whole.length === 0 ? [] : await tableShapes(connection);
  for (const table of whole) {
    const now = there.find((other) => tableName(other) === tableName(table));
    if (now === undefined || !hasSameColumns(now, table)) {
      conflicts.push({ path: tablePath(table), why: "another session has changed its definition" });
      continue;
    }
    await connection.run(`LOCK TABLE ONLY ${tableName(table)} IN ACCESS EXCLUSIVE MODE`, [], "");
    if ((await contentDigest(connection, table)) !== table.digest)
      conflicts.push({ path: tablePath(table), why: "another session has changed its rows" });
  }
  return conflicts;
}

async function shapeConflicts(
  connection: PostgresConnection,
  tables: readonly TableChange[],
): Promise<Conflict[]> {
  const there = tables.length === 0 ? [] : await tableShapes(connection);
  return tables
    .filter(
      (table) => !there.some((now) => tableName(now) === tableName(table) && hasSameColumns(now, table)),
    )
    .map((table) => ({ path: tablePath(table), why: "another session has changed its definition" }));
}

function throwIfAny(conflicts: readonly Conflict[]): void {
  if (conflicts.length > 0) throw new SandboxConflictError(conflicts);
}

/** A constraint that does not hold is the work of other sessions: in the clone it held. */
function rethrow(thrown: unknown): never {
  const code = refusalCode(thrown);
  if (code !== undefined && CONSTRAINT.test(code))
    throw new SandboxConflictError([{ path: ".", why: messageOf(thrown).replace(/\.$/, "") }]);
  throw thrown;
}
