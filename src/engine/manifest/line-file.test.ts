import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { type Line, LineFile, LineWriter } from "./line-file.ts";

const POINT = failpoint("test.lines");
const NAME = "lines";

describe("A file of lines", () => {
  let path: string;
  let folder: Folder;
  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), "drydock-lines-"));
    folder = Folder.open(path);
  });
  afterEach(() => {
    folder.close();
    rmSync(path, { recursive: true, force: true });
  });

  function written(lines: Iterable<Line>): { readonly file: LineFile; readonly digest: string } {
    using writer = new LineWriter(POINT, folder, NAME);
    for (const line of lines) writer.add(line);
    return { digest: writer.end(), file: new LineFile(folder, NAME) };
  }

  it("gives every line back, however many there are, in either order", () => {
    const lines = Array.from(
      { length: 20_000 },
      (_, at): Line => ["abc"[at % 3] ?? "", at, `folder/file-${at}`],
    );
    const { file, digest } = written(lines);
    assert.deepEqual([...file.lines("abc")], lines);
    assert.deepEqual(
      [...file.lines("b")],
      lines.filter(([kind]) => kind === "b"),
    );
    assert.deepEqual([...file.linesBackward("ca")], lines.filter(([kind]) => kind !== "b").reverse());
    assert.equal(file.digest(), digest);
  });

  it("keeps names of any bytes, and lines that are longer than what is read at once", () => {
    const lines: Line[] = [
      ["a", "new\nline", "tab\t", 'quote"', "ü", "漢字".repeat(5), "\udc80 not UTF-8"],
      ["a", "é".repeat(300_000)],
      ["a", "after"],
    ];
    assert.deepEqual([...written(lines).file.lines("a")], lines);
  });

  it("can be read by several at a time", () => {
    const lines = Array.from({ length: 5000 }, (_, at): Line => ["a", at, "x".repeat(100)]);
    const { file } = written(lines);
    const [first, second] = [file.lines("a"), file.lines("a")];
    for (const line of lines) {
      assert.deepEqual(first.next().value, line);
      assert.deepEqual(second.next().value, line);
    }
  });

  it("knows its last line, and has none when it is empty", () => {
    const { file } = written([["a", 1], ["end"]]);
    assert.ok(file.endsWith(["end"]));
    assert.ok(!file.endsWith(["a", 1]));
    folder.removeFile(POINT, NAME);
    const { file: empty } = written([]);
    assert.ok(!empty.endsWith(["end"]));
    assert.deepEqual([...empty.lines("a")], []);
  });
});
