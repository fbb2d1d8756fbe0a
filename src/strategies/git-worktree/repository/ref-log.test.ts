import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { appendToLog, logText, replaceLog } from "./ref-log.ts";

describe("appendToLog", () => {
  let gitDir: string;
  const line = logText({
    from: "a",
    to: "b",
    who: "Ann <ann@example.com>",
    seconds: 7,
    text: "merge:\n two\tlines",
  });
  const text = "a b Ann <ann@example.com> 7 +0000\tmerge: two lines\n";

  beforeEach(() => {
    gitDir = mkdtempSync(join(tmpdir(), "drydock-log-"));
  });

  afterEach(() => rmSync(gitDir, { recursive: true, force: true }));

  it("begins a log where one is wanted, and only there", () => {
    appendToLog(gitDir, "refs/heads/x/y", line, false);
    assert.equal(existsSync(join(gitDir, "logs")), false);
    appendToLog(gitDir, "refs/heads/x/y", line, true);
    assert.equal(readFileSync(join(gitDir, "logs/refs/heads/x/y"), "utf8"), text);
  });

  it("appends once, however often it is done, and goes on where a crash cut it off", () => {
    mkdirSync(join(gitDir, "logs"));
    writeFileSync(join(gitDir, "logs/HEAD"), "before\n");
    appendToLog(gitDir, "HEAD", line, false);
    appendToLog(gitDir, "HEAD", line, false);
    assert.equal(readFileSync(join(gitDir, "logs/HEAD"), "utf8"), `before\n${text}`);
    writeFileSync(join(gitDir, "logs/HEAD"), `before\n${text.slice(0, 20)}`);
    appendToLog(gitDir, "HEAD", line, false);
    assert.equal(readFileSync(join(gitDir, "logs/HEAD"), "utf8"), `before\n${text}`);
  });

  it("goes on wherever in several lines a crash cut it off", () => {
    mkdirSync(join(gitDir, "logs"));
    const lines = ["one\n", "two\n", "three\n"].join("");
    for (let length = 0; length <= lines.length; length += 1) {
      writeFileSync(join(gitDir, "logs/HEAD"), `one\nbefore\n${lines.slice(0, length)}`);
      appendToLog(gitDir, "HEAD", lines, false);
      assert.equal(readFileSync(join(gitDir, "logs/HEAD"), "utf8"), `one\nbefore\n${lines}`, `${length}`);
    }
  });

  it("is replaced or removed as a whole", () => {
    replaceLog(gitDir, "refs/stash", "one\n");
    replaceLog(gitDir, "refs/stash", "two\n");
    assert.equal(readFileSync(join(gitDir, "logs/refs/stash"), "utf8"), "two\n");
    replaceLog(gitDir, "refs/stash", undefined);
    replaceLog(gitDir, "refs/stash", undefined);
    assert.equal(existsSync(join(gitDir, "logs/refs/stash")), false);
  });
});
