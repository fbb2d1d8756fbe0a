import { describe, it } from "node:test";
import { fastFolder } from "../support/fast-folder.ts";
import { whyNoImages } from "../support/file-systems.ts";
import { itInLongForm } from "../support/long-form.ts";
import { disturb } from "./disturb.ts";
import { apply, givingUp, recoveryAfter, undo } from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

/** The points that are passed only here, or at which something else is where. */
const STEPS = /^(?:exchange|land|move)\./;
const OWN = /^(?:exchange|move)\./;

describe("SIGKILL at every failpoint, on an overlay like a container's root", {
  skip: whyNoImages() ?? false,
}, () => {
  const small: WorldOptions = {
    strategy: "filesystem_copy",
    isSmall: true,
    places: [{ folder: fastFolder(), isLower: true }],
  };

  it("[W1][A3][A7] a crash in apply leaves every original old or every one new", (t) =>
    disturb(t, apply, small, { at: STEPS, own: OWN, some: 3 }));
  it("[W1][A3] a crash in undo leaves every original new or every one old", (t) =>
    disturb(t, undo, small, { at: STEPS }));
  it("[W1][A3][A7] a crash in giving up a landing leaves every original old or every one new", (t) =>
    disturb(t, givingUp("move.remove-emptied", 1), small, { at: STEPS }));
  for (const point of ["move.file-of-folder:1", "move.remove-emptied:1", "move.place-skeleton:1"])
    itInLongForm(`[W1][A3] so does one in the recovery from a crash in apply at ${point}`, (t) =>
      disturb(t, recoveryAfter(apply, `${point}=kill`), small, { at: STEPS }),
    );
});
