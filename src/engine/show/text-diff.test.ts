import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { applyPatch } from "diff";
import fc from "fast-check";
import { pathFromBytes } from "../../core/paths/byte-path.ts";
import { countLines, isBinary, unifiedDiff } from "./text-diff.ts";

const bytes = (text: string) => Buffer.from(text, "latin1");
const diff = (before: string | undefined, after: string | undefined, path = "f") => {
  return unifiedDiff(
    path,
    before === undefined ? undefined : bytes(before),
    after === undefined ? undefined : bytes(after),
  );
};
const shown = (before: string | undefined, after: string | undefined) =>
  diff(before, after).toString("latin1");
const numbered = (count: number, text = "line") =>
  Array.from({ length: count }, (_, at) => `${text} ${at}\n`);

/** Few different lines, so that many are in common; some texts end without a newline. */
const text = fc
  .tuple(
    fc.array(fc.constantFrom("a", "b", "c", "", "\r", "é\xff"), { maxLength: 40 }),
    fc.constantFrom("", "\n"),
  )
  .map(([lines, end]) => (lines.length === 0 ? "" : lines.join("\n") + end));

describe("isBinary", () => {
  it("[D7] finds a NUL among the first 8,000 bytes, and looks no further", () => {
    const content = Buffer.alloc(9000, "x");
    content[8000] = 0;
    assert.equal(isBinary(content), false);
    content[7999] = 0;
    assert.equal(isBinary(content), true);
  });

  it("[D7] takes an empty file and text in any encoding for text", () => {
    assert.equal(isBinary(Buffer.alloc(0)), false);
    assert.equal(isBinary(Buffer.from([0xff, 0xfe, 0xe4, 0x0a])), false);
  });
});

describe("countLines", () => {
  it("[D7] counts inserted and deleted lines", () => {
    assert.deepEqual(countLines(bytes("a\nb\nc\n"), bytes("a\nB\nc\nd\n")), { insertions: 2, deletions: 1 });
    assert.deepEqual(countLines(bytes(""), bytes("a\nb")), { insertions: 2, deletions: 0 });
    assert.deepEqual(countLines(bytes("a\nb"), bytes("")), { insertions: 0, deletions: 2 });
    assert.deepEqual(countLines(bytes("a\n"), bytes("a\n")), { insertions: 0, deletions: 0 });
  });

  it("[D7] takes a newline that only one side has at its end for a change of that line", () => {
    assert.deepEqual(countLines(bytes("a\nb"), bytes("a\nb\n")), { insertions: 1, deletions: 1 });
  });

  it("[D7] counts what the diff shows, for any two texts", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = shown(before, after).split("\n").slice(2);
        const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
        assert.deepEqual(countLines(bytes(before), bytes(after)), {
          insertions: count("+"),
          deletions: count("-"),
        });
      }),
    );
  });

  it("[D7] is never longer than replacing everything, and never shorter than the difference in length", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { insertions, deletions } = countLines(bytes(before), bytes(after));
        const [old, fresh] = [
          countLines(bytes(""), bytes(before)).insertions,
          countLines(bytes(""), bytes(after)).insertions,
        ];
        assert.equal(insertions - deletions, fresh - old);
        assert.ok(deletions <= old && insertions <= fresh);
      }),
    );
  });
});

describe("unifiedDiff", () => {
  it("[D7] shows a change with three lines around it", () => {
    const before = numbered(10);
    const after = before.with(5, "other\n");
    assert.equal(
      shown(before.join(""), after.join("")),
      "--- a/f\n+++ b/f\n@@ -3,7 +3,7 @@\n line 2\n line 3\n line 4\n-line 5\n+other\n line 6\n line 7\n line 8\n",
    );
  });

  it("[D7] makes one hunk of edits six lines apart, and two of edits seven lines apart", () => {
    const before = numbered(30);
    const hunks = (second: number) =>
      shown(before.join(""), before.with(5, "x\n").with(second, "y\n").join("")).match(/^@@/gm)?.length;
    assert.equal(hunks(12), 1);
    assert.equal(hunks(13), 2);
  });

  it("[D7] shows a side that is not there as /dev/null", () => {
    assert.equal(shown(undefined, "a\n"), "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n");
    assert.equal(shown("a\n", undefined), "--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
  });

  it("[D7] says where a newline is missing at the end, on the side where it is", () => {
    const marker = "\\ No newline at end of file\n";
    assert.equal(shown("a", "a\n"), `--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n${marker}+a\n`);
    assert.equal(shown("a\n", "a"), `--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n+a\n${marker}`);
    assert.equal(shown("x\na", "y\na"), `--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-x\n+y\n a\n${marker}`);
  });

  it("shows nothing where no line differs", () => {
    assert.equal(diff("a\n", "a\n").length, 0);
    assert.equal(diff("", undefined).length, 0);
  });

  it("[D7] loses no byte of a text that is not UTF-8", () => {
    const patch = unifiedDiff("f", Buffer.from([0xe4, 0x0a]), Buffer.from([0xe4, 0xff, 0x0d, 0x0a]));
    assert.ok(patch.includes(Buffer.from([0x2d, 0xe4, 0x0a, 0x2b, 0xe4, 0xff, 0x0d, 0x0a])));
  });

  it("[D7] gives the one text when applied to the other, for any two texts", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const patch = shown(before, after);
        assert.equal(
          patch === "" ? before : applyPatch(before, patch, { autoConvertLineEndings: false }),
          after,
        );
      }),
      { numRuns: 500 },
    );
  });

  it("[D7] is as short as the shortest, for any two texts below the limit", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { insertions } = countLines(bytes(before), bytes(after));
        const lines = (content: string) => content.match(/[^\n]*\n|[^\n]+$/g) ?? [];
        assert.equal(lines(after).length - insertions, commonLines(lines(before), lines(after)));
      }),
    );
  });

  it("[D7] finds the few common lines of a text that was written anew, whatever its size", () => {
    const before = numbered(30_000, "old");
    const after = numbered(30_000, "new").with(15_000, "old 15000\n");
    assert.deepEqual(countLines(bytes(before.join("")), bytes(after.join(""))), {
      insertions: 29_999,
      deletions: 29_999,
    });
  });

  it("[D7] replaces the middle of texts that are too different, in bounded time, and is still right", () => {
    const before = numbered(40_000);
    // The same lines in another order: nothing can be left out, and there are some 60,000 edits.
    const after = before.map((_, at) => before[(at * 7919) % 40_000] as string);
    const counts = countLines(bytes(before.join("")), bytes(after.join("")));
    // Only the first line is in its place. A search without a limit would find more that stays, after hours.
    assert.deepEqual(counts, { insertions: 39_999, deletions: 39_999 });
    assert.equal(applyPatch(before.join(""), shown(before.join(""), after.join(""))), after.join(""));
  });
});

/** The length of the longest common subsequence, by the textbook. */
function commonLines(a: readonly string[], b: readonly string[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const line of a) {
    const next = [0];
    b.forEach((other, at) => {
      next.push(
        line === other ? (row[at] as number) + 1 : Math.max(next[at] as number, row[at + 1] as number),
      );
    });
    row = next;
  }
  return row.at(-1) as number;
}

describe("a unified diff and git", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "drydock-text-diff-"));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const NAMES = [
    ["a space", Buffer.from("a b.txt")],
    ["quotes and backslashes", Buffer.from('a"b\\c')],
    ["a newline and a tab", Buffer.from("a\nb\tc")],
    ["characters beyond ASCII", Buffer.from("größe 🚢")],
    ["bytes that are not UTF-8", Buffer.from([0x61, 0xff, 0xc3, 0x28])],
  ] as const;

  for (const [what, name] of NAMES) {
    it(`[D7] git applies the diff of a file whose name has ${what}`, () => {
      const file = Buffer.concat([Buffer.from(`${folder}/`), name]);
      writeFileSync(file, "1\n2\n3\n4\n5\n6\n7\n8\n9");
      const after = Buffer.from([0x31, 0x0a, 0xff, 0x0a]);
      const patch = unifiedDiff(pathFromBytes(name), readFileSync(file), after);
      const applied = spawnSync("git", ["apply", "-"], { cwd: folder, input: patch, encoding: "utf8" });
      assert.equal(applied.stderr, "");
      assert.deepEqual(readFileSync(file), after);
    });
  }
});
