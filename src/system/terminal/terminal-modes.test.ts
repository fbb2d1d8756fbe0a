import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TerminalModes } from "./terminal-modes.ts";

function after(...pieces: readonly string[]): TerminalModes {
  const modes = new TerminalModes();
  for (const piece of pieces) modes.add(Buffer.from(piece));
  return modes;
}

function newest(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `\x1b[>${100 - count + at}u`);
}

describe("the modes of a terminal", () => {
  it("are those that a program switched on and not off again, however its output is cut", () => {
    for (const pieces of [
      ["a\x1b[?1049h\x1b[?25lb\x1b[?2004h\x1b[?2004lc"],
      ["a\x1b[?10", "49h\x1b[?25lb\x1b", "[?2004h", "\x1b[?2004", "lc"],
    ]) {
      const modes = after(...pieces);
      assert.equal(modes.enter(), "\x1b[?1049h\x1b[?25l");
      assert.equal(modes.leave(), "\x1b[?1049l\x1b[?25h");
      assert.equal(modes.isFullScreen, true);
    }
    const left = after("\x1b[?1049;1006h", "text \x1b[31mred\x1b[0m", "\x1b[?1006;1049l");
    assert.deepEqual([left.enter(), left.leave(), left.isFullScreen], ["", "", false]);
  });

  it("include how keys are sent", () => {
    const modes = after("\x1b[>1u\x1b[>5u\x1b[<u\x1b[>4;2m");
    assert.equal(modes.enter(), "\x1b[>1u\x1b[>4;2m");
    assert.equal(modes.leave(), "\x1b[<u\x1b[>4m");
    const back = after("\x1b[>1u\x1b[>4;2m", "\x1b[<u\x1b[>4m");
    assert.deepEqual([back.enter(), back.leave()], ["", ""]);
  });

  it("are bounded, whatever a program writes", () => {
    const written = Array.from({ length: 100 }, (_, at) => `\x1b[?12345;${1000 + at}h\x1b[>${at}u`);
    const entered = after(...written).enter();
    assert.equal(entered.match(/\x1b\[\?1\d{3}h/g)?.length, 62, "with the two that are on at first");
    assert.doesNotMatch(entered, /12345/);
    assert.equal(entered.match(/\x1b\[>\d+u/g)?.join(""), newest(16).join(""));
  });
});
