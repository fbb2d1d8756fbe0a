import assert from "node:assert/strict";
import { once } from "node:events";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { describe, it } from "node:test";
import { calls, check } from "../calls/native.ts";
import { TerminalStreams } from "./program-streams.ts";

const TIOCSPTLCK = 0x40045431;
const TIOCGPTPEER = 0x5441;
const FLAGS = constants.O_RDWR | constants.O_NOCTTY;

describe("the streams of a command at a terminal", () => {
  it("end with the command, also while another process has its terminal open", async () => {
    const outer = openSync("/dev/ptmx", FLAGS);
    check(calls.ioctlBuffer(outer, TIOCSPTLCK, Buffer.alloc(4)), "ioctl", "the terminal");
    const held = check(calls.ioctlNumber(outer, TIOCGPTPEER, FLAGS), "ioctl", "the terminal");
    const streams = new TerminalStreams({ rows: 24, columns: 80 });
    try {
      streams.start();
      const link = streams.openTerminal().connect(outer);
      let shown = "";
      streams.stdout.on("data", (bytes: Buffer) => {
        shown += bytes.toString();
      });
      const closed = once(streams.stdout, "close", { signal: AbortSignal.timeout(30_000) });
      writeSync(held, "the last words");
      await Promise.all([link.end(), closed]);
      assert.equal(shown, "the last words");
    } finally {
      closeSync(held);
      streams.discard();
    }
  });
});
