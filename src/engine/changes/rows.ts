/**
 * Many of something, to go over as often as needed. A large change set makes each object when it is asked
 * for, because it could not hold all of them.
 */
export interface Rows<Row> {
  readonly length: number;
  [Symbol.iterator](): IteratorObject<Row, undefined>;
}

/** The rows that fit. Holds none of them. */
export function fitting<Row>(rows: Rows<Row>, fits: (row: Row) => boolean): Rows<Row> {
  let length = 0;
  for (const row of rows) if (fits(row)) length += 1;
  return { length, [Symbol.iterator]: () => rows[Symbol.iterator]().filter(fits) };
}
