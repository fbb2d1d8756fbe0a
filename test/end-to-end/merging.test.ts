import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Actor, ANY_ACTOR, Stage } from "../run/stage.ts";
import { assertRefused } from "./workplace.ts";

const TEXT = Array.from({ length: 12 }, (_, line) => `line ${line + 1}\n`).join("");
const changed = (line: number, word: string) => TEXT.replace(`line ${line}\n`, `${word}\n`);

/** A plan whose command changed line 2 of two files, in one of which another writer then did so too. */
function stageOf(actor: Actor): Stage {
  const stage = new Stage(actor);
  for (const name of ["apart", "touching"]) stage.write(`project/${name}`, TEXT);
  stage.give();
  stage.done("plan", "create", "--name", "p", "-r", ".");
  const script = "sed -i 's/^line 2$/ours/' apart touching";
  stage.done("plan", "exec", "p", "--", "sh", "-c", script);
  stage.write("project/apart", changed(10, "theirs"));
  stage.write("project/touching", changed(2, "theirs"));
  stage.give();
  return stage;
}

for (const actor of ANY_ACTOR)
  describe(`plan update and plan resolve, for ${actor}`, () => {
    it("[V9] merge what a command did with what another writer did, and settle the rest", () => {
      using stage = stageOf(actor);
      assertRefused(stage.drydock(["plan", "apply", "p"]), 3, /changed/, /plan update/);
      const update = stage.drydock(["plan", "update", "p"]);
      assert.equal(update.status, 3, update.stderr);
      assert.match(update.stdout, /^merged {2,}project\/apart$/m);
      assert.match(update.stdout, /^marked {2,}project\/touching/m);
      assertRefused(stage.drydock(["plan", "apply", "p"]), 3, /conflict markers/);
      stage.done("plan", "resolve", "p", "touching", "--ours");
      stage.done("plan", "apply", "p");
      assert.equal(stage.read("project/apart"), changed(10, "theirs").replace("line 2\n", "ours\n"));
      assert.equal(stage.read("project/touching"), changed(2, "ours"));
    });

    it("[V9] 'apply --update' lands nothing where it can't merge, and names it", () => {
      using stage = stageOf(actor);
      const refused = stage.drydock(["plan", "apply", "p", "--update"]);
      assert.equal(refused.status, 3);
      assert.match(refused.stderr, /^ {2}conflict: project\/touching: /m);
      assert.equal(stage.read("project/apart"), changed(10, "theirs"));
      stage.done("plan", "resolve", "p", "touching", "--theirs");
      stage.done("plan", "apply", "p", "--update");
      assert.equal(stage.read("project/touching"), changed(2, "theirs"));
    });
  });
