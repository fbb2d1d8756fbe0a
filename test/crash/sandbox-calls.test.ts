import { describe, it } from "node:test";
import { killEverywhere } from "./kill-cases.ts";
import { choosePoints, firstAndLast } from "./points.ts";
import { checkpoint, commitAlone, restore, rollBackAlone } from "./sandbox-scenarios.ts";
import type { WorldOptions } from "./world.ts";

const COPY: WorldOptions = { strategy: "filesystem_copy" };
/** What is passed on the way to the call is tried with the calls of plans. */
const some = (passes: ReadonlyMap<string, number>) =>
  firstAndLast(choosePoints(passes), passes).filter(({ name }) => !/^(?:store|owner)\./.test(name));

describe("SIGKILL at every failpoint, in calls of the strategy itself", () => {
  it("[C6][A17] a crash in checkpoint leaves the work as it is", (t) => killEverywhere(t, checkpoint, COPY, some));
  it("[C6][A17] a crash in restoreCheckpoint leaves it to be finished", (t) => killEverywhere(t, restore, COPY, some));
  it("[A3][A17] a crash in commit can be rolled back", (t) => killEverywhere(t, commitAlone, COPY, some));
  it("[A3][A17] a crash in rollback of what has landed can be rolled back again", (t) =>
    killEverywhere(t, rollBackAlone, COPY, some));
});
