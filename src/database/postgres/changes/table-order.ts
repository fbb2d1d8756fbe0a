import type { Conflict } from "../../../core/errors/errors.ts";
import type { TableChange } from "../../server/clone/clone-changes.ts";
import { tablePath } from "../../server/clone/row-paths.ts";
import { quotedName } from "../clone/quoting.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { isGiven, tableName } from "./table-shapes.ts";

/** A reference from one table to another. */
interface Reference {
  readonly from: string;
  readonly to: string;
  readonly columns: readonly (readonly [from: string, to: string])[];
  /** A row that goes takes others with it, or changes them. */
  readonly isFollowed: boolean;
  readonly name: string;
  /** It can be made to wait for the end of the transaction. */
  readonly canWait: boolean;
}

const REFERENCES = `SELECT fn.nspname, f.relname, tn.nspname, t.relname, c.confdeltype IN ('c', 'n', 'd'),
    c.conname, NOT c.condeferrable AND c.conparentid = 0,
    (SELECT json_agg(json_build_array(fa.attname, ta.attname) ORDER BY k.n)::text
     FROM unnest(c.conkey, c.confkey) WITH ORDINALITY AS k(f, t, n)
     JOIN pg_catalog.pg_attribute fa ON fa.attrelid = c.conrelid AND fa.attnum = k.f
     JOIN pg_catalog.pg_attribute ta ON ta.attrelid = c.confrelid AND ta.attnum = k.t)
  FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_class f ON f.oid = c.conrelid JOIN pg_catalog.pg_namespace fn ON fn.oid = f.relnamespace
  JOIN pg_catalog.pg_class t ON t.oid = c.confrelid JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace
  WHERE c.contype = 'f'`;

/** The order of tables in which each comes after those that it refers to, as far as that is possible. */
export class TableOrder {
  readonly tables: readonly TableChange[];
  readonly #references: readonly Reference[];
  /** References that no order of their tables satisfies, and that do not wait by themselves. */
  readonly #inCircles: readonly Reference[];

  private constructor(tables: readonly TableChange[], references: readonly Reference[]) {
    this.#references = references;
    const ordered: TableChange[] = [];
    const left = new Set(tables);
    const inCircles: Reference[] = [];
    while (left.size > 0) {
      const waits = (table: TableChange) =>
        references.some(
          ({ from, to }) =>
            from === tableName(table) && to !== from && [...left].some((other) => tableName(other) === to),
        );
      const ready = [...left].filter((table) => !waits(table));
      // Tables that refer to each other in a circle keep their order.
      const next = ready.length > 0 ? ready : [...left];
      if (ready.length === 0) inCircles.push(...references.filter((each) => isAmong(each, next)));
      for (const table of next) {
        ordered.push(table);
        left.delete(table);
      }
    }
    this.tables = ordered;
    this.#inCircles = inCircles;
  }

  static async of(connection: PostgresConnection, tables: readonly TableChange[]): Promise<TableOrder> {
    const { rows } = await connection.run(REFERENCES);
    const references = rows.map(([fromSchema, from, toSchema, to, isFollowed, name, canWait, columns]) => ({
      from: tableName({ schema: String(fromSchema), name: String(from) }),
      to: tableName({ schema: String(toSchema), name: String(to) }),
      columns: JSON.parse(String(columns)) as [string, string][],
      isFollowed: String(isFollowed) === "true",
      name: String(name),
      canWait: String(canWait) === "true",
    }));
    return new TableOrder(tables, references);
  }

  /**
   * Makes references in a circle wait, or wait no more. It is part of the transaction: no other session sees
   * it.
   */
  async letWait(connection: PostgresConnection, waits: boolean): Promise<void> {
    for (const { from, name } of this.#inCircles)
      await connection.run(
        `ALTER TABLE ${from} ALTER CONSTRAINT ${quotedName(name)} ${waits ? "" : "NOT "}DEFERRABLE`,
        [],
        "",
      );
  }

  /**
   * Rows that refer to rows which go, and would go or change with them: only another session can have made
   * them, because the plan's own are gone by now.
   */
  async followers(connection: PostgresConnection, table: TableChange): Promise<Conflict[]> {
    const gone = table.rows.filter(({ after }) => after === undefined);
    const conflicts: Conflict[] = [];
    for (const { from, columns } of this.#references.filter(
      ({ to, isFollowed }) => isFollowed && to === tableName(table),
    )) {
      const at = columns.map(([, name]) => table.columns.findIndex((column) => column.name === name));
      const isOwn = from === tableName(table);
      // Rows of the same table that go too are no followers.
      const wanted = isOwn ? [...at, ...(table.key ?? [])] : at;
      const same = (name: string, n: number) => {
        const column = table.columns[wanted[n] ?? 0];
        return column === undefined ? "false" : isGiven(`this.${quotedName(name)}`, `given.v${n}`, column);
      };
      const refers = columns.map(([name], n) => same(name, n));
      const given = `unnest(${wanted.map((_, n) => `$${n + 1}::text[]`).join(", ")}) AS given(${wanted.map((_, n) => `v${n}`).join(", ")})`;
      const ownKey = (table.key ?? []).map((column, n) =>
        same(table.columns[column]?.name ?? "", at.length + n),
      );
      const others =
        isOwn && ownKey.length > 0
          ? ` WHERE NOT EXISTS (SELECT 1 FROM ${given} WHERE ${ownKey.join(" AND ")})`
          : "";
      const { rows } = await connection.run(
        `SELECT count(*) FROM ${from} AS this JOIN ${given} ON ${refers.join(" AND ")}${others}`,
        wanted.map((column) => gone.map(({ before }) => before?.[column] ?? null)),
      );
      const count = String(rows[0]?.[0]);
      if (gone.length > 0 && count !== "0")
        conflicts.push({
          path: tablePath(table),
          why: `${count} rows of ${from} that the plan does not delete refer to rows that it deletes`,
        });
    }
    return conflicts;
  }
}

function isAmong({ from, to, canWait }: Reference, tables: readonly TableChange[]): boolean {
  return (
    canWait && from !== to && [from, to].every((name) => tables.some((each) => tableName(each) === name))
  );
}
