import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { SnapshotStrategy } from "../../src/strategies/btrfs-snapshot/snapshot.ts";
import { type MountedImage, mountImage, whyNoImages } from "../support/file-systems.ts";
import { contextIn } from "../support/strategy-context.ts";
import { makeSubvolume, subvolumesOf } from "../support/subvolumes.ts";
import { tryCheckpoints } from "./checkpoint-properties.ts";
import { PropertyPlace } from "./landing-properties.ts";

describe("random work in random trees, in a snapshot", { skip: whyNoImages() ?? false }, () => {
  let image: MountedImage;
  let place: PropertyPlace;

  before(async () => {
    image = mountImage("btrfs", { megabytes: 512 });
    for (const name of ["work", "checkpoints", "checkpoints/state"]) mkdirSync(join(image.path, name));
    place = await PropertyPlace.open(join(image.path, "work"), {
      strategy: "snapshot",
      makeOriginal: makeSubvolume,
    });
  });

  after(async () => {
    await place.drydock.close();
    image.remove();
  });

  it("[A11] lands exactly as in a plain folder, and undo brings back exactly what was", () =>
    place.landsAndUndoes(15, 2));

  it("[A7] a dry run changes neither the original nor the sandbox, and what lands after it is the same", () =>
    place.survivesDryRuns(8, 1));

  it("[A11] lands in parts as it does at once, and each part can be taken back", () =>
    place.landsInParts(10, 1));

  it("[D1] the diff names what differs, and nothing else", () => place.showsWhatDiffers(10, 2));

  it("[C6] checkpoints bring back exactly that state, and exactly that lands", () => {
    const parent = join(image.path, "checkpoints");
    return tryCheckpoints(new SnapshotStrategy(contextIn(join(parent, "state"))), {
      parent,
      count: 20,
      seconds: 3,
      makeOriginal: makeSubvolume,
    });
  });

  it("[A17] no subvolume is left", () => assert.deepEqual(subvolumesOf(image.path), []));
});
