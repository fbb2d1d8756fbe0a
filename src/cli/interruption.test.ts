import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Interruption } from "./interruption.ts";

describe("an interruption", () => {
  it("[A1] aborts on the first signal, and says on the next ones that it is finishing", async () => {
    const said: string[] = [];
    {
      using interruption = new Interruption((line) => said.push(line));
      const aborted = once(interruption.signal, "abort");
      process.kill(process.pid, "SIGTERM");
      await aborted;
      assert.deepEqual(said, ["SIGTERM: stopping; what is already decided is finished first"]);
      process.kill(process.pid, "SIGINT");
      await until(() => said.length === 2);
      assert.match(said[1] ?? "", /^still finishing/);
    }
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) assert.equal(process.listenerCount(signal), 0);
  });

  it("[A1] loses no signal that is on its way when it is handed over, or back", async () => {
    const received: string[] = [];
    using interruption = new Interruption(() => received.push("interrupted"));
    process.kill(process.pid, "SIGTERM");
    {
      using _handed = interruption.handOver((signal) => received.push(signal));
      await until(() => received.length === 1);
      assert.deepEqual(received, ["SIGTERM"]);
      process.kill(process.pid, "SIGHUP");
    }
    await until(() => received.length === 2);
    assert.deepEqual(received, ["SIGTERM", "interrupted"]);
  });
});

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 100 && !isSo(); tries += 1) await setTimeout(10);
}
