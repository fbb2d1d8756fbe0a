import {
  type Conflict,
  messageOf,
  SandboxConflictError,
  UnsupportedError,
} from "../../../core/errors/errors.ts";
import {
  type CloneChanges,
  hasSameColumns,
  type RowChange,
  type TableChange,
} from "../../server/clone/clone-changes.ts";
import { rowPath, tablePath } from "../../server/clone/row-paths.ts";
import type { MysqlConnection } from "../mysql-connection.ts";
import { refusalCode } from "../mysql-errors.ts";
import { quotedName } from "../quoting.ts";
import { keyOf, valueLiteral } from "./exact-values.ts";
import { brokenReferences, referencesOf } from "./references.ts";
import { TableRows } from "./table-rows.ts";
import { type MysqlTable, tableName, tableShapes } from "./table-shapes.ts";
import { triggerOf } from "./table-triggers.ts";

/** As many rows as a statement takes, and as many characters of values. */
const PAGE = 1000;
const STATEMENT = 1 << 20;
/** People do not read more. */
const MOST_NAMED = 100;
/** What the server says of rows that other sessions have made impossible: in the clone they were not. */
const CONSTRAINTS = ["ER_DUP_ENTRY", "ER_CONSTRAINT_FAILED", "ER_DUP_KEY"];

/** A table whose rows land. */
type Landing = MysqlTable & TableChange;

/**
 * Looks whether changes can land in a database at all, outside of the transaction: its tables are as they
 * were, and have no triggers. Returns what `landChanges` needs to know.
 */
export async function landable(connection: MysqlConnection, { tables, sequences }: CloneChanges) {
  const there = await tableShapes(connection);
  const conflicts: Conflict[] = [];
  for (const table of tables) {
    const now = there.find(({ name }) => name === table.name);
    if (now === undefined || !hasSameColumns(now, table))
      conflicts.push({ path: tablePath(table), why: "another session has changed its definition" });
    else if (now.whyNot !== undefined) throw notIn(table, now.whyNot);
    const trigger = await triggerOf(connection, table);
    if (trigger !== undefined) throw notIn(table, `its trigger ${trigger} would run once more`);
  }
  throwIfAny(conflicts);
  if (sequences.length > 0) throw notIn(sequences[0] ?? { name: "" }, "no transaction can set a sequence");
  const references = await referencesOf(connection);
  for (const { name, from } of references.filter(({ isToElsewhere }) => isToElsewhere)) {
    const table = tables.find((each) => each.name === from);
    if (table !== undefined)
      throw notIn(
        table,
        `its foreign key ${name} refers to a table of another database, which the clone does not have`,
      );
  }
  return references;
}

/**
 * Writes changes into a database, in an open transaction of a session of `beExact` and `asStored`. First
 * every row that goes or changes is locked and checked; then all of them go, and those that come or have
 * changed are written anew: so values that must be unique can move between rows. References are checked in
 * the end. Fails by `SandboxConflictError`, with every row that another session has changed.
 */
export async function landChanges(
  connection: MysqlConnection,
  { tables }: CloneChanges,
  references: Awaited<ReturnType<typeof referencesOf>>,
): Promise<void> {
  const landings = tables as readonly Landing[];
  const conflicts: Conflict[] = [];
  for (const table of landings) conflicts.push(...(await changedMeanwhile(connection, table)));
  throwIfAny(conflicts);
  for (const table of landings) conflicts.push(...(await removeOld(connection, table)));
  throwIfAny(conflicts);
  for (const table of landings) conflicts.push(...(await taken(connection, table)));
  throwIfAny(conflicts);
  const largest = await largestStatement(connection);
  for (const table of landings) await insertNew(connection, table, largest).catch(rethrow);
  throwIfAny(await brokenReferences(connection, landings, references));
}

/** The rows that are not as they were. Locks them, and the places of those that come. */
async function changedMeanwhile(connection: MysqlConnection, table: Landing): Promise<Conflict[]> {
  if (table.key === undefined) return [];
  const rows = new TableRows(connection, table);
  const conflicts: Conflict[] = [];
  const wanted = table.rows.filter(({ before }) => before !== undefined);
  for (const page of pages(wanted)) {
    const keys = page.map(({ before = [] }) => keyOf(table, before));
    const now = new Set((await rows.read(keys, "FOR UPDATE")).map((values) => JSON.stringify(values)));
    conflicts.push(
      ...page
        .filter(({ before }) => !now.has(JSON.stringify(before)))
        .map((row) => ({ path: rowPath(table, row), why: "another session has changed or deleted it" })),
    );
    if (conflicts.length >= MOST_NAMED) break;
  }
  return conflicts.slice(0, MOST_NAMED);
}

/** Removes the old rows; of equal rows in a table without a key, as many as have to go. */
async function removeOld(connection: MysqlConnection, table: Landing): Promise<Conflict[]> {
  const rows = new TableRows(connection, table);
  const old = table.rows.filter(({ before }) => before !== undefined);
  if (table.key === undefined) {
    const conflicts: Conflict[] = [];
    for (const row of old) {
      const { before = [], copies = 1 } = row;
      const where = rows.isOneOf([keyOf(table, before)]);
      const gone = await connection.run(`DELETE FROM ${tableName(table)} WHERE ${where} LIMIT ${copies}`, "");
      if (gone.changes !== copies)
        conflicts.push({ path: rowPath(table, row), why: "another session has changed or deleted it" });
    }
    return conflicts;
  }
  for (const page of pages(old)) {
    const where = rows.isOneOf(page.map(({ before = [] }) => keyOf(table, before)));
    const gone = await connection.run(`DELETE FROM ${tableName(table)} WHERE ${where}`, "");
    if (gone.changes !== page.length)
      throw new Error(`${gone.changes} of ${page.length} rows of ${table.name} went, which are locked.`);
  }
  return [];
}

/** The rows that come, and that another session has added meanwhile. */
async function taken(connection: MysqlConnection, table: Landing): Promise<Conflict[]> {
  if (table.key === undefined) return [];
  const rows = new TableRows(connection, table);
  const conflicts: Conflict[] = [];
  const fresh = table.rows.filter(({ after }) => after !== undefined);
  for (const page of pages(fresh)) {
    const keys = page.map(({ after = [] }) => keyOf(table, after));
    const found = await rows.read(keys, "FOR UPDATE");
    conflicts.push(
      ...found.map((values) => ({
        path: rowPath(table, { after: values }),
        why: "another session has added it",
      })),
    );
    if (conflicts.length >= MOST_NAMED) break;
  }
  return conflicts.slice(0, MOST_NAMED);
}

/** How many characters a statement may have. */
async function largestStatement(connection: MysqlConnection): Promise<number> {
  const [row] = await connection.texts("SELECT @@SESSION.max_allowed_packet");
  return Number(row?.[0]);
}

async function insertNew(connection: MysqlConnection, table: Landing, largest: number): Promise<void> {
  const columns = table.columns.flatMap((column, at) => (column.isGenerated ? [] : [{ column, at }]));
  const names = columns.map(({ column }) => quotedName(column.name)).join(", ");
  const head = `INSERT INTO ${tableName(table)} (${names}) VALUES `;
  const given = table.rows.flatMap(({ after, copies = 1 }) =>
    after === undefined
      ? []
      : Array<string>(copies).fill(
          `(${columns.map(({ column, at }) => valueLiteral(column, after[at] ?? null)).join(",")})`,
        ),
  );
  let page: string[] = [];
  let size = 0;
  for (const [at, row] of given.entries()) {
    if (head.length + row.length >= largest)
      throw notIn(
        table,
        `a row of ${row.length} characters is larger than a statement may be (max_allowed_packet is ${largest})`,
      );
    page.push(row);
    size += row.length;
    if (at + 1 < given.length && size + (given[at + 1]?.length ?? 0) < Math.min(STATEMENT, largest / 2))
      continue;
    await connection.run(head + page.join(","), "");
    page = [];
    size = 0;
  }
}

function pages(rows: readonly RowChange[]): RowChange[][] {
  return Array.from({ length: Math.ceil(rows.length / PAGE) }, (_, n) =>
    rows.slice(n * PAGE, (n + 1) * PAGE),
  );
}

function notIn({ name }: { readonly name: string }, why: string): UnsupportedError {
  return new UnsupportedError(`The work in the clone can't land in ${name}: ${why}.`, {
    hint: "Nothing was changed. Use transaction_rollback for this database, or make that change in the original by hand.",
  });
}

function throwIfAny(conflicts: readonly Conflict[]): void {
  if (conflicts.length > 0) throw new SandboxConflictError(conflicts);
}

/** A constraint that does not hold is the work of other sessions: in the clone it held. */
function rethrow(thrown: unknown): never {
  if (CONSTRAINTS.includes(refusalCode(thrown) ?? ""))
    throw new SandboxConflictError([{ path: ".", why: messageOf(thrown).replace(/\.$/, "") }]);
  throw thrown;
}
