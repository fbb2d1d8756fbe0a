import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { rowsOf } from "../api/server.ts";
import type { ChangedRows, ShownValue } from "../api/types.ts";
import { failedReading } from "../model/review.ts";
import { amount, counted, size } from "../text/amounts.ts";
import { Shown } from "../text/shown.tsx";
import { Definitions } from "./definitions.tsx";

/** How many columns stand side by side; a single row shows all of its columns. */
const MOST_COLUMNS = 40;

interface TableDiffProps {
  readonly plan: string;
  readonly resource: string;
  /** A table, one of its rows, or another object of the database. */
  readonly path: string;
  /** Another text, if what is shown has moved. */
  readonly version: string;
  readonly isOneRow?: boolean;
}

type Row = ChangedRows["rows"][number];
type Column = ChangedRows["columns"][number];

/** What changes in a table of a database: its definition, and its rows by their key, old and new. */
export function TableDiff({ plan, resource, path, version, isOneRow }: TableDiffProps): ComponentChildren {
  const [found, setFound] = useState<ChangedRows | string | undefined>(undefined);
  useEffect(() => {
    const reading = new AbortController();
    rowsOf(plan, { resource, path }, { signal: reading.signal })
      .then(setFound)
      .catch((thrown: unknown) => {
        if (!reading.signal.aborted) setFound(failedReading(thrown));
      });
    return () => reading.abort();
  }, [plan, resource, path, version]);
  if (found === undefined) return <p class="empty">Reading…</p>;
  if (typeof found === "string")
    return (
      <p class="warning">
        <Shown text={found} />
      </p>
    );
  const more = async () => {
    try {
      const page = await rowsOf(plan, { resource, path }, { cursor: found.next });
      setFound({ ...page, rows: [...found.rows, ...page.rows] });
    } catch (thrown) {
      setFound(failedReading(thrown));
    }
  };
  const Rows = isOneRow === true ? OneRow : ManyRows;
  return (
    <section class="table-diff" tabIndex={0} aria-label="Changed rows and definitions">
      <Definitions definitions={found.definitions} />
      {found.total > 0 && <Rows found={found} />}
      <RestOf found={found} onMore={() => void more()} />
    </section>
  );
}

/** What is not shown, in numbers. */
function RestOf({ found, onMore }: { readonly found: ChangedRows; readonly onMore: () => void }) {
  const rest = found.total - found.rows.length;
  return (
    <>
      {found.next !== undefined && (
        <p class="more">
          {counted(rest, "more row")}.{" "}
          <button type="button" onClick={onMore}>
            Show the next rows
          </button>
        </p>
      )}
      {found.same > 0 && (
        <p class="more">{counted(found.same, "other row stays as it is", "other rows stay as they are")}.</p>
      )}
    </>
  );
}

const SIGNS = { added: "+", deleted: "−", modified: "~" } as const;

function ManyRows({ found: { columns, rows } }: { readonly found: ChangedRows }): ComponentChildren {
  const shown = shownColumns(columns, rows);
  return (
    <>
      <table class="rows">
        <caption class="hidden">Changed rows</caption>
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden">Change</span>
            </th>
            {shown.map((at) => (
              <ColumnHead column={columns[at]} key={at} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr class={row.operation} key={row.path}>
              <td class="sign" title={row.operation}>
                {SIGNS[row.operation]}
              </td>
              {shown.map((at) => (
                <td key={at} class={columns[at]?.isKey === true ? "key" : ""}>
                  <Cell row={row} at={at} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < columns.length && (
        <p class="more">
          {counted(columns.length - shown.length, "column is", "columns are")} not shown here. A single row
          shows all of them.
        </p>
      )}
    </>
  );
}

/** All columns; of very many, those of the key and those that changed come first. */
function shownColumns(columns: readonly Column[], rows: readonly Row[]): readonly number[] {
  const all = columns.map((_, at) => at);
  if (all.length <= MOST_COLUMNS) return all;
  const changed = new Set(rows.flatMap((row) => row.changed));
  const rank = (at: number) => (columns[at]?.isKey === true ? 0 : changed.has(at) ? 1 : 2);
  return all
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, MOST_COLUMNS)
    .sort((a, b) => a - b);
}

function ColumnHead({ column }: { readonly column: Column | undefined }): ComponentChildren {
  if (column === undefined) return null;
  return (
    <th scope="col">
      <Shown text={column.name} />
      <ColumnFacts column={column} />
    </th>
  );
}

const FACTS = { before: "removed", after: "added" } as const;

function ColumnFacts({ column: { isKey, only } }: { readonly column: Column }): ComponentChildren {
  const facts = [...(isKey ? ["key"] : []), ...(only === undefined ? [] : [FACTS[only]])];
  return facts.length === 0 ? null : <span class="column-facts"> {facts.join(", ")}</span>;
}

/** A value; where it changed the old one, an arrow, and the new one. */
function Cell({ row, at }: { readonly row: Row; readonly at: number }): ComponentChildren {
  const [before, after] = [row.before?.[at], row.after?.[at]];
  if (row.operation !== "modified" || !row.changed.includes(at)) return <Value value={after ?? before} />;
  return (
    <>
      <del>
        <Value value={before} />
      </del>{" "}
      <span class="arrow">→</span>{" "}
      <ins>
        <Value value={after} />
      </ins>
    </>
  );
}

/** One row with a line for each of its columns. */
function OneRow({ found: { columns, rows } }: { readonly found: ChangedRows }): ComponentChildren {
  return rows.map((row) => (
    <table class="rows one" key={row.path}>
      <caption class="hidden">The row</caption>
      <thead>
        <tr>
          <th scope="col">Column</th>
          {row.before !== undefined && <th scope="col">Before</th>}
          {row.after !== undefined && <th scope="col">After</th>}
        </tr>
      </thead>
      <tbody>
        {columns.map((column, at) => {
          const isChanged = row.changed.includes(at);
          return (
            <tr key={at} class={isChanged ? "changed" : ""}>
              <th scope="row">
                <Shown text={column.name} />
                <ColumnFacts column={column} />
              </th>
              {row.before !== undefined && (
                <td class={isChanged ? "deleted" : ""}>
                  <Value value={row.before[at]} />
                </td>
              )}
              {row.after !== undefined && (
                <td class={isChanged ? "added" : ""}>
                  <Value value={row.after[at]} />
                </td>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  ));
}

/** A value of a database. A side without the column has none. */
function Value({ value }: { readonly value: ShownValue | null | undefined }): ComponentChildren {
  if (value === null || value === undefined) return <span class="no-value">no column</span>;
  const { type, text, size: whole } = value;
  if (type === "null") return <span class="no-value">NULL</span>;
  return (
    <>
      <span class={`value ${type}`}>
        {type === "bytes" ? `x'${text}${whole === undefined ? "'" : ""}` : <Shown text={text} />}
      </span>
      {text === "" && type === "text" && <span class="no-value">empty</span>}
      {whole !== undefined && (
        <span class="cut" title={`${amount(whole)} bytes in all`}>
          … cut, {size(whole)} in all
        </span>
      )}
    </>
  );
}
