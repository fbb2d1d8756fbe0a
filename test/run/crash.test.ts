import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { FAILPOINT_NAMES } from "../failpoint-names.ts";
import { groupsLeft } from "./groups-left.ts";
import { OverlayStage } from "./overlay-stage.ts";
import { ACTORS, Stage } from "./stage.ts";

/** Those of write-back.test.ts and caches.test.ts are killed there. */
const POINTS = FAILPOINT_NAMES.filter((name) =>
  /^(?:run|runs|use)\.(?!write-back|own-home|cache)/.test(name),
);
const RUN = ["run", "--apply", "--ignore-outside", "--", "sh", "-c", "echo 2 > a.txt; echo 3 > ~/b"];
const LIMITED = ["run", "--limit", "processes=100", "--limit", "memory=1g", ...RUN.slice(1)];
/** What a user without privilege does in another way. */
const OF_USERS = ["run.start", "use.forget"];
/** Points that another call passes than a plain run. */
const CALLS: { readonly [point: string]: readonly string[] } = {
  "run.group-make": LIMITED,
  "run.group-limit": LIMITED,
  "run.group-add": LIMITED,
  "run.group-remove": LIMITED,
  "run.group-sweep": LIMITED,
  "run.persist": ["run", "--profile", "claude", ...RUN.slice(1)],
  "run.own": ["run", "--strict", ...RUN.slice(1)],
  "run.private": ["run", "--strict", ...RUN.slice(1)],
};

/** Points that are passed only where the state directory can't hold layers. */
const ELSEWHERE = ["run.scratch-place", "run.scratch-elsewhere", "runs.remove-scratch"];

describe("Drydock is killed while it runs a command", () => {
  for (const actor of ACTORS) {
    for (const point of POINTS.filter((name) => actor === "root" || OF_USERS.includes(name))) {
      it(`by ${actor}, at ${point}: nothing is lost, and the next calls clean up`, () => {
        using stage = ELSEWHERE.includes(point) ? new OverlayStage(actor) : new Stage(actor);
        if (point === "run.group-sweep")
          stage.drydock(LIMITED, { env: { DRYDOCK_FAILPOINT: "run.group-add=kill" } });
        const call = point === "run.scratch-clear" ? secondCommand(stage) : (CALLS[point] ?? RUN);
        const { status } = stage.drydock(call, { env: { DRYDOCK_FAILPOINT: `${point}=kill` } });
        assert.equal(status, null, "it was not killed");
        const landed = stage.read("project/a.txt");
        assert.ok(landed === "one\n" || landed === "2\n", landed);
        // Where it was the end of the apply, the next call says that it has finished it.
        assert.equal(stage.drydock(["recover"]).status, 0);
        for (const { id } of stage.answer("plan", "list").plans) stage.done("plan", "cancel", id);
        stage.done("plan", "list");
        assert.deepEqual(
          mountsIn(stage.path).filter((line) => !line.includes(` ${stage.state} `)),
          [],
        );
        const runs = join(stage.state, "runs");
        assert.deepEqual(existsSync(runs) ? readdirSync(runs) : [], []);
        assert.deepEqual(readdirSync(stage.home), []);
        if (stage instanceof OverlayStage) assert.deepEqual(readdirSync(stage.temporary), []);
        const limits = CALLS[point] === LIMITED ? LIMITED.slice(1, 5) : [];
        const again = stage.drydock(["run", "--discard", ...limits, "--", "cat", "a.txt"]);
        assert.deepEqual([again.status, again.stdout], [0, landed], again.stderr);
        assert.deepEqual(groupsLeft(), []);
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
