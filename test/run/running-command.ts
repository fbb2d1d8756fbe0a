import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { Running } from "../end-to-end/workplace.ts";

/** Waits until the command says something new. */
export async function goesOn(command: Running): Promise<void> {
  const before = command.stdout.length;
  await command.until(() => command.stdout.length > before + 20);
}

/** Waits until it says nothing new: what it said before it was stopped may still be on its way to us. */
export async function standsStill(command: Running): Promise<void> {
  for (let round = 0; round < 100; round += 1) {
    const before = command.stdout;
    await delay(200);
    if (command.stdout === before) return;
  }
  assert.fail("it goes on");
}

/** Ends a command that does not end by itself. */
export async function end(command: Running): Promise<void> {
  command.signal("SIGTERM");
  await command.ended();
}
