import type { CloneChanges, RowChange, TableChange, WayBack } from "./clone-changes.ts";

/**
 * What lands, and what takes it back, as a file of lines of JSON: first both directions without rows, then
 * rows, some in each line: `[direction, number of the table, rows]`. So no line is too long for a string.
 */
export interface LandedChanges {
  readonly forward: CloneChanges;
  readonly backward: WayBack;
}

const DIRECTIONS = ["forward", "backward"] as const;
const ROWS_IN_LINE = 500;

export function encodeChanges(landed: LandedChanges): Buffer {
  const lines: string[] = [];
  const heads = DIRECTIONS.map((direction) => {
    const changes = landed[direction];
    if ("whyNot" in changes) return changes;
    changes.tables.forEach(({ rows }, n) => {
      for (let at = 0; at < rows.length; at += ROWS_IN_LINE)
        lines.push(JSON.stringify([direction, n, rows.slice(at, at + ROWS_IN_LINE)]));
    });
    return { ...changes, tables: changes.tables.map((table) => ({ ...table, rows: [] })) };
  });
  const head = JSON.stringify({ forward: heads[0], backward: heads[1] });
  return Buffer.concat([head, ...lines].map((line) => Buffer.from(`${line}\n`)));
}

export function decodeChanges(bytes: Buffer): LandedChanges {
  let landed: { forward: Filling; backward: Filling | { readonly whyNot: string } } | undefined;
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(10, at);
    const value = JSON.parse(bytes.subarray(at, end).toString()) as unknown;
    at = end + 1;
    if (landed === undefined) {
      landed = value as typeof landed;
      continue;
    }
    const [direction, n, rows] = value as ["forward" | "backward", number, RowChange[]];
    const changes = landed?.[direction];
    if (changes !== undefined && !("whyNot" in changes)) changes.tables[n]?.rows.push(...rows);
  }
  if (landed === undefined) throw new Error("The record of a landing is empty.");
  return landed;
}

/** Changes that are being read. */
type Filling = Omit<CloneChanges, "tables"> & {
  readonly tables: (Omit<TableChange, "rows"> & { readonly rows: RowChange[] })[];
};
