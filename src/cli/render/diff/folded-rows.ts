import type { ChangeOperation } from "../../../core/change.ts";

/** A row of a diff, as far as folding needs it. */
export interface FoldableRow {
  /** The path as it is shown. */
  readonly place: string;
  readonly operation: ChangeOperation | "renamed";
  /** Rows with warnings are never folded. */
  readonly warnings: readonly string[] | undefined;
}

/** A row; a folder in place of the rows in it; or what is left out at the end. */
export type FoldedRow<Row> =
  | { readonly row: Row }
  | { readonly folder: string; readonly text: string }
  | { readonly more: number };

/** A folder of a diff with everything that changes in it, in the order of the diff. */
class Fold<Row extends FoldableRow> {
  readonly place: string;
  readonly entries = new Map<string, Fold<Row> | Row>();
  readonly counts = new Map<string, number>();

  constructor(place: string) {
    this.place = place;
  }

  add(names: readonly string[], row: Row): void {
    const word = row.operation === "typechanged" ? "modified" : row.operation;
    this.counts.set(word, (this.counts.get(word) ?? 0) + 1);
    const [name = "", ...below] = names;
    if (below.length === 0) {
      // A folder that changes itself is one of the rows in it.
      this.entries.set(`${name}/`, row);
      return;
    }
    const known = this.entries.get(name);
    const fold = known instanceof Fold ? known : new Fold<Row>(`${this.place}${name}/`);
    this.entries.set(name, fold);
    fold.add(below, row);
  }

  /** The entries; in place of a folder with one entry, that entry. */
  inside(): readonly (Fold<Row> | Row)[] {
    return [...this.entries.values()].flatMap((entry) =>
      entry instanceof Fold && entry.entries.size === 1 ? entry.inside() : [entry],
    );
  }

  get size(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  get text(): string {
    return ["added", "modified", "deleted", "renamed"]
      .flatMap((word) => (this.counts.has(word) ? [`${this.counts.get(word)} ${word}`] : []))
      .join(", ");
  }
}

/**
 * At most about `most` rows: folders are opened from the top as long as there is room, and one that stays
 * closed is one row. Rows beyond that are only counted.
 */
export function foldedRows<Row extends FoldableRow>(rows: readonly Row[], most: number): FoldedRow<Row>[] {
  const root = new Fold<Row>("");
  for (const row of rows) if (!isPinned(row)) root.add(row.place.split("/"), row);
  let shown = root.inside();
  for (let hasRoom = true; hasRoom; ) {
    const opened = shown.find((item) => item instanceof Fold && shown.length - 1 + item.entries.size <= most);
    hasRoom = opened !== undefined;
    shown = shown.flatMap((item) => (item === opened && item instanceof Fold ? item.inside() : [item]));
  }
  // One closed folder says too little: its first entries say more.
  const [only, ...others] = shown;
  if (only instanceof Fold && others.length === 0) shown = only.inside();
  const more = shown.slice(most).reduce((sum, item) => sum + (item instanceof Fold ? item.size : 1), 0);
  return [
    ...shown
      .slice(0, most)
      .map((item) => (item instanceof Fold ? { folder: item.place, text: item.text } : { row: item })),
    ...rows.filter(isPinned).map((row) => ({ row })),
    ...(more > 0 ? [{ more }] : []),
  ];
}

function isPinned({ warnings = [] }: FoldableRow): boolean {
  return warnings.length > 0;
}
