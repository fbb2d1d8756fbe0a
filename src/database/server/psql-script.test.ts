import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { scriptStatements } from "./psql-script.ts";

const cut = (script: string) => scriptStatements(script, "postgres").map(({ sql, data }) => [sql, data]);

describe("a script for psql", () => {
  it("has the data of a COPY behind it, each byte of them, up to a line with \\. alone", () => {
    const data = "1\tit's; $$\r\n\n2\t\\.\n\\N\t\\\\.\n \\.\n";
    for (const rest of ["\n", "  \r\n", " -- the rows; of t\n"])
      assert.deepEqual(
        cut(`SELECT 1; copy t (a, "STDIN") FROM stdin WITH (NULL 'x');${rest}${data}\\.\nSELECT 2`),
        [
          ["SELECT 1", undefined],
          [`copy t (a, "STDIN") FROM stdin WITH (NULL 'x')`, data],
          ["SELECT 2", undefined],
        ],
      );
    assert.deepEqual(cut("COPY t FROM STDIN;\n\\.\r\nCOPY t FROM STDIN;\n1\n\\."), [
      ["COPY t FROM STDIN", ""],
      ["COPY t FROM STDIN", "1\n"],
    ]);
  });

  it("has none behind any other statement", () => {
    for (const sql of [
      "COPY (SELECT * FROM stdin) TO STDOUT",
      "COPY t FROM 'STDIN'",
      "SELECT 'COPY t FROM STDIN'",
    ])
      assert.deepEqual(cut(`${sql};\nSELECT 2`), [
        [sql, undefined],
        ["SELECT 2", undefined],
      ]);
  });

  it("is refused if the data are not there, or do not end", () => {
    for (const script of [
      "COPY t FROM STDIN",
      "COPY t FROM STDIN;",
      "COPY t FROM STDIN;\n1\n2\n",
      "COPY t FROM STDIN; 1\n\\.\n",
    ])
      assert.throws(() => cut(script), { message: /no data in the script/ }, script);
  });

  it("may have the first and last line of a dump, and no other command of psql", () => {
    const dump = "-- a dump\n\n\\restrict k3y\n\nSELECT 1;\n\\unrestrict k3y\n\n";
    assert.deepEqual(cut(dump), [["SELECT 1", undefined]]);
    for (const script of ["SELECT 1;\n\\connect other\n", "\\i file", "\\restricted x\n"])
      assert.throws(() => cut(script), { message: /^\\[a-z]+ is a command of psql/ }, script);
  });
});
