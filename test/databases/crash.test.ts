import { describe, it, type TestContext } from "node:test";
import { runCases } from "../crash/case-run.ts";
import { errorCases } from "../crash/error-cases.ts";
import { killCases } from "../crash/kill-cases.ts";
import { choosePoints, firstAndLast, IS_LONG, tracePoints } from "../crash/points.ts";
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
import type { SampleDatabase } from "../support/sample-database.ts";

/** What is tried at other points with other strategies is not tried again; but everything in a long run. */
const OWN = /^sqlite\./;
const ALL = /./;
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

async function disturb(
  t: TestContext,
  casesOf: typeof killCases,
  scenario: Scenario,
  points: RegExp,
  ...databases: readonly SampleDatabase[]
): Promise<void> {
  const options = folderAnd(...(databases.length === 0 ? [ROWS] : databases));
  const passes = await tracePoints(scenario, options);
  const chosen = firstAndLast(choosePoints(passes), passes).filter(
    ({ name, pass }) => IS_LONG || (points.test(name) && (pass === 1 || databases.length > 1)),
  );
  await runCases(scenario, options, casesOf(scenario, chosen));
  t.diagnostic(`${scenario.name}: ${passes.size} points, ${chosen.length} tried`);
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
    disturb(t, killCases, apply, ALL));
  it("[T2][A3][A7][A17] so it does where definitions change", (t) => disturb(t, killCases, apply, OWN, SCHEMA));
  it("[T2][A3][A7][A17] so it does with several databases", (t) => disturb(t, killCases, apply, TURNING, ROWS, SCHEMA));
  it("[T2][A3][A17] a crash in undo leaves both new or both old", (t) => disturb(t, killCases, undo, OWN, SCHEMA));
  it("[C2][L4][A17] a crash in create leaves a whole plan or none", (t) =>
    disturb(t, killCases, create, /^(?:sqlite|workspace)\./));
  it("[A3][L4] a crash in rollback leaves the plan open", (t) => disturb(t, killCases, rollback, OWN));
  it("[C2][A17] a crash in cancel leaves the plan as it was, or gone", (t) => disturb(t, killCases, cancel, OWN));
  it("[T2][A3] apply dies before the decision, and its recovery dies", (t) =>
    disturb(t, killCases, recoveryAfter(apply, "sqlite.flush-record:1=kill"), OWN));
  for (const point of ["sqlite.commit", "sqlite.note-landed", "sqlite.remove-marker"])
    it(`[T2][A3] apply dies at ${point}, and its recovery dies`, (t) =>
      disturb(t, killCases, recoveryAfter(apply, `${point}:1=kill`), TURNING));
  it("[T2][A3] undo dies when it has landed, and its recovery dies", (t) =>
    disturb(t, killCases, recoveryAfter(undo, "sqlite.note-landed:1=kill"), TURNING, SCHEMA));
  it("[T2][A3] a crash in giving up a landing leaves both old or both new", (t) =>
    disturb(t, killCases, giveUpLanded, TURNING));
  it("[A3][A17] a crash in commit can be rolled back", (t) => disturb(t, killCases, commitAlone, TURNING));
  it("[A3][A17] a crash in rollback of what has landed can be rolled back again", (t) =>
    disturb(t, killCases, rollBackAlone, TURNING, SCHEMA));
  it("[T3][C6][A17] a crash in checkpoint leaves the work as it is", (t) =>
    disturb(t, killCases, checkpoint, /^(?:sqlite|checkpoint)\./));
  it("[T3][C6][A17] a crash in restoreCheckpoint leaves it to be finished", (t) =>
    disturb(t, killCases, restore, /^(?:sqlite|checkpoint)\./));
  it("[A1][A2][A7] an error in apply is all or nothing, and its report is true", (t) =>
    disturb(t, errorCases, apply, OWN));
  it("[A1][C2] an error in create leaves a whole plan or none", (t) => disturb(t, errorCases, create, OWN));
});
