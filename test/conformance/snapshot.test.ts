import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { SnapshotStrategy } from "../../src/strategies/btrfs-snapshot/snapshot.ts";
import type { StrategyFactory } from "../../src/testing/index.ts";
import { type MountedImage, mountImage, whyNoImages } from "../support/file-systems.ts";
import { makeSubvolume, removeWithSubvolumes, subvolumesOf } from "../support/subvolumes.ts";
import { describeConformance } from "./describe-conformance.ts";

const skip = whyNoImages();

/** Each resource is a subvolume of its own in this folder. */
function subvolumeFactory(parent: () => string): StrategyFactory {
  return {
    create: (context) => new SnapshotStrategy(context),
    makeResource: () => {
      const path = join(parent(), `resource-${randomBytes(6).toString("hex")}`);
      makeSubvolume(path);
      return {
        resource: { id: "resource", name: "resource", type: "fs-directory", location: path, properties: {} },
        originalPath: path,
        dispose: () => removeWithSubvolumes(path),
      };
    },
  };
}

describe("on btrfs", { skip: skip ?? false }, () => {
  let image: MountedImage | undefined;
  before(() => {
    image = mountImage("btrfs");
    mkdirSync(join(image.path, "folder"));
  });
  after(() => image?.remove());
  const folder = () => join(image?.path ?? "", "folder");

  describeConformance("snapshot", subvolumeFactory(folder), { scratchDir: folder, oneIn: 2 });

  it("[A17] leaves no subvolume behind", () => {
    assert.deepEqual(subvolumesOf(image?.path ?? ""), []);
  });
});
