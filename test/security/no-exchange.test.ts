import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { SandboxCreationError } from "../../src/index.ts";
import { type Mounted, mountWithoutExchange, whyNoFuse } from "../support/file-systems.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";
import { Scene } from "./scene.ts";

/** On such a file system nothing could land atomically. */
describe("A file system that can't exchange two names", { skip: whyNoFuse() ?? false }, () => {
  let mounted: Mounted;
  before(() => {
    mounted = mountWithoutExchange();
  });
  after(() => mounted.remove());

  for (const [where, stateIsElsewhere] of [
    ["with the original", false],
    ["elsewhere", true],
  ] as const)
    for (const path of ["original", "original/file"])
      it(`[L8] is refused with the reason, and nothing is left on it (${path}, state ${where})`, async () => {
        await using elsewhere = new Scene();
        await using scene = new Scene(join(mounted.path, "scene"));
        const untouched = snapshotTree(scene.at("original"));
        const drydock = await scene.open(stateIsElsewhere ? { stateDir: elsewhere.stateDir } : {});
        await assert.rejects(
          drydock.plans.create({ resources: [{ location: scene.at(path) }] }),
          (thrown) => {
            assert.ok(thrown instanceof SandboxCreationError, String(thrown));
            assert.match(thrown.message, /can't exchange two files in one step/);
            assert.match(thrown.hint, /RENAME_EXCHANGE/);
            return true;
          },
        );
        assertSameTree(snapshotTree(scene.at("original")), untouched, "the original");
        const places = [dirname(scene.at("original")), join(drydock.stateDir, "sandboxes")];
        assert.deepEqual(
          places.map((place) => readdirSync(place).filter((name) => /drydock|^[0-9A-Z]{26}/.test(name))),
          [[], []],
        );
        assert.deepEqual(await drydock.plans.list(), []);
      });

  it("[L8] is refused also where the original is all of it", async () => {
    await using elsewhere = new Scene();
    mkdirSync(join(mounted.path, "folder"));
    const drydock = await elsewhere.open();
    const creating = drydock.plans.create({ resources: [{ location: mounted.path }] });
    await assert.rejects(creating, /can't exchange two files in one step/);
    assert.deepEqual(readdirSync(mounted.path), ["folder"]);
  });
});
