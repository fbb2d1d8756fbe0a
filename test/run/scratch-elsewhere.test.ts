import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { whyNoImages } from "../support/file-systems.ts";
import { OverlayStage } from "./overlay-stage.ts";
import { ACTORS } from "./stage.ts";

describe("Scratch layers that the state directory can't hold", { skip: whyNoImages() ?? false }, () => {
  for (const actor of ACTORS)
    it(`[W1] of ${actor} are in a temporary folder, where commands of other plans do not see them`, () => {
      using stage = new OverlayStage(actor);
      const [one, two] = ["one", "two"].map((name) => {
        stage.done("plan", "create", "--name", name, "-r", stage.project);
        return stage.answer("plan", "show", name).id;
      });
      const inside = (plan: string, script: string) =>
        stage.drydock(["plan", "exec", plan, "--", "sh", "-c", script]).stdout;
      inside(one, 'echo secret > ~/secret; echo mine > "$TMPDIR/mine"');
      assert.equal(inside(one, 'ls -A "$TMPDIR"; cat ~/secret'), "mine\nsecret\n");
      assert.equal(inside(two, 'ls -A "$TMPDIR" ~; echo 2 > ~/b'), `${stage.home}:\n\n${stage.temporary}:\n`);
      assert.deepEqual(
        readdirSync(stage.temporary).sort(),
        [one, two].map((id) => `.drydock-scratch-${id}`).sort(),
      );
      const { places } = stage.answer("plan", "show", one, "--places");
      assert.ok(
        places.some(({ location }: { location: string }) => location.startsWith(`${stage.temporary}/`)),
      );
      for (const plan of [one, two]) stage.done("plan", "cancel", plan);
      assert.deepEqual(readdirSync(stage.temporary), []);
    });
});
