import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { InterruptedError } from "../../core/errors/errors.ts";
import { readStandardInput } from "./standard-input.ts";

describe("standard input", () => {
  it("is read to its end, whatever bytes it has", async () => {
    const input = new PassThrough();
    const content = readStandardInput(input, new AbortController().signal);
    input.write(Buffer.of(0, 255));
    input.end(Buffer.of(10));
    assert.deepEqual([...(await content)], [0, 255, 10]);
  });

  it("[A1] is given up when the user interrupts", async () => {
    const controller = new AbortController();
    const content = readStandardInput(new PassThrough(), controller.signal);
    controller.abort();
    await assert.rejects(content, InterruptedError);
    await assert.rejects(readStandardInput(new PassThrough(), controller.signal), InterruptedError);
  });

  it("fails with the reason when it can't be read", async () => {
    const input = new PassThrough();
    const content = readStandardInput(input, new AbortController().signal);
    input.destroy(new Error("read EIO"));
    await assert.rejects(content, /read EIO/);
  });
});
