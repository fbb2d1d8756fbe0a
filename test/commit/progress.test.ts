import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Progress } from "../../src/index.ts";
import { Workshop } from "./workshop.ts";

const FILES = 25;
/** Each pass of an apply, and whether it knows how many entries there are before it begins. */
const PASSES = [
  ["comparing", undefined],
  ["checking", FILES],
  ["recording", FILES],
  ["preparing", FILES],
  ["landing", FILES],
] as const;

describe("The progress of an apply", () => {
  for (const strategy of ["filesystem_copy", "overlay"])
    it(`counts every entry in each pass, one pass after the other (${strategy})`, async () => {
      await using workshop = new Workshop();
      const told: Progress[] = [];
      const drydock = await workshop.open([], { onProgress: (progress) => told.push(progress) });
      mkdirSync(workshop.at("many"));
      for (let number = 0; number < FILES; number += 1) workshop.write(join("many", `${number}`), "old\n");
      const { id } = await drydock.plans.create({ resources: [{ location: "many", strategy }] });
      for (let number = 0; number < FILES; number += 1)
        await drydock.plans.write(id, "many", `${number}`, Buffer.from("changed\n"));
      told.length = 0;
      await drydock.plans.apply(id);

      const tasks = told.map(({ task }) => task).filter((task, at, all) => task !== all[at - 1]);
      assert.deepEqual(
        tasks,
        PASSES.map(([task]) => task),
      );
      for (const [task, total] of PASSES) {
        const counts = told.filter((progress) => progress.task === task);
        const done = counts.map((progress) => progress.done);
        assert.deepEqual(
          done,
          done.toSorted((a, b) => a - b),
        );
        assert.equal(done.at(-1), FILES, task);
        assert.ok(new Set(done).size >= FILES, `${task} moves with every entry`);
        assert.ok(counts.every((progress) => progress.total === total));
      }
    });
});
