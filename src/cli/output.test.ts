import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Output, type OutputStream, readerIsGone } from "./output.ts";
import { terminalFeatures } from "./terminal.ts";

/** A stream that keeps what it gets, until it fails. */
class Kept implements OutputStream {
  readonly parts: Buffer[] = [];
  failure: Error | undefined;
  #listener: ((error: Error) => void) | undefined;

  write(bytes: Uint8Array, done: (error?: Error | null) => void): boolean {
    if (this.failure === undefined) this.parts.push(Buffer.from(bytes));
    else this.#listener?.(this.failure);
    done(this.failure);
    return true;
  }

  on(_: "error", listener: (error: Error) => void): void {
    this.#listener = listener;
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
  it("has results on stdout and all else on stderr", async () => {
    const { stdout, stderr, output } = outputs(piped);
    await output.lines(["one", "two"]);
    output.notice("by the way");
    output.warning("careful\n");
    await output.document({ path: "caf\udce9" });
    assert.equal(stdout.text, 'one\ntwo\n{"path":"caf\\udce9"}\n');
    assert.equal(stderr.text, "by the way\nwarning: careful\\n\n");
  });

  it("writes the byte that a lone surrogate stands for", async () => {
    const { stdout, output } = outputs(piped);
    await output.lines(["caf\udce9"]);
    await output.write(Uint8Array.of(0, 255));
    assert.equal(stdout.text, "caf\xe9\n\x00\xff");
  });

  it("is coloured on a terminal, and a document there is laid out for people", async () => {
    const { stdout, stderr, output } = outputs(terminal);
    await output.document({ a: 1 });
    output.warning("careful");
    assert.equal(stdout.text, '{\n  "a": 1\n}\n');
    assert.equal(stderr.text, "\u001b[33mwarning:\u001b[39m careful\n");
  });

  it("writes many lines in few parts, and none any more once the reader is gone", async () => {
    const { stdout, output } = outputs(piped);
    let made = 0;
    function* lines(): Generator<string> {
      for (; made < 100_000; made += 1) {
        if (made === 20_000) stdout.failure = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
        yield "0123456789";
      }
    }
    await output.lines(lines());
    assert.ok(stdout.parts.length < 10);
    assert.ok(made < 40_000);
    assert.ok(output.failure !== undefined && readerIsGone(output.failure));
    await output.write("more");
    assert.ok(!stdout.text.includes("more"));
  });

  it("survives a stderr that is gone, and tells a full disk from a reader that is gone", async () => {
    const { stdout, stderr, output } = outputs(piped);
    stderr.failure = new Error("write EPIPE");
    output.notice("nobody hears this");
    stdout.failure = Object.assign(new Error("write ENOSPC"), { code: "ENOSPC" });
    await output.write("lost");
    assert.ok(output.failure !== undefined && !readerIsGone(output.failure));
  });
});
