import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Obedient } from "./running-command.ts";
import { ANY_ACTOR, Stage } from "./stage.ts";

const LOOK = `find . ! -name . -printf '%P %y %m %l\\n' -type f -exec cat {} + | sort`;

const FIRST =
  "mkdir -p new/in; echo 1 > new/a; echo 1 > new/removed; mv moved new/there; mkdir closed; echo 1 > closed/file; chmod 555 closed";
const SECOND =
  "mkdir later; echo 1 > later/file; echo 1 > x; ln x y; rm gone; chmod 600 kept; echo 2 > a.txt; echo 2 > made/by/hand";
const REST = "rm new/removed; mkdir new/made; echo 1 > new/made/file; mv new/there there";

/** What happens when the command ends, killed at each step, one after the other. */
const LEAVING = ["landed.close-inner", "landed.leave", "landed.show-lower"];
const RETURNING = ["mark", "clear", "hide", "metadata", "link", "place"];

describe("What has landed while commands run", () => {
  for (const actor of ANY_ACTOR)
    it(`[I8] [I9] as ${actor}: leaves the overlay with the last command, and comes back with an undo, whatever kills each step`, async () => {
      using stage = new Stage(actor);
      for (const path of ["gone", "moved", "kept"]) stage.write(`project/${path}`, `${path}\n`);
      stage.give();
      const plan = stage.done("plan", "create", "-r", `${stage.project},strategy=overlay`).trim();
      stage.drydock(["plan", "write", plan, "project", "made/by/hand"], { input: "1\n" });
      const killed = (point: string, ...args: readonly string[]) => {
        const env = { DRYDOCK_FAILPOINT: `${point}=kill` };
        const { status, stdout, stderr } = stage.drydock(args, { env });
        assert.equal(status, null, `it was not killed at ${point}: ${stdout}${stderr}`);
      };
      const command = new Obedient(stage, plan, { DRYDOCK_FAILPOINT: "landed.hide-removed=kill" });
      const tell = (line: string) => command.tell(line);
      const original = () => stage.run("sh", ["-c", LOOK]).stdout;
      const left = () => stage.done("plan", "diff", plan, "--name-only").trim().split("\n");

      await tell(FIRST);
      for (const point of ["landed.close-folder", "landed.note-staged"]) {
        killed(point, "plan", "apply", plan);
        assert.equal(stage.drydock(["recover"]).status, 0);
      }
      stage.done("plan", "apply", plan);
      const landed = original();
      assert.equal(landed, await tell(LOOK));
      await tell(SECOND);
      stage.done("plan", "apply", plan);
      assert.equal(original(), await tell(LOOK));
      await tell(REST);
      const rest = left();
      killed("landed.forget-origin", "plan", "checkpoint", plan);
      const work = await tell(LOOK);
      await command.end();
      const steps = [...LEAVING, ...(actor === "user" ? ["overlay.open-up"] : [])];
      for (const point of steps) killed(point, "plan", "checkpoint", plan);
      stage.done("plan", "checkpoint", plan);
      assert.deepEqual(left(), rest);

      for (const [index, step] of RETURNING.entries()) {
        const point = `landed.${step}${step === "clear" ? "-layer" : step === "hide" ? "-again" : "-returned"}`;
        killed(point, ...(index === 0 ? ["plan", "undo", plan] : ["recover"]));
      }
      assert.equal(stage.drydock(["recover"]).status, 0);
      assert.equal(original(), landed);
      const second = ["a.txt", "gone", "kept", "later", "later/file", "made/by/hand", "x", "y"];
      assert.deepEqual(left().toSorted(), [...rest, ...second.map((path) => `project/${path}`)].toSorted());
      stage.done("plan", "apply", plan);
      assert.equal(original(), work);
    });
});
