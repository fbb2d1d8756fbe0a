import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Output, type OutputStream, readerIsGone } from "./output.ts";
import { terminalFeatures } from "./terminal.ts";

/** A stream that keeps what it gets, until it fails. */
class Kept implements OutputStream {
  readonly parts: Buffer[] = [];
  failure: Error | undefined;

  write(bytes: Uint8Array): void {
    if (this.failure !== undefined) throw this.failure;
    this.parts.push(Buffer.from(bytes));
  }

  get text(): string {
    return Buffer.concat(this.parts).toString("latin1");
  }
}

function outputs(terminals: { readonly stdoutIsTerminal: boolean; readonly stderrIsTerminal: boolean }) {
  const [stdout, stderr] = [new Kept(), new Kept()];
  return { stdout, stderr, output: new Output(stdout, stderr, terminalFeatures(terminals, {})) };
}

const piped = { stdoutIsTerminal: false, stderrIsTerminal: false };
const terminal = { stdoutIsTerminal: true, stderrIsTerminal: true };

describe("output", () => {
  it("[X9] shows at a terminal what would hide there, and says to a program what is", () => {
    const said = (where: typeof piped) => {
      const { stdout, stderr, output } = outputs(where);
      output.lines(["a\u202eb"]);
      output.notice("c\u200bd");
      output.document({ e: "\u2066" });
      const text = (kept: Kept) => Buffer.concat(kept.parts).toString("utf8");
      return text(stdout) + text(stderr);
    };
    assert.equal(said(terminal), 'a\\u202eb\n{\n  "e": "\\u2066"\n}\nc\\u200bd\n');
    assert.equal(said(piped), 'a\u202eb\n{"e":"\u2066"}\nc\\u200bd\n');
  });

  it("has results on stdout and all else on stderr", () => {
    const { stdout, stderr, output } = outputs(piped);
    output.lines(["one", "two"]);
    output.notice("by the way");
    output.warning("careful\n");
    output.document({ path: "caf\udce9" });
    assert.equal(stdout.text, 'one\ntwo\n{"path":"caf\\udce9"}\n');
    assert.equal(stderr.text, "by the way\nwarning: careful\\n\n");
  });

  it("writes the byte that a lone surrogate stands for", () => {
    const { stdout, output } = outputs(piped);
    output.lines(["caf\udce9"]);
    output.write(Uint8Array.of(0, 255));
    assert.equal(stdout.text, "caf\xe9\n\x00\xff");
  });

  it("is coloured on a terminal, and a document there is laid out for people", () => {
    const { stdout, stderr, output } = outputs(terminal);
    output.document({ a: 1 });
    output.warning("careful");
    assert.equal(stdout.text, '{\n  "a": 1\n}\n');
    assert.equal(stderr.text, "\u001b[33mwarning:\u001b[39m careful\n");
  });

  it("writes many lines in few parts, and none any more once the reader is gone", () => {
    const { stdout, output } = outputs(piped);
    let made = 0;
    function* lines(): Generator<string> {
      for (; made < 100_000; made += 1) {
        if (made === 20_000) stdout.failure = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
        yield "0123456789";
      }
    }
    output.lines(lines());
    assert.ok(stdout.parts.length < 10);
    assert.ok(made < 40_000);
    assert.ok(output.failure !== undefined && readerIsGone(output.failure));
    output.write("more");
    assert.ok(!stdout.text.includes("more"));
  });

  it("survives a stderr that is gone, and tells a full disk from a reader that is gone", () => {
    const { stdout, stderr, output } = outputs(piped);
    stderr.failure = new Error("write EPIPE");
    output.notice("nobody hears this");
    output.notice("nor this");
    stdout.failure = Object.assign(new Error("write ENOSPC"), { code: "ENOSPC" });
    output.write("lost");
    assert.ok(output.failure !== undefined && !readerIsGone(output.failure));
  });
});
