import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type MountedImage, mountImage, whyNoImages } from "../support/file-systems.ts";
import { IS_LONG, itInLongForm } from "../support/long-form.ts";
import { disturb } from "./disturb.ts";
import { errorCases } from "./error-cases.ts";
import { partScenarios } from "./part-scenarios.ts";
import { checkpoint, commitAlone, restore, rollBackAlone } from "./sandbox-scenarios.ts";
import {
  apply,
  assertNothingLeft,
  cancel,
  create,
  overwrite,
  overwriteLinked,
  recoveryAfter,
  rollback,
  type Scenario,
  undo,
  write,
} from "./scenarios.ts";
import { PLAN, type WorldOptions } from "./world.ts";

/** What is tried at other points with other strategies is not tried again; but everything in a long run. */
const OWN = /^snapshot\./;
const LANDING = /^(?:snapshot|landings|land)\./;
const WRITING = /^(?:snapshot|write)\./;
const CHECKPOINTS = /^(?:snapshot|checkpoint)\./;
const PARTS = /^(?:part\.(?:note-base|flush-settled)|snapshot\.)/;
const REMOVING = /^(?:snapshot|cleanup|workspace)\./;

/** Writing over a file was cut off; then the plan lands. */
const overwriteAndLand: Scenario = {
  ...overwrite,
  name: "write over same, to land",
  verify: async ({ world, sides }) => {
    const original = world.originals[1]?.location ?? "";
    await world.with(async ({ plans }) => {
      assert.deepEqual((await plans.apply(PLAN)).attention, []);
      assert.match(readFileSync(join(original, "same"), "utf8"), /^(?:same|written)\n$/);
      assert.deepEqual(
        readdirSync(original, { recursive: true, encoding: "utf8" }).filter((name) =>
          name.endsWith(".drydock-new"),
        ),
        [],
      );
      await plans.undo(PLAN);
    });
    assert.equal(world.side(sides, "after the undo"), "old");
    await assertNothingLeft(world);
  },
};

describe("originals that are subvolumes, with snapshot", { skip: whyNoImages() ?? false }, () => {
  let image: MountedImage;
  before(() => {
    image = mountImage("btrfs", { megabytes: 512 });
  });
  after(() => image.remove());
  const subvolumes = (isSmall = true): WorldOptions => ({
    strategy: "snapshot",
    isSmall,
    places: [1, 2].map(() => ({ folder: image.path, isSubvolume: true })),
  });

  it("[A3][A7][A17] a crash in apply leaves every original old or every one new", (t) =>
    disturb(t, apply, subvolumes(), { at: LANDING, own: OWN, some: 3 }));
  it("[A3][A7][A17] so it does with everything that can be in a folder", (t) =>
    disturb(t, apply, subvolumes(false), { at: OWN }));
  it("[A3][A17] a crash in undo leaves every original new or every one old", (t) =>
    disturb(t, undo, subvolumes(), { at: /^(?:land|landings|snapshot)\./ }));
  it("[A3][A7][A17] a crash in landing a part leaves every original as before or with the part, and the rest in the plan", (t) =>
    disturb(t, partScenarios(subvolumes(!IS_LONG)).applyPart, subvolumes(!IS_LONG), { at: PARTS }));
  it("[A3][A17] a crash in the undo of a part leaves it landed everywhere or nowhere, and the work in the plan", (t) =>
    disturb(t, partScenarios(subvolumes()).undoPart, subvolumes(), { at: /^(?:part|snapshot)\./ }));
  itInLongForm(
    "[A3][A17] a crash in the recovery from a crash in landing a part is just another crash",
    (t) =>
      disturb(
        t,
        recoveryAfter(partScenarios(subvolumes()).applyPart, "snapshot.note-landed:1=kill"),
        subvolumes(),
        {
          at: OWN,
        },
      ),
  );
  itInLongForm(
    "[A1][A5][A7] an error in landing a part is all of it or nothing, and the rest in the plan",
    (t) => disturb(t, partScenarios(subvolumes()).applyPart, subvolumes(), { by: errorCases, at: OWN }),
  );
  it("[C2][L4][A17] a crash in create leaves a whole plan or none", (t) =>
    disturb(t, create, subvolumes(), { at: /^(?:snapshot|workspace)\./, own: OWN, some: 2 }));
  it("[A3][L4] a crash in rollback leaves the plan open", (t) =>
    disturb(t, rollback, subvolumes(), { at: OWN }));
  it("[C2][A17] a crash in cancel leaves the plan as it was, or gone", (t) =>
    disturb(t, cancel, subvolumes(), { at: REMOVING }));
  it("[C6][A17] a crash in checkpoint leaves the work as it is", (t) =>
    disturb(t, checkpoint, subvolumes(), { at: CHECKPOINTS, own: OWN, some: 1 }));
  it("[C6][A17] a crash in restoreCheckpoint leaves it to be finished", (t) =>
    disturb(t, restore, subvolumes(), { at: CHECKPOINTS, own: OWN, some: 1 }));
  it("[A3][A17] a crash in commit can be rolled back", (t) =>
    disturb(t, commitAlone, subvolumes(), { at: OWN }));
  it("[A3][A17] a crash in rollback of what has landed can be rolled back again", (t) =>
    disturb(t, rollBackAlone, subvolumes(), { at: OWN }));
  it("[A3][A17] a crash in write leaves the plan usable and the original alone", (t) =>
    disturb(t, write, subvolumes(), { at: WRITING, own: OWN, some: 1 }));
  it("[A3][A17] and over a file", (t) =>
    disturb(t, overwrite, subvolumes(), { at: WRITING, own: OWN, some: 2 }));
  it("[A3][A17] and what it has left of ours does not land", (t) =>
    disturb(t, overwriteAndLand, subvolumes(), {
      at: /^(?:snapshot|write)[.](?:note|exchange|remove|data|name)/,
    }));
  it("[A3][A17] and over a file with several names", (t) =>
    disturb(t, overwriteLinked, subvolumes(false), { at: WRITING }));
  itInLongForm("[A3][A7][A17] apply dies before the decision, and its recovery dies", (t) =>
    disturb(t, recoveryAfter(apply, "landings.flush-staged:2=kill"), subvolumes(), { at: LANDING }),
  );
  itInLongForm("[A3][A7][A17] apply dies after the decision, and its recovery dies", (t) =>
    disturb(t, recoveryAfter(apply, "land.exchange:1=kill"), subvolumes(), { at: LANDING }),
  );
  itInLongForm("[C2][A17] cancel dies, and its recovery dies", (t) =>
    disturb(t, recoveryAfter(cancel, "cleanup.remove:2=kill"), subvolumes(), { at: REMOVING }),
  );
  itInLongForm("[A1][C2] an error in create leaves a whole plan or none", (t) =>
    disturb(t, create, subvolumes(), { at: OWN, by: errorCases, some: 3 }),
  );
  itInLongForm("[A5][L4] an error in rollback leaves the plan open", (t) =>
    disturb(t, rollback, subvolumes(), { at: OWN, by: errorCases, some: 4 }),
  );
  it("[A1][A2][A7] an error in apply is all or nothing, and its report is true", (t) =>
    disturb(t, apply, subvolumes(), { at: /^(?:snapshot|landings)\./, by: errorCases, some: 2 }));
});
