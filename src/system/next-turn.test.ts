import assert from "node:assert/strict";
import { stat } from "node:fs";
import { describe, it } from "node:test";
import { nextTurn } from "./next-turn.ts";

/** Waits until the event loop is in one of its phases. */
const PHASES: { readonly [phase: string]: (reached: () => void) => void } = {
  timers: (reached) => setTimeout(reached, 1),
  "finished work": (reached) => stat("/", reached),
  immediates: (reached) => setImmediate(reached),
};

describe("the next turn of the event loop", () => {
  for (const [phase, reach] of Object.entries(PHASES))
    it(`hears of a signal that came before, called among ${phase}`, async () => {
      let heard = false;
      const hear = () => {
        heard = true;
      };
      process.on("SIGHUP", hear);
      try {
        await new Promise<void>((resolve) => reach(resolve));
        process.kill(process.pid, "SIGHUP");
        await nextTurn();
        assert.ok(heard);
      } finally {
        process.off("SIGHUP", hear);
      }
    });
});
