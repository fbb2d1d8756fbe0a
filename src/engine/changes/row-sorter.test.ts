import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RowSorter } from "./row-sorter.ts";

const ROWS = 300;
const ROW_BYTES = 20_000;

describe("A sorter of rows", () => {
  it("[D1] merges many runs, and keeps equal rows in the order in which they came", () => {
    const sorter = new RowSorter((a, b) => (a[4] as number) - (b[4] as number));
    const rows = Array.from({ length: ROWS }, (_, number) => {
      const row = Buffer.alloc(ROW_BYTES, (number * 7919) % 251);
      row.writeUInt32LE(number);
      return row;
    });
    for (const row of rows) sorter.add(row);
    using sorted = sorter.sorted();
    assert.deepEqual(
      Array.from(sorted.rows(), (row) => row.readUInt32LE()),
      rows.toSorted((a, b) => (a[4] as number) - (b[4] as number)).map((row) => row.readUInt32LE()),
    );
  });
});
