import { after, before, describe, it } from "node:test";
import { fastFolder } from "../support/fast-folder.ts";
import { type ImageFileSystem, type MountedImage, mountImage, whyNoImages } from "../support/file-systems.ts";
import { disturb } from "./disturb.ts";
import { apply, cancel, create, undo } from "./scenarios.ts";
import type { OriginalPlace, WorldOptions } from "./world.ts";

/**
 * Points that differ by where things are: what is tried at each of them, the rest is tried elsewhere at all
 * passes.
 */
const TELLING = /^(?:workspace|landings|land|record)\./;

describe("originals on several file systems in one plan", { skip: whyNoImages() ?? false }, () => {
  const images = new Map<ImageFileSystem, MountedImage>();
  before(() => {
    for (const kind of ["ext4", "xfs", "btrfs"] as const) images.set(kind, mountImage(kind));
  });
  after(() => {
    for (const image of images.values()) image.remove();
  });
  const on = (kind: ImageFileSystem): string => (images.get(kind) as MountedImage).path;
  const copying = (...places: readonly OriginalPlace[]): WorldOptions => ({
    strategy: "filesystem_copy",
    places,
  });

  it("[A3][A9][A17] a crash in apply over ext4, xfs and btrfs leaves all old or all new", (t) =>
    disturb(t, apply, copying({ folder: on("ext4") }, { folder: on("xfs") }, { folder: on("btrfs") }), {
      at: TELLING,
      some: 6,
    }));

  it("[A3][A9][A17] a crash in undo over btrfs and the file system of the state leaves all new or all old", (t) =>
    disturb(t, undo, copying({ folder: on("btrfs") }, { folder: fastFolder() }), { at: TELLING, some: 3 }));

  it("[C2][A9] a crash in create with the workspaces beside their originals leaves nothing there", (t) =>
    disturb(t, create, copying({ folder: on("ext4"), hasDefaultAcl: true }, { folder: on("xfs") }), {
      at: TELLING,
    }));

  it("[C2][A9] a crash in cancel with the workspaces beside their originals leaves nothing there", (t) =>
    disturb(t, cancel, copying({ folder: on("xfs") }, { folder: on("ext4") }), { at: TELLING }));

  describe("an original that is a whole mount, with its workspace inside", () => {
    let whole: MountedImage;
    before(() => {
      whole = mountImage("xfs");
    });
    after(() => whole.remove());
    const place = (): WorldOptions =>
      copying({ folder: whole.path, isOriginal: true }, { folder: on("ext4") });

    it("[A3][A9][A17] a crash in apply leaves all old or all new", (t) =>
      disturb(t, apply, place(), { at: TELLING }));
    it("[A3][A9][A17] a crash in undo leaves all new or all old", (t) =>
      disturb(t, undo, place(), { at: TELLING }));
    it("[C2][A9] a crash in create leaves nothing in it", (t) =>
      disturb(t, create, place(), { at: TELLING }));
  });
});
