import { after, before, describe, it } from "node:test";
import { type MountedImage, mountImage, whyNoImages } from "../support/file-systems.ts";
import { IS_LONG, itInLongForm } from "../support/long-form.ts";
import { disturb } from "./disturb.ts";
import { aroundDecision, BEYOND_ENTRY } from "./points.ts";
import {
  apply,
  applyAfterForgottenLock,
  cancel,
  cancelInPlace,
  create,
  createInPlace,
  giveUp,
  overwrite,
  overwriteInPlace,
  overwriteLinked,
  recoveryAfter,
  rollback,
  undo,
  write,
} from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

const COPY: WorldOptions = { strategy: "filesystem_copy" };
const SMALL: WorldOptions = { ...COPY, isSmall: true };
const INNER = { at: BEYOND_ENTRY };
/** Where a strategy and its file system make a difference. */
const TELLING = /^(?:workspace|baseline|reflink-probe|move|copy|landings|land|stage|cleanup|record)\./;

describe("SIGKILL at every failpoint, with filesystem_copy", () => {
  it("[A3][A7][A17] a crash in apply leaves every original old or every one new", (t) =>
    disturb(t, apply, SMALL, { choose: aroundDecision }));
  it("[A3][A7][A17] so it does with everything that can be in a folder", (t) =>
    disturb(t, apply, COPY, { choose: aroundDecision }));
  it("[C2][L4][A17] a crash in create leaves a whole plan or none", (t) => disturb(t, create, COPY));
  it("[A3][A17] a crash in write leaves the plan usable and the original alone", (t) =>
    disturb(t, write, COPY));
  it("[A3][A17] a crash in writing over a file leaves the original alone", (t) =>
    disturb(t, overwrite, COPY, INNER));
  it("[A3][A17] and over one with several names", (t) => disturb(t, overwriteLinked, COPY, INNER));
  it("[A3][A17] a crash in undo leaves every original new or every one old", (t) => disturb(t, undo, COPY));
  it("[A3][L4] a crash in rollback leaves the plan open", (t) => disturb(t, rollback, COPY, INNER));
  it("[C2][A17] a crash in cancel leaves the plan as it was, or gone", (t) => disturb(t, cancel, COPY));
  it("[A3][A7][A17] a crash in giving up a landing leaves every original old or every one new", (t) =>
    disturb(t, giveUp, COPY, INNER));
  it("[A3][A17] a crash in the recovery from a crash is just another crash", (t) =>
    disturb(t, recoveryAfter(apply, "land.exchange:5=kill"), COPY));
  it("[A17] a crash in sweeping a lock that was forgotten leaves it to the next", (t) =>
    disturb(t, applyAfterForgottenLock, COPY, { at: /^owner\.sweep/ }));
  for (const [first, failpoints] of [
    [apply, "landings.flush-staged:2=kill"],
    [apply, "cleanup.remove:3=kill"],
    [undo, "land.add:4=kill"],
    [create, "copy.finish:2=kill"],
    [cancel, "cleanup.remove:5=kill"],
  ] as const)
    itInLongForm(`[A3][A17] so is one in the recovery from a crash of ${first.name} at ${failpoints}`, (t) =>
      disturb(t, recoveryAfter(first, failpoints), COPY, { at: TELLING }),
    );
});

describe("SIGKILL at every failpoint, in place", () => {
  it("[C2][A17] a crash in create leaves a whole plan or none", (t) =>
    disturb(t, createInPlace, { strategy: "none" }, INNER));
  it("[C2][A17] a crash in cancel leaves the plan as it was, or gone", (t) =>
    disturb(t, cancelInPlace, { strategy: "none" }, INNER));
  it("[A17] a crash in writing over a file leaves it whole, and nothing of ours beside it", (t) =>
    disturb(t, overwriteInPlace, { strategy: "none" }, INNER));
});

for (const kind of ["xfs", "btrfs"] as const)
  describe(`SIGKILL at every failpoint, with copy_on_write on ${kind}`, {
    skip: whyNoImages() ?? false,
  }, () => {
    let image: MountedImage;
    before(() => {
      image = mountImage(kind);
    });
    after(() => image.remove());
    const here = (): WorldOptions => ({
      strategy: "copy_on_write",
      places: [{ folder: image.path }, { folder: image.path }],
      statePlace: image.path,
    });

    // On both the blocks are shared; in a short run the second is tried only where its names change.
    const isWhole = IS_LONG || kind === "xfs";
    it("[A3][A7][A17] a crash in apply leaves every original old or every one new", (t) =>
      disturb(t, apply, here(), { at: isWhole ? TELLING : /^land/ }));
    if (isWhole) {
      it("[C2][A17] a crash in create leaves a whole plan or none", (t) =>
        disturb(t, create, here(), { at: TELLING }));
      it("[A3][A17] a crash in undo leaves every original new or every one old", (t) =>
        disturb(t, undo, here(), { at: TELLING }));
    }
    // Only there a move changes the times of what is moved.
    if (kind === "xfs")
      it("[A3][A17] a crash in the recovery from one between a move and its times gives them back", (t) =>
        disturb(t, recoveryAfter(apply, "move.times:1=kill"), here(), { at: /^(?:land\.mend|move)/ }));
    if (IS_LONG) {
      it("[A3][L4] a crash in rollback leaves the plan open", (t) => disturb(t, rollback, here()));
      it("[C2][A17] a crash in cancel leaves the plan as it was, or gone", (t) => disturb(t, cancel, here()));
    }
  });
