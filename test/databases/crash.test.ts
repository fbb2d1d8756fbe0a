import { describe, it } from "node:test";
import { disturb } from "../crash/disturb.ts";
import { errorCases } from "../crash/error-cases.ts";
import { firstAndLast } from "../crash/points.ts";
import { checkpoint, commitAlone, restore, rollBackAlone } from "../crash/sandbox-scenarios.ts";
import {
  apply,
  cancel,
  create,
  giveUp,
  recoveryAfter,
  rollback,
  runScenario,
  type Scenario,
  undo,
} from "../crash/scenarios.ts";
import type { WorldOptions } from "../crash/world.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { itInLongForm } from "../support/long-form.ts";
import type { SampleDatabase } from "../support/sample-database.ts";
import { resolveRow, rollbackUpdatedDatabase, takeRowOut, updateDatabase } from "./update-scenarios.ts";

/** What is tried at other points with other strategies is not tried again; but everything in a long run. */
const OWN = /^sqlite\./;
/** Where both do something, and what they are told apart by. */
const LANDING = /^(?:sqlite|landings|land)\.|^store\.writ/;
/** What only updates do, and where a checkpoint brings back what they had done. */
const UPDATING = /^sqlite\.(?:merge|move|note-merge|drop-merges|take-out|restore)/;
/** Where a database goes from the one side to the other. */
const TURNING = /^sqlite\.(?:lock|commit|note|revert|remove-marker|mark)/;
const ROWS: SampleDatabase = { journal: "wal", change: "rows" };
const SCHEMA: SampleDatabase = { journal: "delete", change: "schema" };

function folderAnd(...databases: readonly SampleDatabase[]): WorldOptions {
  return {
    strategy: ["filesystem_copy", ...databases.map(() => "snapshot")],
    isSmall: true,
    places: [{ folder: fastFolder() }, ...databases.map((database) => ({ folder: fastFolder(), database }))],
  };
}

/** The database has landed and the folder has not; then a person gives it up. */
const giveUpLanded: Scenario = {
  ...giveUp,
  name: "give up what has landed in the database",
  arrange: async (world) => {
    const digest = await apply.arrange(world);
    await runScenario(apply, world, { failpoints: "land.add:1=kill,sqlite.remove-marker:1=kill" });
    return digest;
  },
};

describe("a folder and a SQLite database in one plan", () => {
  it("[T2][A3][A7][A17] a crash anywhere in apply leaves both old or both new", (t) =>
    disturb(t, apply, folderAnd(ROWS), { at: LANDING, own: OWN, some: 4 }));
  it("[T2][A3][A7][A17] so it does where definitions change", (t) =>
    disturb(t, apply, folderAnd(SCHEMA), { at: OWN }));
  it("[T2][A3][A7][A17] so it does with several databases", (t) =>
    disturb(t, apply, folderAnd(ROWS, SCHEMA), { at: TURNING, choose: firstAndLast }));
  it("[T2][A3][A17] a crash in undo leaves both new or both old", (t) =>
    disturb(t, undo, folderAnd(SCHEMA), { at: OWN }));
  it("[C2][L4][A17] a crash in create leaves a whole plan or none", (t) =>
    disturb(t, create, folderAnd(ROWS), { at: /^(?:sqlite|workspace)\./, own: OWN, some: 1 }));
  it("[A3][L4] a crash in rollback leaves the plan open", (t) =>
    disturb(t, rollback, folderAnd(ROWS), { at: OWN }));
  it("[C2][A17] a crash in cancel leaves the plan as it was, or gone", (t) =>
    disturb(t, cancel, folderAnd(ROWS), { at: OWN }));
  itInLongForm("[T2][A3] apply dies before the decision, and its recovery dies", (t) =>
    disturb(t, recoveryAfter(apply, "sqlite.flush-record:1=kill"), folderAnd(ROWS), { at: OWN }),
  );
  for (const point of ["sqlite.commit", "sqlite.note-landed", "sqlite.remove-marker"])
    itInLongForm(`[T2][A3] apply dies at ${point}, and its recovery dies`, (t) =>
      disturb(t, recoveryAfter(apply, `${point}:1=kill`), folderAnd(ROWS), { at: TURNING }),
    );
  itInLongForm("[T2][A3] undo dies when it has landed, and its recovery dies", (t) =>
    disturb(t, recoveryAfter(undo, "sqlite.note-landed:1=kill"), folderAnd(SCHEMA), { at: TURNING }),
  );
  it("[T2][A3] a crash in giving up a landing leaves both old or both new", (t) =>
    disturb(t, giveUpLanded, folderAnd(ROWS), { at: TURNING }));
  it("[A3][A17] a crash in commit can be rolled back", (t) =>
    disturb(t, commitAlone, folderAnd(ROWS), { at: TURNING }));
  it("[A3][A17] a crash in rollback of what has landed can be rolled back again", (t) =>
    disturb(t, rollBackAlone, folderAnd(SCHEMA), { at: TURNING }));
  it("[T3][C6][A17] a crash in checkpoint leaves the work as it is", (t) =>
    disturb(t, checkpoint, folderAnd(ROWS), { at: /^(?:sqlite|checkpoint)\./, own: OWN, some: 1 }));
  it("[T3][C6][A17] a crash in restoreCheckpoint leaves it to be finished", (t) =>
    disturb(t, restore, folderAnd(ROWS), { at: /^(?:sqlite|checkpoint)\./, own: OWN, some: 1 }));
  it("[V9][A17] a crash in an update leaves the database merged, or as it was", (t) =>
    disturb(t, updateDatabase, folderAnd(ROWS), { at: UPDATING }));
  itInLongForm("[V9][A17] so does a crash in the recovery from one", (t) =>
    disturb(t, recoveryAfter(updateDatabase, "sqlite.move-own:1=kill"), folderAnd(ROWS), { at: UPDATING }),
  );
  it("[V9][A17] a crash in resolving a row leaves both versions there", (t) =>
    disturb(t, resolveRow, folderAnd(ROWS), { at: UPDATING }));
  it("[V9] a crash in a rollback leaves nothing of an update", (t) =>
    disturb(t, rollbackUpdatedDatabase, folderAnd(ROWS), { at: UPDATING }));
  it("[V9][A17] a crash in taking a row out leaves it out, or all of the work", (t) =>
    disturb(t, takeRowOut, folderAnd(ROWS), { at: UPDATING }));
  it("[V9][A5] an update that fails is taken back", (t) =>
    disturb(t, updateDatabase, folderAnd(ROWS), {
      at: /^sqlite\.(?:move|note-merge)/,
      by: errorCases,
      some: 2,
    }));
  it("[A1][A2][A7] an error in apply is all or nothing, and its report is true", (t) =>
    disturb(t, apply, folderAnd(ROWS), { at: OWN, by: errorCases, some: 2 }));
  itInLongForm("[A1][C2] an error in create leaves a whole plan or none", (t) =>
    disturb(t, create, folderAnd(ROWS), { at: OWN, by: errorCases }),
  );
});
