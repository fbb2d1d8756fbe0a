import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { terminalFeatures } from "./terminal.ts";

const both = { stdoutIsTerminal: true, stderrIsTerminal: true };
const none = { colour: false, errorColour: false, progress: false, questions: false, pages: false };

describe("what a terminal may show", () => {
  it("is colour, progress and pages, each only on a stream that is a terminal", () => {
    const all = {
      colour: true,
      errorColour: true,
      progress: true,
      interactive: true,
      pages: true,
      questions: true,
    };
    assert.deepEqual(terminalFeatures(both, { TERM: "xterm" }), all);
    const piped = { stdoutIsTerminal: false, stderrIsTerminal: true };
    assert.deepEqual(terminalFeatures(piped, {}), {
      ...all,
      colour: false,
      interactive: false,
      pages: false,
    });
    const silent = { stdoutIsTerminal: true, stderrIsTerminal: false };
    assert.deepEqual(terminalFeatures(silent, {}), {
      ...all,
      errorColour: false,
      progress: false,
      questions: false,
    });
  });

  it("is no colour with NO_COLOR, nothing at all in CI, and only questions on a dumb terminal", () => {
    const plain = { ...none, progress: true, questions: true, interactive: true, pages: true };
    assert.deepEqual(terminalFeatures(both, { NO_COLOR: "1" }), plain);
    assert.deepEqual(terminalFeatures(both, { NO_COLOR: "", CI: "" }).colour, true);
    assert.deepEqual(terminalFeatures(both, { CI: "true" }), { ...none, interactive: true });
    assert.deepEqual(terminalFeatures(both, { TERM: "dumb" }), {
      ...none,
      questions: true,
      interactive: true,
    });
  });
});
