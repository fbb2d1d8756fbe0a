import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { FAILPOINT_NAMES } from "../../src/system/failpoint-names.ts";
import { ACTORS, Stage } from "./stage.ts";

const POINTS = FAILPOINT_NAMES.filter((name) => /^(?:run|runs|use)\./.test(name));
const RUN = ["run", "--apply", "--", "sh", "-c", "echo 2 > a.txt; echo 3 > ~/b"];
/** What a user without privilege does in another way. */
const OF_USERS = ["run.layers", "run.start", "use.forget"];
/** Points that another call passes than a plain run. */
const CALLS: { readonly [point: string]: readonly string[] } = {
  "run.stand-in": ["run", "--strict", ...RUN.slice(1)],
  "run.stand-in-fill": ["run", "--strict", "-r", "a.txt,strategy=filesystem_copy", ...RUN.slice(1)],
};

describe("Drydock is killed while it runs a command", () => {
  for (const actor of ACTORS) {
    for (const point of POINTS.filter((name) => (actor === "user" ? OF_USERS.includes(name) : name !== "run.layers"))) {
      it(`by ${actor}, at ${point}: nothing is lost, and the next calls clean up`, () => {
        using stage = new Stage(actor);
        const call = point === "run.scratch-clear" ? secondCommand(stage) : (CALLS[point] ?? RUN);
        const { status } = stage.drydock(call, { env: { DRYDOCK_FAILPOINT: `${point}=kill` } });
        assert.equal(status, null, "it was not killed");
        const landed = stage.read("project/a.txt");
        assert.ok(landed === "one\n" || landed === "2\n", landed);
        for (const { id } of stage.answer("plan", "list").plans) stage.done("plan", "cancel", id);
        stage.done("plan", "list");
        assert.deepEqual(mountsIn(stage.path), []);
        const runs = join(stage.state, "runs");
        const left = existsSync(runs) ? readdirSync(runs).filter((name) => name !== "skeleton") : [];
        assert.deepEqual(left, []);
        assert.deepEqual(readdirSync(stage.home), []);
        const again = stage.drydock(["run", "--discard", "--", "cat", "a.txt"]);
        assert.deepEqual([again.status, again.stdout], [0, landed], again.stderr);
      });
    }
  }
});

/** What is in a scratch layer is only in the way of the next command. */
function secondCommand(stage: Stage): readonly string[] {
  const id = stage.done("plan", "create", "-r", stage.project).trim();
  const call = ["plan", "exec", id, "--", "sh", "-c", "echo 3 > ~/b"];
  assert.equal(stage.drydock(call).status, 0);
  return call;
}

function mountsIn(folder: string): readonly string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.includes(folder));
}
