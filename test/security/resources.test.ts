import assert from "node:assert/strict";
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { describe, it } from "node:test";
import { UsageError } from "../../src/index.ts";
import { Scene } from "./scene.ts";

const OWN_NAME = ".drydock-01ARZ3NDEKTSV4RRFFQ69G5FAV-x";

describe("An unsafe resource", () => {
  const UNSAFE: { readonly [what: string]: (scene: Scene, sandbox: string) => string } = {
    "the root of the file system": () => "/",
    "the root by another spelling": () => "//./tmp/..",
    "a link to the root": (scene) => link(scene, "/"),
    "the state directory": (scene) => scene.stateDir,
    "a link to the state directory": (scene) => link(scene, scene.stateDir),
    "a folder in the state directory": (scene) => scene.at("state/sandboxes"),
    "the database": (scene) => scene.at("state/drydock.db"),
    "another sandbox": (_scene, sandbox) => sandbox,
    "a folder in another sandbox": (_scene, sandbox) => `${sandbox}/folder`,
    "a file in another sandbox": (_scene, sandbox) => `${sandbox}/file`,
    "a link into another sandbox": (scene, sandbox) => link(scene, `${sandbox}/folder`),
    "a folder in a workspace beside an original": (scene) => {
      mkdirSync(scene.at(`${OWN_NAME}/tree`), { recursive: true });
      return scene.at(`${OWN_NAME}/tree`);
    },
  };

  for (const [what, location] of Object.entries(UNSAFE)) {
    it(`[X2] ${what} is refused, alone and among others`, async () => {
      await using scene = new Scene();
      const { drydock, sandbox } = await scene.plan();
      const unsafe = location(scene, sandbox);
      const before = readdirSync(scene.stateDir, { recursive: true }).length;
      for (const resources of [
        [{ location: unsafe }],
        [{ location: "outside" }, { name: "n", location: unsafe }],
      ]) {
        await assert.rejects(drydock.plans.create({ resources }), (error: unknown) => {
          assert.ok(error instanceof UsageError);
          assert.equal(error.code, "UNSAFE_RESOURCE");
          assert.ok(error.hint.length > 0);
          return true;
        });
      }
      assert.equal(readdirSync(scene.stateDir, { recursive: true }).length, before);
      assert.equal((await drydock.plans.list({ all: true })).length, 1);
    });
  }
});

function link(scene: Scene, to: string): string {
  symlinkSync(to, scene.at("link"));
  return scene.at("link");
}
