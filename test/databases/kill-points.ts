import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Point } from "../crash/points.ts";
import type { MixedWorld, WorldOperation } from "./mixed-world.ts";

const AT_ONCE = 3;
const SHOWN = 5;

/** The failpoints that something passes, as often as it does, in their order. */
export async function passedPoints(world: MixedWorld, operation: WorldOperation): Promise<Point[]> {
  const file = join(world.stateDir, "..", "trace");
  rmSync(file, { force: true });
  const end = await world.drive(operation, { trace: file });
  assert.ok(end.done !== undefined, end.failed?.stack);
  const passes = new Map<string, number>();
  return readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const name = line.slice("failpoint ".length);
      passes.set(name, (passes.get(name) ?? 0) + 1);
      return { name, pass: passes.get(name) ?? 0 };
    });
}

/** Our process dies at this point of what it does. */
export async function killedAt(world: MixedWorld, operation: WorldOperation, at: string): Promise<void> {
  const end = await world.drive(operation, { failpoints: `${at}=kill` });
  assert.equal(
    end.signal,
    "SIGKILL",
    `it was not killed at ${at}: ${end.failed?.stack ?? JSON.stringify(end.done)}`,
  );
}

export interface EachPoint {
  /** A world for one point. */
  make(): Promise<MixedWorld>;
  act(world: MixedWorld, at: string): Promise<void>;
  /** How many worlds there may be at a time. */
  readonly atOnce?: number;
}

/** Does this for every point, several at once, each in a world of its own; goes on after a failure. */
export async function forEachPoint(
  t: TestContext,
  points: readonly Point[],
  { make, act, atOnce = AT_ONCE }: EachPoint,
): Promise<void> {
  const waiting = [...points];
  const failures: string[] = [];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const at = `${next.name}:${next.pass}`;
      let world: MixedWorld | undefined;
      try {
        world = await make();
        await act(world, at);
      } catch (thrown) {
        failures.push(
          `${at}: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`,
        );
      } finally {
        world?.remove();
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  t.diagnostic(`${points.length} points`);
  assert.equal(
    failures.length,
    0,
    `${failures.length} of ${points.length} fail:\n${failures.slice(0, SHOWN).join("\n\n")}`,
  );
}
