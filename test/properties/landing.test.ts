import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type ImageFileSystem, type MountedImage, mountImage, whyNoImages } from "../support/file-systems.ts";
import { PropertyPlace } from "./landing-properties.ts";

describe("random work in random trees", () => {
  let parent = "";
  let place: PropertyPlace;

  before(async () => {
    parent = mkdtempSync(join(tmpdir(), "drydock-landing-"));
    place = await PropertyPlace.open(parent, { strategy: "filesystem_copy" });
  });

  after(async () => {
    await place.drydock.close();
    rmSync(parent, { recursive: true, force: true });
  });

  it("[A11] lands exactly as in a plain folder, and undo brings back exactly what was", () =>
    place.landsAndUndoes(25, 5));

  it("[A7] a dry run changes neither the original nor the sandbox, and what lands after it is the same", () =>
    place.survivesDryRuns(10, 3));

  it("[A11] lands in parts as it does at once, and each part can be taken back", () =>
    place.landsInParts(10, 2));

  it("[D1] the diff names what differs, and nothing else", () => place.showsWhatDiffers(10, 3));
});

for (const kind of ["xfs", "btrfs"] as const satisfies readonly ImageFileSystem[]) {
  describe(`random work in random trees on ${kind}`, { skip: whyNoImages() ?? false }, () => {
    let image: MountedImage;
    let place: PropertyPlace;

    before(async () => {
      image = mountImage(kind);
      mkdirSync(join(image.path, "work"));
      place = await PropertyPlace.open(join(image.path, "work"), { strategy: "copy_on_write" });
    });

    after(async () => {
      await place.drydock.close();
      image.remove();
    });

    it("[A11] lands exactly with shared blocks, and undo brings back exactly what was", () =>
      place.landsAndUndoes(10, 2));
  });
}
