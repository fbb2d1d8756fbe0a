import assert from "node:assert/strict";
import { readdirSync, readlinkSync } from "node:fs";
import { afterEach, describe, it } from "node:test";
import { armFailpoints } from "../failpoints.ts";
import { RowStore } from "./row-store.ts";

const ROWS = 300;
const ROW_BYTES = 20_000;

/** Its number, then bytes that tell it from others. */
function row(number: number): Buffer {
  const bytes = Buffer.alloc(ROW_BYTES, number % 251);
  bytes.writeUInt32LE(number);
  return bytes;
}

function filled(store: RowStore): RowStore {
  for (let at = 0; at < ROWS; at += 1) store.add(row(at));
  return store;
}

function assertWhole(store: RowStore): void {
  for (let time = 0; time < 2; time += 1) {
    let at = 0;
    for (const read of store.rows()) {
      assert.ok(read.equals(row(at)), `row ${at}`);
      at += 1;
    }
    assert.equal(at, ROWS);
  }
}

/** The files without a name that this process has open in the folder of large temporary files. */
function namelessFiles(): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return /^\/var\/tmp\/#\d+ \(deleted\)$/.test(readlinkSync(`/proc/self/fd/${fd}`));
    } catch {
      return false;
    }
  }).length;
}

describe("A store of rows", () => {
  afterEach(() => armFailpoints(undefined));

  it("gives back more than a megabyte of rows, in order and as often as asked, out of a file without a name", () => {
    using store = filled(new RowStore());
    assertWhole(store);
    assert.equal(namelessFiles(), 1);
  });

  it("closes its file when it is disposed of", () => {
    filled(new RowStore())[Symbol.dispose]();
    assert.equal(namelessFiles(), 0);
  });

  it("keeps few rows in memory", () => {
    using store = new RowStore();
    store.add(row(0));
    assert.deepEqual([...store.rows()], [row(0)]);
    assert.equal(namelessFiles(), 0);
  });

  it("keeps its rows in memory where no file can be made", () => {
    assertWhole(filled(new RowStore("/proc/no-such-folder")));
    armFailpoints("rows.make=eacces");
    assertWhole(filled(new RowStore()));
  });

  it("keeps the rest in memory when the disk is full", () => {
    armFailpoints("rows.write:3=enospc");
    using store = filled(new RowStore());
    assertWhole(store);
    assert.equal(namelessFiles(), 1);
  });

  it("says so if its file can't be written for another reason", () => {
    armFailpoints("rows.write:3=error");
    using store = new RowStore();
    assert.throws(() => filled(store), { code: "EIO" });
  });

  it("reads what lies between two marks", () => {
    using store = filled(new RowStore());
    const from = store.mark();
    store.add(row(1));
    const to = store.mark();
    store.add(row(2));
    assert.deepEqual([...store.rows(from, to)], [row(1)]);
  });
});
