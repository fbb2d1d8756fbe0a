import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { FAILPOINT_NAMES } from "../../src/system/failpoint-names.ts";
import { ACTORS, Stage } from "./stage.ts";

const POINTS = FAILPOINT_NAMES.filter((name) => /^(?:run|runs|use)\./.test(name));
const RUN = ["run", "--apply", "--", "sh", "-c", "echo 2 > a.txt; echo 3 > ~/b"];
/** Points that another call passes than a plain run. */
const CALLS: { readonly [point: string]: readonly string[] } = {
  "run.check": ["doctor"],
  "run.stand-in": ["run", "--strict", ...RUN.slice(1)],
  "run.stand-in-fill": ["run", "--strict", "-r", "a.txt", ...RUN.slice(1)],
};

describe("Drydock is killed while it runs a command", () => {
  for (const actor of ACTORS) {
    for (const point of POINTS) {
      it(`by ${actor}, at ${point}: nothing is lost, and the next calls clean up`, (t) => {
        using stage = new Stage(actor);
        const { status } = stage.drydock(CALLS[point] ?? RUN, { env: { DRYDOCK_FAILPOINT: `${point}=kill` } });
        if (status === 0) t.diagnostic(`${actor} does not pass ${point}`);
        const landed = stage.read("project/a.txt");
        assert.ok(landed === "one\n" || landed === "2\n", landed);
        for (const { id } of stage.answer("plan", "list").plans) stage.done("plan", "cancel", id);
        stage.done("plan", "list");
        assert.deepEqual(mountsIn(stage.path), []);
        const left = readdirSync(join(stage.state, "runs"), { withFileTypes: false }).filter((name) => name !== "skeleton");
        assert.deepEqual(left, []);
        assert.deepEqual(readdirSync(stage.home), []);
        const again = stage.drydock(["run", "--discard", "--", "cat", "a.txt"]);
        assert.deepEqual([again.status, again.stdout], [0, landed], again.stderr);
      });
    }
  }
});

function mountsIn(folder: string): readonly string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.includes(folder));
}
