import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { ProgressBar, progressLine } from "./progress-bar.ts";

const ERASE = "\r\u001b[K";

describe("the progress bar", () => {
  let written: string[];
  let now: number;
  let bar: ProgressBar;

  beforeEach(() => {
    written = [];
    now = 1000;
    bar = new ProgressBar(
      true,
      (text) => written.push(text),
      () => now,
    );
  });

  it("does not show up for work that is over at once, and leaves nothing to erase", () => {
    bar.update({ task: "copying", done: 1, total: 2 });
    now += 200;
    bar.update({ task: "copying", done: 2, total: 2 });
    bar.clear();
    assert.deepEqual(written, []);
  });

  it("is drawn ten times a second at most, over itself, and erased at the end", () => {
    bar.update({ task: "copying", done: 0, total: 100 });
    for (let done = 1; done <= 100; done += 1) {
      now += 10;
      bar.update({ task: "copying", done, total: 100 });
    }
    assert.equal(written.length, 8);
    assert.equal(written[0], `${ERASE}copying [=======                 ] 30 of 100, about 1 s left`);
    assert.ok(written.every((text) => text.startsWith(ERASE) && !text.includes("\n")));
    bar.clear();
    bar.clear();
    assert.deepEqual(written.slice(8), [ERASE]);
  });

  it("goes on at once with the next task", () => {
    bar.update({ task: "copying", done: 0 });
    now += 300;
    bar.update({ task: "copying", done: 5 });
    now += 100;
    bar.update({ task: "landing", done: 1, total: 4 });
    assert.deepEqual(written, [`${ERASE}copying 5`, `${ERASE}landing [======                  ] 1 of 4`]);
  });

  it("stays away where it is not wanted", () => {
    const silent = new ProgressBar(
      false,
      (text) => written.push(text),
      () => now,
    );
    silent.update({ task: "copying", done: 0 });
    now += 5000;
    silent.update({ task: "copying", done: 1 });
    silent.clear();
    assert.deepEqual(written, []);
  });

  it("counts, and estimates how long it takes yet", () => {
    assert.equal(progressLine({ task: "copying", done: 1234567 }, 9000), "copying 1,234,567");
    assert.match(
      progressLine({ task: "copying", done: 1000, total: 4000 }, 4000),
      /1,000 of 4,000, about 12 s left$/,
    );
    assert.match(progressLine({ task: "copying", done: 1, total: 100 }, 4000), /about 7 min left$/);
    assert.match(
      progressLine({ task: "copying", done: 4000, total: 4000 }, 4000),
      /\[={24}\] 4,000 of 4,000$/,
    );
    assert.match(progressLine({ task: "copying", done: 5000, total: 4000 }, 4000), /5,000 of 4,000$/);
  });
});
